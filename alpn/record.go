package alpn

// Of the TLS record layer (RFC 8446, section 5.1; IANA TLS ContentType) and
// its alerts (RFC 8446, section 6; RFC 7301, section 3.2).
const (
	recordAlert     = 21
	recordHandshake = 22

	alertFatal                 = 2
	alertNoApplicationProtocol = 120
)
