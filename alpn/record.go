package alpn

// Of the TLS record layer (RFC 8446, section 5.1; IANA TLS ContentType), of
// the handshake (section 4) and of alerts (section 6; RFC 7301, section 3.2).
const (
	recordChangeCipherSpec = 20
	recordAlert            = 21
	recordHandshake        = 22
	recordApplicationData  = 23

	recordHeader    = 5
	maxRecord       = 1 << 14
	handshakeHeader = 4
	extensionHeader = 4

	helloRequest = 0
	clientHello  = 1
	serverHello  = 2

	alertFatal                 = 2
	alertNoApplicationProtocol = 120
)

// streamOffset is where byte at of a handshake message lies in the stream whose
// records carried it; the end of the stream, if at is the message's end.
func streamOffset(stream []byte, at int) int {
	pos := 0
	for pos < len(stream) {
		n := recordLength(stream[pos:])
		if at < n {
			return pos + recordHeader + at
		}
		at -= n
		pos += recordHeader + n
	}
	return pos
}

func recordLength(header []byte) int { return int(header[3])<<8 | int(header[4]) }
