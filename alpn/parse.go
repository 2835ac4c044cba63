package alpn

import (
	"crypto/tls"
	"slices"
)

// parseClientHello reads a whole handshake message, of the type and length that
// its header says.
func parseClientHello(msg []byte) (*ClientHello, *flaw) {
	var found *flaw
	c := cursor{msg, 0, &found}
	c.bytes(handshakeHeader, "handshake header")
	h := &ClientHello{Raw: msg, Version: uint16(c.number(2, "legacy_version"))}
	copy(h.Random[:], c.bytes(len(h.Random), "random"))
	h.SessionID = sessionID(&c)
	suites := c.filled(2, 2, "cipher_suites")
	h.CipherSuites = numbers[uint16](suites)
	h.Compression = c.filled1("legacy_compression_methods")
	if c.more() { // before TLS 1.3 a hello may end here
		h.extensions(c.part(2, 1, "extensions"))
		c.end("extensions")
	}
	if found != nil {
		return nil, found
	}
	return h, nil
}

func sessionID(c *cursor) []byte {
	at := c.at
	id := c.part(1, 1, "legacy_session_id")
	if len(id.left) > 32 {
		c.fail(at, "legacy_session_id: length %d; at most 32", len(id.left))
	}
	return id.left
}

// filled1 is a vector of bytes with a length of one byte, which must not be
// empty.
func (c *cursor) filled1(field string) []byte {
	p := c.filled(1, 1, field)
	return p.left
}

func (h *ClientHello) extensions(c cursor) {
	h.Extensions = make([]uint16, 0, 24)
	for c.more() {
		at := c.at
		id := uint16(c.number(2, "extension type"))
		body := c.part(2, 1, extensionName(id))
		if slices.Contains(h.Extensions, id) {
			c.fail(at, "%s: sent twice (RFC 8446, section 4.2)", extensionName(id))
		}
		h.Extensions = append(h.Extensions, id)
		h.extension(id, &body)
	}
}

// extension reads one that has a field; any other may hold what it likes.
func (h *ClientHello) extension(id uint16, body *cursor) {
	name := extensionName(id)
	switch id {
	case extServerName:
		h.ServerName = serverName(body.filled(2, 1, name))
	case extALPN:
		h.ALPN = protocolNames(body.filled(2, 1, name))
	case extSupportedVersions:
		h.Versions = numbers[uint16](body.filled(1, 2, name))
	case extSupportedGroups:
		h.Groups = numbers[tls.CurveID](body.filled(2, 2, name))
	case extSignatureAlgorithms:
		h.SignatureSchemes = numbers[tls.SignatureScheme](body.filled(2, 2, name))
	case extPointFormats:
		h.PointFormats = body.filled1(name)
	case extPSKModes:
		h.PSKModes = body.filled1(name)
	case extKeyShare: // empty asks for a HelloRetryRequest
		h.KeyShares = keyShares(body.part(2, 1, name))
	default:
		return
	}
	body.end(name)
}

// serverName is the one host name; RFC 6066 forbids a second, and defines no
// other type of name.
func serverName(c cursor) (host string) {
	for c.more() {
		at := c.at
		kind := c.number(1, "server_name: type")
		name := c.filled(2, 1, "server_name: name")
		if kind != 0 {
			continue
		}
		if host != "" {
			c.fail(at, "server_name: two host names (RFC 6066, section 3)")
		}
		host = string(name.left)
	}
	return host
}

func protocolNames(c cursor) (names []string) {
	for c.more() {
		names = append(names, string(c.filled1("application_layer_protocol_negotiation: name")))
	}
	return names
}

func keyShares(c cursor) []KeyShare {
	all := make([]KeyShare, 0, 4)
	for c.more() {
		group := tls.CurveID(c.number(2, "key_share: group"))
		key := c.filled(2, 1, "key_share: key")
		all = append(all, KeyShare{group, key.left})
	}
	return all
}
