package alpn

import (
	"crypto/tls"
	"net"
)

// ServerHello is what a server chose from a ClientHello (RFC 8446, section
// 4.1.3; RFC 5246, section 7.4.1.3). With TLS 1.3 most of it is encrypted, the
// choice of ALPN too.
type ServerHello struct {
	Version       uint16      // of TLS that was chosen
	CipherSuite   uint16      // that was chosen
	ALPN          string      // that was chosen (RFC 7301); "" is none, and always so with TLS 1.3, which encrypts it
	Group         tls.CurveID // of the key exchange; 0 with TLS 1.2 and older
	Retry         bool        // a HelloRetryRequest, after which a second ClientHello comes
	PSK           bool        // an offered session of TLS 1.3 is resumed
	Extensions    []uint16    // their ids; nil if the message has no extensions
	Random        [32]byte
	SessionID     []byte // the client's own, echoed, is resumption with TLS 1.2 and says nothing with TLS 1.3
	RecordVersion uint16 // of the first record that carried it
	Raw           []byte // the handshake message, as in ClientHello
}

// PeekServerHello is [PeekClientHello] for the other direction: conn leads to a
// server, and what is read is its answer to a ClientHello. An alert instead is
// a *HelloError that names it.
func PeekServerHello(conn net.Conn) (*ServerHello, net.Conn, error) {
	p := peeker{want: serverHello, conn: conn, stream: make([]byte, 0, 2048)}
	if err := p.read(); err != nil {
		return nil, p.replayed(), err
	}
	hello, flaw := parseServerHello(p.msg)
	if flaw != nil {
		return nil, p.replayed(), p.wrongf(p.offset(flaw.at), "%s", flaw.why)
	}
	hello.RecordVersion = p.recordVersion()
	return hello, p.replayed(), nil
}

func parseServerHello(msg []byte) (*ServerHello, *flaw) {
	var found *flaw
	c := cursor{msg, 0, &found}
	c.bytes(handshakeHeader, "handshake header")
	h := &ServerHello{Raw: msg, Version: uint16(c.number(2, "legacy_version"))}
	copy(h.Random[:], c.bytes(len(h.Random), "random"))
	h.Retry = h.Random == retryRandom()
	h.SessionID = sessionID(&c)
	h.CipherSuite = uint16(c.number(2, "cipher_suite"))
	c.number(1, "legacy_compression_method")
	h.Extensions = c.extensions(h.extension)
	if found != nil {
		return nil, found
	}
	return h, nil
}

func (h *ServerHello) extension(id uint16, body *cursor) {
	name := extensionName(id)
	switch id {
	case extSupportedVersions:
		h.Version = uint16(body.number(2, name))
	case extALPN:
		h.ALPN = chosenName(body, name)
	case extKeyShare:
		h.Group = tls.CurveID(body.number(2, name+": group"))
		if h.Retry { // asks for a key of that group
			break
		}
		body.filled(2, 1, name+": key")
	case extPreSharedKey:
		h.PSK = true
		body.number(2, name)
	default:
		return
	}
	body.end(name)
}

// chosenName is the one name that an answer holds (RFC 7301, section 3.1).
func chosenName(body *cursor, name string) string {
	at := body.at
	names := protocolNames(body.filled(2, 1, name))
	if len(names) != 1 {
		body.fail(at, "%s: %d names; an answer has one", name, len(names))
		return ""
	}
	return names[0]
}

// retryRandom marks a HelloRetryRequest (RFC 8446, section 4.1.3): the SHA-256
// of those words.
func retryRandom() [32]byte {
	return [32]byte{
		0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91,
		0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c,
	}
}
