package netlog

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"example.com/wiretest/netlog/internal/chromefile"
)

// conduit is a source that can carry requests: a socket, a tunnel through a
// proxy's session (PROXY_CLIENT_SOCKET) or a QUIC session.
type conduit struct {
	id      int64
	quic    bool
	over    int64 // session of the proxy that the tunnel goes through
	maker   int64 // connect job
	group   int64 // of the HttpStreamPool
	user    int64 // job that used it first
	session *session

	seen        time.Time // first event
	complete    bool      // that was its beginning
	opened      time.Time // as far as the log has it
	refused     bool
	works       bool // it did what only an open one can do
	closed      time.Time
	remote      string
	local       string
	reason      string // why the pool closed it
	failed      int64  // net error that ended it
	tunnel      string // host:port that a CONNECT asked for
	handles     int    // how often the HttpStreamPool handed it out
	firstHandle time.Time
	version     string // of QUIC
	crypto      []byte // the server's handshake over QUIC

	tls           tlsFacts
	sent, arrived int64 // bytes on the wire
	inSent, inGot int64 // bytes inside of TLS
	goAway        string

	attempts []*attempt
	host     string
	left     bool // out of the Log
}

func (c *chrome) carrier(e *event) *conduit { return c.conduit(e.Source.ID, e) }

// conduit is that of an id, of which e may be the first that is heard.
func (c *chrome) conduit(id int64, e *event) *conduit {
	k := c.carriers[id]
	if k == nil {
		k = &conduit{id: id, seen: e.Time}
		c.carriers[id] = k
	}
	return k
}

// onCarrier has do called for events of sockets and tunnels.
func (c *chrome) onCarrier(name string, do func(k *conduit, e *event)) {
	c.on(name, func(e *event) {
		switch e.Source.Type {
		case chromefile.SourceSocket, chromefile.SourceProxySocket:
			do(c.carrier(e), e)
		}
	})
}

// cancelled is said of requests, and of sockets.
func (c *chrome) cancelled(e *event) {
	switch r := c.request(e); {
	case r != nil:
		r.cancelled()
	case e.Source.Type == chromefile.SourceSocket, e.Source.Type == chromefile.SourceProxySocket:
		k := c.carrier(e)
		k.reason = cmp.Or(k.reason, "cancelled")
	}
}

// onSockets follows TCP connections, and tunnels over them.
func (c *chrome) onSockets() {
	of := c.onCarrier
	c.on(chromefile.Cancelled, c.cancelled)
	of(chromefile.TCPConnect, c.tcpConnect)
	of(chromefile.SocketInUse, c.socketInUse)
	of(chromefile.SendTunnelHeaders, c.tunnelAsked)
	of(chromefile.ReadTunnelHeaders, c.tunnelAnswered)
	of(chromefile.PoolClosingSocket, func(k *conduit, e *event) { k.reason = e.Params.Str("reason") })
	of(chromefile.ProxyClientSession, func(k *conduit, e *event) { k.over, _ = e.Params.Dependency() })
	for _, name := range []string{chromefile.SocketReadError, chromefile.SocketWriteError, chromefile.SSLReadError, chromefile.SSLWriteError} {
		of(name, func(k *conduit, e *event) { k.failed, _ = e.Params.Int("net_error") })
	}
	bytes := func(name string, count func(k *conduit) *int64) {
		of(name, func(k *conduit, e *event) {
			n, _ := e.Params.Int("byte_count")
			*count(k) += max(n, 0)
			k.works = true
		})
	}
	bytes(chromefile.SocketBytesSent, func(k *conduit) *int64 { return &k.sent })
	bytes(chromefile.SocketBytesReceived, func(k *conduit) *int64 { return &k.arrived })
	bytes(chromefile.SSLBytesSent, func(k *conduit) *int64 { return &k.inSent })
	bytes(chromefile.SSLBytesReceived, func(k *conduit) *int64 { return &k.inGot })
	c.on(chromefile.SocketAlive, func(e *event) {
		switch e.Source.Type {
		case chromefile.SourceSocket, chromefile.SourceProxySocket:
			c.socketAlive(c.carrier(e), e)
		case chromefile.SourceUDPSocket, chromefile.SourceUDPClient:
			c.udpAlive(e)
		}
	})
	c.on(chromefile.PoolHandleCreated, c.handedOut)
	c.on(chromefile.ConnectJobSetSocket, c.setSocket)
}

func (c *chrome) socketAlive(k *conduit, e *event) {
	if e.Phase == chromefile.End {
		k.closed = e.Time
		return
	}
	k.complete = true
	k.maker, _ = e.Params.Dependency()
}

func (c *chrome) setSocket(e *event) {
	id, ok := e.Params.Dependency()
	if k := c.carriers[id]; ok && k != nil {
		k.maker = e.Source.ID
	}
}

func (c *chrome) tcpConnect(k *conduit, e *event) {
	switch {
	case e.Phase != chromefile.End:
	case e.Params.Has("net_error"):
		k.refused = true
	default:
		k.opened = e.Time
		k.local, k.remote = firstOf(e.Params, "local_address", "source_address"), e.Params.Str("remote_address")
	}
}

func (c *chrome) socketInUse(k *conduit, e *event) {
	job, ok := e.Params.Dependency()
	if e.Phase != chromefile.Begin || !ok {
		return
	}
	k.works = true
	if k.user == 0 {
		k.user = job
	}
	if n := c.node(job); n.carrier == 0 {
		n.carrier = k.id
	}
}

// tunnelAsked: what comes after a CONNECT is the origin's, TLS too. What came
// before was the proxy's.
func (c *chrome) tunnelAsked(k *conduit, e *event) {
	if line := strings.Fields(e.Params.Str("line")); len(line) > 1 {
		k.tunnel = line[1]
	}
	k.tls = tlsFacts{}
	k.sent, k.arrived, k.inSent, k.inGot = 0, 0, 0, 0
}

// tunnelAnswered opens a tunnel through a session; one that has a socket of its
// own is open already, if only to the proxy.
func (c *chrome) tunnelAnswered(k *conduit, e *event) {
	_, status := statusOf(e.Params.Strings("headers"))
	switch accepted := status/100 == 2 || status == 0; {
	case !accepted && e.Source.Type == chromefile.SourceProxySocket:
		k.refused = true
	case !accepted:
		k.reason = fmt.Sprintf("the proxy answered CONNECT with %d", status)
	case e.Source.Type == chromefile.SourceProxySocket:
		k.opened = e.Time
	}
}

// handedOut is all that the HttpStreamPool says of which socket is used: not for
// whom.
func (c *chrome) handedOut(e *event) {
	id, ok := e.Params.Dependency()
	if !ok {
		return
	}
	k := c.conduit(id, e)
	if k.handles++; k.firstHandle.IsZero() {
		k.firstHandle = e.Time
	}
	k.group, k.works = e.Source.ID, true
}

// isOpen reports whether the carrier was a connection. Where the log does not
// have that it was opened, it has to have worked.
func (k *conduit) isOpen() bool {
	if k.quic {
		return !k.tls.done.IsZero() || len(k.attempts) > 0
	}
	if k.refused && !k.works {
		return false
	}
	return !k.opened.IsZero() || k.works || len(k.attempts) > 0
}

// since is when it was opened, as far as the log has it.
func (k *conduit) since() time.Time {
	if k.opened.IsZero() {
		return k.seen
	}
	return k.opened
}
