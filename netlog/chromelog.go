package netlog

import (
	"cmp"
	"slices"
	"strconv"

	"example.com/wiretest/netlog/internal/chromefile"
)

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// carrierFacts are what is known of a connection beside itself.
type carrierFacts struct {
	source      int64 // id in the file
	session     int64 // HTTP/2 session on it; 0 is none
	selfSigned  bool
	root        rootKind
	check       int64 // that found out about the certificate
	intercepted bool  // as the browser found out
}

// conclusion makes the Log of what was followed.
type conclusion struct {
	*chrome
	constants *chromefile.Constants
	log       *Log
	records   map[*conduit]*ConnectionRecord
	tunnels   map[int64][]*conduit // by the proxy's session
	byLeaf    map[string]int64     // CERT_VERIFIER_JOB by certificate
	requests  map[*attempt]*RequestRecord
}

func (c *chrome) conclude(found *chromefile.Found) *Log {
	if c.kept != nil {
		return c.kept.log(c, found)
	}
	end := &conclusion{
		chrome: c, constants: found.Constants, log: new(Log),
		tunnels: make(map[int64][]*conduit), byLeaf: make(map[string]int64),
		records: make(map[*conduit]*ConnectionRecord), requests: make(map[*attempt]*RequestRecord),
	}
	end.log.origin = &origin{
		client: found.Constants.Client, damage: damageOf(found.Damage), counts: c.counts,
		conns: make(map[*ConnectionRecord]*carrierFacts), speaks: c.speaks, issuers: c.opt.Issuers,
		quicRefs: make(map[string][]witness),
	}
	for _, a := range c.attempts {
		c.find(a)
	}
	end.settle()
	end.scope()
	end.connections()
	end.attempted()
	end.stalled()
	end.alternatives()
	return end.log
}

// find goes from a request to what carried it.
func (c *chrome) find(a *attempt) {
	if a.sent.IsZero() {
		return
	}
	if id := c.carrierOf(a); id != 0 {
		k := c.carriers[id]
		if k == nil { // the log has nothing else of it
			k = &conduit{id: id, seen: a.sent, quic: a.proto == "h3"}
			c.carriers[id] = k
		}
		a.carrier = k
		k.attempts = append(k.attempts, a)
	}
}

func (c *chrome) carrierOf(a *attempt) int64 {
	job := c.peek(a.job)
	switch a.proto {
	case "h3":
		return cmp.Or(a.quic, job.quic, c.peek(job.quicJob).quic)
	case "h2":
		id := c.sessionOf(a)
		s := c.sessions[id]
		if s == nil || s.socket == 0 {
			return id // stands for its socket, or is 0
		}
		return s.socket
	}
	return job.carrier
}

func (c *chrome) sessionOf(a *attempt) int64 {
	return cmp.Or(a.session, c.peek(a.job).session, c.peek(a.manager).session)
}

// connections writes down what was opened.
func (e *conclusion) connections() {
	var open []*conduit
	for _, k := range e.carriers {
		if k.isOpen() && !k.left {
			open = append(open, k)
		}
	}
	slices.SortFunc(open, func(a, b *conduit) int {
		return cmp.Or(a.since().Compare(b.since()), cmp.Compare(a.id, b.id))
	})
	for _, k := range open {
		r := e.log.Open(e.connection(k))
		for _, a := range k.attempts {
			r.answered(a.status)
		}
		e.records[k] = r
		e.log.origin.conns[r] = e.facts(k)
	}
}

func (e *conclusion) connection(k *conduit) Connection {
	c := Connection{
		Network: "tcp", Host: e.known(k.host), Proxy: e.proxyOf(k), Local: k.local, Remote: k.remote,
		Opened: k.since(), Closed: later(k.closed, k.since()), CloseReason: e.closeReason(k), OpenReason: e.openReason(k),
		GoAway: k.goAway, HeaderBytesUp: -1, HeaderBytesDown: -1,
	}
	if k.quic {
		c.Network = "udp"
	}
	if s := k.session; s != nil {
		c.StreamLimit, c.GoAway = s.limit, s.goAway
	}
	if k.over != 0 { // what a tunnel through a session has of it
		if s := e.sessions[k.over]; s != nil && e.carriers[s.socket] != nil {
			c.Local, c.Remote = e.carriers[s.socket].local, e.carriers[s.socket].remote
		}
	}
	e.handshake(&c, k)
	e.usage(&c, k)
	e.bytes(&c, k)
	return c
}

// known stands for a value that the log could have.
func (e *conclusion) known(s string) string {
	if s == "" && e.constants.Redacted() {
		return Redacted
	}
	return s
}

func (e *conclusion) handshake(c *Connection, k *conduit) {
	t := &k.tls
	c.ALPN = Unknown
	if t.hello != nil {
		c.Offered, c.ServerName = t.hello.SupportedProtos, t.hello.ServerName
	}
	cert := t.cert
	if check := e.checks[t.check]; check != nil && cert.leaf == "" {
		cert = check.cert
	}
	c.Issuer = cert.issuer
	if t.done.IsZero() {
		if k.complete && t.begun.IsZero() && k.carriesPlain() {
			c.ALPN = NoALPN // there was no TLS
		}
		return
	}
	c.Handshaken, c.TLSVersion, c.Resumed = later(t.done, k.since()), t.version, t.resumed
	switch {
	case t.said && t.proto == "":
		c.ALPN = NoALPN
	case t.said:
		c.ALPN = t.proto
	case e.constants.Redacted():
		c.ALPN, c.ServerName, c.Issuer = Redacted, cmp.Or(c.ServerName, Redacted), cmp.Or(c.Issuer, Redacted)
	}
}
