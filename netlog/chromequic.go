package netlog

import (
	"cmp"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"net"
	"strings"

	"example.com/wiretest/netlog/internal/chromefile"
)

// onQUIC follows QUIC_SESSION. Some of its events come two or three times.
func (c *chrome) onQUIC() {
	of := func(name string, do func(k *conduit, e *event)) {
		c.on(name, func(e *event) {
			k := c.carrier(e)
			k.quic = true
			do(k, e)
		})
	}
	of(chromefile.QUICSession, c.quicSession)
	of(chromefile.QUICVersion, func(k *conduit, e *event) { k.version = e.Params.Str("version") })
	of(chromefile.QUICCryptoReceived, c.cryptoReceived)
	of(chromefile.QUICHandshakeDone, c.quicDone)
	of(chromefile.QUICConfirmed, c.quicDone)
	of(chromefile.QUICVerified, func(k *conduit, e *event) { k.works = true })
	of(chromefile.QUICGoAway, c.quicGoAway)
	of(chromefile.HTTP3GoAway, c.quicGoAway)
	of(chromefile.QUICCloseOnError, func(k *conduit, e *event) { k.failed, _ = e.Params.Int("net_error") })
	of(chromefile.QUICClosed, c.quicClosed)
	c.on(chromefile.UDPConnect, func(e *event) { c.udpAddress(e, func(n *node) *string { return &n.remote }) })
	c.on(chromefile.UDPLocalAddress, func(e *event) { c.udpAddress(e, func(n *node) *string { return &n.local }) })
	c.on(chromefile.QUICPoolJob, c.quicJob)
	c.on(chromefile.QUICFactoryJob, c.quicJob)
	c.on(chromefile.QUICPoolJobConnect, c.quicConnect)
	c.on(chromefile.QUICFactoryConnect, c.quicConnect)
}

func (c *chrome) udpAlive(e *event) {
	if maker, ok := e.Params.Dependency(); ok && e.Phase == chromefile.Begin {
		c.udp[e.Source.ID] = maker
	} else if e.Phase == chromefile.End {
		delete(c.udp, e.Source.ID)
	}
}

// udpAddress is of a socket that a job made, or has below one that it made. The
// last one of a job is its session's; those before only look for a route.
func (c *chrome) udpAddress(e *event, which func(*node) *string) {
	address := e.Params.Str("address")
	maker, ok := c.udp[e.Source.ID]
	if above, deeper := c.udp[maker]; deeper {
		maker = above
	}
	if n := c.nodes[maker]; ok && address != "" && n != nil {
		*which(n) = address
	}
}

func (c *chrome) quicSession(k *conduit, e *event) {
	if e.Phase == chromefile.End {
		k.closed = e.Time
		return
	}
	if e.Phase != chromefile.Begin {
		return
	}
	k.complete, k.opened = true, e.Time
	k.host = quicHost(e.Params)
	k.remote = e.Params.Str("peer_address")
	k.local = e.Params.Str("self_address")
}

// quicHost is host:port of parameters that have both apart.
func quicHost(p chromefile.Params) string {
	host := p.Str("host")
	if port, ok := p.Int("port"); ok && host != "" {
		return net.JoinHostPort(plainName(host), fmt.Sprint(port))
	}
	return host
}

// quicDone is the end of the handshake; the second event for it is the server's
// word.
func (c *chrome) quicDone(k *conduit, e *event) {
	if k.tls.done.IsZero() {
		k.tls.done = e.Time
	}
}

// cryptoReceived takes what the server said in the handshake from the CRYPTO
// frames (RFC 9001, section 4): they carry TLS messages in the clear here.
func (c *chrome) cryptoReceived(k *conduit, e *event) {
	if e.Params.Str("encryption_level") != "ENCRYPTION_HANDSHAKE" {
		return
	}
	data, err := base64.StdEncoding.DecodeString(e.Params.Str("bytes"))
	offset, _ := e.Params.Int("offset")
	if err != nil || offset != int64(len(k.crypto)) || len(k.crypto)+len(data) > largestHello {
		return // a repetition, or a gap
	}
	k.crypto = append(k.crypto, data...)
	k.tls.readFlight(k.crypto)
}

