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
	h.Extensions = c.extensions(h.extension)
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

// extensions are the rest of a hello, read one by one. It returns their ids: nil
// if the hello ends here, as it may before TLS 1.3.
func (c *cursor) extensions(read func(id uint16, body *cursor)) (ids []uint16) {
	if !c.more() {
		return nil
	}
	ids = make([]uint16, 0, 24)
	all := c.part(2, 1, "extensions")
	for all.more() {
		at := all.at
		id := uint16(all.number(2, "extension type"))
		body := all.part(2, 1, extensionName(id))
		if slices.Contains(ids, id) {
			all.fail(at, "%s: sent twice (RFC 8446, section 4.2)", extensionName(id))
		}
		ids = append(ids, id)
		read(id, &body)
	}
	c.end("extensions")
	return ids
}

// extension reads one that has a field; any other may hold what it likes.
func (h *ClientHello) extension(id uint16, body *cursor) {
	name := extensionName(id)
	if h.PSKs != nil {
		body.fail(body.at-extensionHeader, "%s: after pre_shared_key, which must be the last (RFC 8446, section 4.2.11)", name)
	}
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
		h.rarerExtension(id, body, name)
		return
	}
	body.end(name)
}

func (h *ClientHello) rarerExtension(id uint16, body *cursor, name string) {
	switch id {
	case extSessionTicket:
		h.SessionTicket = body.bytes(len(body.left), name)
	case extEarlyData:
		h.EarlyData = true
	case extPreSharedKey:
		h.PSKs = preSharedKeys(body)
	case extECH:
		h.ECH = encryptedHello(body)
	case extCertCompression:
		h.CertCompression = numbers[uint16](body.filled(1, 2, name))
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

// preSharedKeys puts the two lists of RFC 8446, section 4.2.11, together. It is
// not nil if there is no flaw.
func preSharedKeys(body *cursor) []PSK {
	all := make([]PSK, 0, 1)
	identities := body.filled(2, 1, "pre_shared_key: identities")
	for identities.more() {
		identity := identities.filled(2, 1, "pre_shared_key: identity")
		age := identities.number(4, "pre_shared_key: obfuscated_ticket_age")
		all = append(all, PSK{Identity: identity.left, Age: uint32(age)})
	}
	binders := body.filled(2, 1, "pre_shared_key: binders")
	at := binders.at
	for i := range all {
		all[i].Binder = binder(&binders)
	}
	if len(binders.left) > 0 {
		binders.fail(at, "pre_shared_key: more binders than identities (%d)", len(all))
	}
	return all
}

// binder is a hash, which is no shorter than that of SHA-256.
func binder(c *cursor) []byte {
	at := c.at
	b := c.part(1, 1, "pre_shared_key: binder")
	if len(b.left) < 32 {
		c.fail(at, "pre_shared_key: binder: length %d; at least 32", len(b.left))
	}
	return b.left
}

// encryptedHello reads an ECHClientHello (RFC 9849, section 5).
func encryptedHello(body *cursor) *ECH {
	const name = "encrypted_client_hello"
	at := body.at
	switch kind := body.number(1, name+": type"); kind {
	case 1:
		return &ECH{Inner: true}
	case 0:
		e := &ECH{KDF: uint16(body.number(2, name+": KDF")), AEAD: uint16(body.number(2, name+": AEAD"))}
		e.ConfigID = uint8(body.number(1, name+": config_id"))
		enc := body.part(2, 1, name+": enc")
		payload := body.filled(2, 1, name+": payload")
		e.Enc, e.Payload = enc.left, payload.left
		return e
	default:
		body.fail(at, "%s: type %d; must be 0 (outer) or 1 (inner)", name, kind)
		return nil
	}
}
