package alpn

import "crypto/tls"

// ClientHello is what a client offers at the start of TLS (RFC 8446, section
// 4.1.2; RFC 5246, section 7.4.1.2). Every list is as it was sent: in order,
// with values that nobody knows, GREASE (see [IsGREASE]) among them. A list is
// nil if its extension was not sent.
type ClientHello struct {
	ServerName       string                // server_name (RFC 6066, section 3); "" if none was sent
	ALPN             []string              // offered protocols (RFC 7301)
	Version          uint16                // legacy_version; the newest that is offered where Versions is nil
	Versions         []uint16              // supported_versions
	CipherSuites     []uint16              // never empty
	Extensions       []uint16              // their ids; nil if the message has no extensions
	Groups           []tls.CurveID         // supported_groups
	PointFormats     []uint8               // ec_point_formats
	SignatureSchemes []tls.SignatureScheme // signature_algorithms
	KeyShares        []KeyShare            // key_share
	PSKModes         []uint8               // psk_key_exchange_modes
	PSKs             []PSK                 // pre_shared_key: how TLS 1.3 resumes
	SessionTicket    []byte                // session_ticket (RFC 5077), how TLS 1.2 resumes; empty, not nil, where one is asked for
	EarlyData        bool                  // early_data: a request follows without waiting (0-RTT)
	ECH              *ECH                  // encrypted_client_hello; nil if it was not sent
	CertCompression  []uint16              // compress_certificate (RFC 8879)
	Random           [32]byte
	SessionID        []byte  // legacy_session_id
	Compression      []uint8 // legacy_compression_methods
	RecordVersion    uint16  // of the first record that carried it; 0 over QUIC
	QUICVersion      uint32  // of the Initial packets that carried it; 0 over TCP
	Raw              []byte  // the handshake message, with its four-byte header and without record headers
}

// KeyShare is a public key that a client sends ahead (RFC 8446, section 4.2.8).
// Its Group is post-quantum where it is tls.X25519MLKEM768, for one.
type KeyShare struct {
	Group tls.CurveID
	Data  []byte // part of Raw
}

// PSK is a session that a client offers to resume, or another key that both
// sides have (RFC 8446, section 4.2.11).
type PSK struct {
	Identity []byte // the ticket; part of Raw
	Age      uint32 // obfuscated_ticket_age: in ms, plus a number that only the two sides know
	Binder   []byte // proves that the client has the key: a hash, of 32 bytes or more; part of Raw
}

// ECH is the encrypted_client_hello extension. One with a Payload is an outer
// hello, whose true one is in Payload, or the decoy that browsers send where
// they have no key for it: made so that nobody can tell the two apart. Inner
// marks a hello that was inside.
type ECH struct {
	Inner     bool
	KDF, AEAD uint16 // of HPKE (RFC 9180, section 7)
	ConfigID  uint8
	Enc       []byte // the client's HPKE key; empty after a HelloRetryRequest; part of Raw
	Payload   []byte // part of Raw
}

// Extension is the content of one of h's extensions, part of Raw, and whether
// it was sent at all.
func (h *ClientHello) Extension(id uint16) (content []byte, sent bool) {
	c := cursor{h.Raw, 0, new(*flaw)}
	c.bytes(handshakeHeader+2+len(h.Random), "")
	c.part(1, 1, "")
	c.part(2, 1, "")
	c.part(1, 1, "")
	c.number(2, "")
	for c.more() {
		found := uint16(c.number(2, ""))
		body := c.part(2, 1, "")
		if found == id {
			return body.left, *c.flaw == nil
		}
	}
	return nil, false
}

// IsGREASE reports a value that means nothing: clients mix such ones into
// their lists, so that servers go on ignoring what they do not know (RFC 8701,
// section 2). It holds for 16-bit values of every list; a one-byte PSK mode
// and an ALPN name are other ones.
func IsGREASE[T ~uint16](v T) bool { return v&0x0f0f == 0x0a0a && v>>8 == v&0xff }

// isGREASEName is for ALPN, whose reserved names are those values as two bytes.
func isGREASEName(name string) bool {
	return len(name) == 2 && IsGREASE(uint16(name[0])<<8|uint16(name[1]))
}

// isGREASEMode is for PSK modes (RFC 8701, section 2).
func isGREASEMode(mode uint8) bool { return mode%0x1f == 0x0b }
