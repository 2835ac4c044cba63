package alpn

import "crypto/tls"

// ClientHello is what a client offers at the start of TLS (RFC 8446, section
// 4.1.2; RFC 5246, section 7.4.1.2). Every list is as it was sent: in order,
// with values that nobody knows, GREASE (RFC 8701) among them. A list is nil
// if its extension was not sent.
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
	Random           [32]byte
	SessionID        []byte // legacy_session_id
	Compression      []uint8
	RecordVersion    uint16 // of the first record that carried it
	Raw              []byte // the handshake message, with its four-byte header and without record headers
}

// KeyShare is a public key that a client sends ahead (RFC 8446, section 4.2.8).
type KeyShare struct {
	Group tls.CurveID
	Data  []byte // part of Raw
}
