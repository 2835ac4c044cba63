package wire

import (
	"crypto/tls"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"example.com/wiretest/netlog"
)

const (
	protoHTTP1 = "http/1.1"
	protoH2    = "h2"
)

// protocolOf is what is to be spoken on a connection by its record.
func protocolOf(rec *netlog.ConnectionRecord) string {
	if rec.Connection().ALPN == protoH2 {
		return protoH2
	}
	return protoHTTP1
}

// recordFor is rec, or one in a log that nobody reads.
func recordFor(rec *netlog.ConnectionRecord, state *tls.ConnectionState) *netlog.ConnectionRecord {
	if rec != nil {
		return rec
	}
	blank := netlog.Connection{}
	if state != nil {
		blank.ALPN = state.NegotiatedProtocol
	}
	return new(netlog.Log).Open(blank)
}

// stateOf is the TLS state of conn, or nil if it is plain.
func stateOf(conn net.Conn) *tls.ConnectionState {
	encrypted, ok := conn.(interface{ ConnectionState() tls.ConnectionState })
	if !ok {
		return nil
	}
	state := encrypted.ConnectionState()
	return &state
}

func schemeOf(state *tls.ConnectionState) string {
	if state == nil {
		return "http"
	}
	return "https"
}

// servedConn is a connection of a Server. It hides from net/http that there
// may be TLS below, which would make it choose the protocol by itself.
type servedConn struct {
	net.Conn // the tap
	tap      *Tap
	raw      net.Conn // below the tap
	rec      *netlog.ConnectionRecord
	protocol string
	tls      *tls.ConnectionState // nil on a plain connection
	server   *Server

	spoken chan struct{} // closed when something was written; nil waits for nothing
	spoke  sync.Once

	closing atomic.Bool
	failure error
	closed  chan struct{}
	left    chan struct{} // closed when net/http has nothing to do with it anymore; http/1.1 only

	hijacked atomic.Bool // a handler has it

	// Guarded by server.mu.
	streams  int           // the limit of streams that it began with; 0 before it does, and over http/1.1
	handlers int           // calls of the handler that run
	over     bool          // no handler may begin anymore
	quiet    chan struct{} // closed when over and no handler runs
	// Of HTTP/1.1, where one request is served at a time.
	current *Stream
}

func newServedConn(s *Server, conn net.Conn, rec *netlog.ConnectionRecord) *servedConn {
	c := &servedConn{
		raw:    conn,
		tls:    stateOf(conn),
		server: s,
		closed: make(chan struct{}),
		left:   make(chan struct{}),
		quiet:  make(chan struct{}),
	}
	c.rec = recordFor(rec, c.tls)
	if c.protocol = s.cfg.Speak; c.protocol == "" {
		c.protocol = protocolOf(c.rec)
	}
	c.tap = NewTap(conn, TapConfig{
		Side:     ServerSide,
		Protocol: c.protocol,
		Record:   c.rec,
		Scheme:   schemeOf(c.tls),
		Mark:     c.protocol == protoH2,
		Heads:    s.cfg.Heads,
	})
	c.Conn = c.tap
	c.tap.shut = func() { c.Close() }
	c.tap.faults = s.faults
	if s.cfg.Prepare != nil {
		s.cfg.Prepare(c.tap.Control())
	}
	return c
}

// Write fails once the server is closed. A handler whose context just ended
// returns, and what it then leaves unsaid would reach the client as the end of
// a whole answer.
func (c *servedConn) Write(p []byte) (int, error) {
	if c.server.ctx.Err() != nil {
		return 0, net.ErrClosed
	}
	n, err := c.Conn.Write(p)
	if c.spoken != nil {
		c.spoke.Do(func() { close(c.spoken) })
	}
	return n, err
}

// Read waits, where the client may not speak HTTP/2, until the server has sent
// its settings: net/http closes as soon as it has not read a preface, and with
// luck before it has written anything.
func (c *servedConn) Read(p []byte) (int, error) {
	if c.spoken != nil {
		select {
		case <-c.spoken:
		case <-c.closed:
		}
	}
	return c.Conn.Read(p)
}

// Close closes the connection; later calls wait for the first.
func (c *servedConn) Close() error {
	if c.closing.CompareAndSwap(false, true) {
		if c.tap.deaf.Load() && c.server.ctx.Err() == nil {
			Linger(c.tap, c.raw, lingerTime)
		}
		c.failure = closeSoon(c.tap, c.raw)
		close(c.closed)
	}
	<-c.closed
	return c.failure
}

// lingerTime is net/http's own where it has not read a request to its end.
const lingerTime = 500 * time.Millisecond

// CloseWrite is for handlers that hijacked the connection.
func (c *servedConn) CloseWrite() error { return c.tap.CloseWrite() }

// end lets no more handlers begin and waits for those that run.
func (c *servedConn) end() {
	c.server.mu.Lock()
	c.over = true
	c.checkQuiet()
	c.server.mu.Unlock()
	<-c.quiet
}

// checkQuiet is called with server.mu held.
func (c *servedConn) checkQuiet() {
	if !c.over || c.handlers > 0 {
		return
	}
	select {
	case <-c.quiet:
	default:
		close(c.quiet)
	}
}

// secured is a servedConn that shows its TLS state, which http2.Server takes
// for r.TLS and for the rules of RFC 9113, section 9.2.
type secured struct{ *servedConn }

func (c secured) ConnectionState() tls.ConnectionState { return *c.tls }