// Of TLS 1.3 (RFC 8446, sections 4 and 4.2).
const (
	encryptedExtensions = 8
	certificateMessage  = 11
	alpnExtension       = 16
)

// readFlight reads as many messages of the server's first flight as are whole.
func (t *tlsFacts) readFlight(flight []byte) {
	for len(flight) >= 4 {
		size := int(flight[1])<<16 | int(flight[2])<<8 | int(flight[3])
		if len(flight) < 4+size {
			return
		}
		switch body := flight[4 : 4+size]; flight[0] {
		case encryptedExtensions:
			t.readExtensions(body)
		case certificateMessage:
			t.readCertificates(body)
		}
		flight = flight[4+size:]
	}
}

func (t *tlsFacts) readExtensions(body []byte) {
	list := vector(&body, 2)
	for len(list) >= 4 {
		kind := int(list[0])<<8 | int(list[1])
		list = list[2:]
		extension := vector(&list, 2)
		if kind != alpnExtension {
			continue
		}
		protocols := vector(&extension, 2)
		t.said, t.proto = true, string(vector(&protocols, 1))
	}
}

func (t *tlsFacts) readCertificates(body []byte) {
	vector(&body, 1) // context
	list := vector(&body, 3)
	if der := vector(&list, 3); len(der) > 0 {
		t.cert = readCert(der)
	}
}

// vector takes from b what has its length in front (RFC 8446, section 3.4); nil
// if it is not all there.
func vector(b *[]byte, lengthBytes int) []byte {
	if len(*b) < lengthBytes {
		*b = nil
		return nil
	}
	n := 0
	for _, octet := range (*b)[:lengthBytes] {
		n = n<<8 | int(octet)
	}
	rest := (*b)[lengthBytes:]
	if n > len(rest) {
		*b = nil
		return nil
	}
	*b = rest[n:]
	return rest[:n]
}

func (c *chrome) quicGoAway(k *conduit, e *event) {
	last, known := e.Params.Int("last_good_stream_id")
	if !known {
		last, _ = e.Params.Int("id")
	}
	k.goAway = fmt.Sprintf("GOAWAY last stream %d, received", last)
}

func (c *chrome) quicClosed(k *conduit, e *event) {
	who := "closed"
	if e.Params.Bool("from_peer") {
		who = "closed by the server"
	}
	if details := e.Params.Str("details"); details != "" {
		who += ": " + details
	}
	k.reason = cmp.Or(k.reason, who)
}

// quicJob is what looks for a session or makes one.
func (c *chrome) quicJob(e *event) {
	if e.Phase != chromefile.Begin {
		return
	}
	n := c.node(e.Source.ID)
	n.host = cmp.Or(quicHost(e.Params), authorityOf(e.Params.Str("server_id")))
}

func (c *chrome) quicConnect(e *event) {
	code, failed := e.Params.Int("net_error")
	if e.Phase != chromefile.End || !failed {
		return
	}
	c.alts.failed = append(c.alts.failed, quicFailure{e.Source.ID, code, refer(e)})
}

// quicProtocol is what a version of QUIC carries: until 2021 Chromium also spoke
// Google's own, without TLS.
func quicProtocol(version string) string {
	if strings.HasPrefix(version, "Q") {
		return "quic"
	}
	return "h3"
}

// settleQUIC completes what a finished handshake implies: every version with
// TLS demands an answer by ALPN (RFC 9114, section 3.1).
func (k *conduit) settleQUIC() {
	if !k.quic || k.tls.done.IsZero() || quicProtocol(k.version) != "h3" {
		return
	}
	k.tls.version = tls.VersionTLS13
	if !k.tls.said && k.version != "" {
		k.tls.said, k.tls.proto = true, "h3"
	}
}
