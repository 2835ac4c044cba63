package wire

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"

	"example.com/wiretest/netlog"
)

// Side says which end of the connection holds a Tap.
type Side int

const (
	ServerSide Side = iota // reads requests, writes answers
	ClientSide             // writes requests, reads answers
)

// String is "server" or "client".
func (s Side) String() string {
	if s == ClientSide {
		return "client"
	}
	return "server"
}

func (s Side) peer() string {
	if s == ClientSide {
		return "server"
	}
	return "client"
}

// TapConfig says what a Tap looks at.
type TapConfig struct {
	Side     Side
	Protocol string                   // "http/1.1" or "h2": what to expect; what is recorded is what was spoken
	Record   *netlog.ConnectionRecord // what is seen goes here; nil records into nothing
	Scheme   string                   // of the URLs recorded; "" is "https"
	// Mark, on the server side of h2, adds a header field to each request on
	// its way to the server, by which RequestOf finds the record of the
	// request that a handler serves. Server removes it again.
	Mark bool
	// Heads keeps each request's head for Stream.RequestHead.
	Heads bool
	// OnLimit, on the client side of h2, is called without locks when the
	// server states or changes its limit of concurrent streams.
	OnLimit func(n int)
}

// Tap is a net.Conn that passes bytes through and records what they say. It
// has no goroutine, never waits for more bytes than its owner asks for, and
// holds no lock while the connection below reads or writes.
//
// What is written is recorded just before it is handed to the connection
// below, and what is read just before the owner gets it: a peer that has seen
// a byte can rely on this end's record of it. Calls of Read must come one at a
// time, and so must calls of Write; a Read and a Write may overlap.
//
// Bytes that cannot be understood stop the recording of their direction, are
// noted in the connection's CloseReason, and pass like all others.
//
// A CONNECT request makes no record on HTTP/1.1; on HTTP/2, where it takes a
// stream, it is a Request that does not count in Connection.Requests. What
// follows it, or a 101, is a tunnel's bytes and only counted as such. The
// request that was answered with 101 ends when the connection does.
type Tap struct {
	net.Conn
	cfg TapConfig

	edit   *marker // marks what is read; nil marks nothing; belongs to Read
	failed error   // of the last Read below; belongs to Read
	alarm  alarm

	writing pen
	queued  atomic.Bool                // the interposer has something to write
	waited  atomic.Bool                // there is something in written
	deaf    atomic.Bool                // nothing more is read
	ip      atomic.Pointer[interposer] // set with mu held; nil until it is needed
	control Control
	shut    func() // closes the connection

	gone      chan struct{} // closed when the connection is
	closeOnce sync.Once

	faults *Faults // of a Server; nil is none

	mu      sync.Mutex // never held while blocking
	up      flow       // requests
	down    flow       // answers
	h1      h1Conn
	h2      *h2Conn // nil before http2 was called
	last    *Stream
	later   []func() // to be called without mu
	written []func() // the same, when what has passed the parser was written
	mute    bool     // some request of HTTP/1.1 is to have no 100
	end     ending
	limit   int  // what the server stated last,
	limited bool // and OnLimit has not been told
	opaque  bool // all further bytes belong to a tunnel
}

// NewTap returns a Tap over decrypted bytes.
func NewTap(conn net.Conn, cfg TapConfig) *Tap {
	if cfg.Record == nil {
		cfg.Record = new(netlog.Log).Open(netlog.Connection{})
	}
	if cfg.Scheme == "" {
		cfg.Scheme = "https"
	}
	t := &Tap{Conn: conn, cfg: cfg, writing: newPen(), gone: make(chan struct{})}
	t.control.tap = t
	t.shut = func() { t.Close() }
	t.up = flow{tap: t, up: true}
	t.down = flow{tap: t}
	t.h1.tap = t
	if cfg.Mark && cfg.Side == ServerSide {
		t.edit = new(marker)
	}
	return t
}

// http2 is the state of an HTTP/2 connection, which is large, and which one of
// HTTP/1.1 does without. It is called with mu held.
func (t *Tap) http2() *h2Conn {
	if t.h2 == nil {
		t.h2 = newH2Conn(t)
	}
	return t.h2
}

// openStream is the request on an HTTP/2 stream that is not closed yet; nil if
// there is none. It is called with mu held.
func (t *Tap) openStream(id uint32) *h2Stream {
	if t.h2 == nil {
		return nil
	}
	return t.h2.streams[id]
}

// Last is the record of the request that began last; nil if none did.
func (t *Tap) Last() *netlog.RequestRecord {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.last == nil {
		return nil
	}
	return t.last.rec
}

// Stream is the record of the request on an HTTP/2 stream that is not closed
// yet; nil if there is none.
func (t *Tap) Stream(id int64) *netlog.RequestRecord {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := t.openStream(uint32(id)); s != nil {
		return s.rec
	}
	return nil
}

// unanswered is the HTTP/1.1 request that is to be answered next, or is being
// answered; nil if there is none.
func (t *Tap) unanswered() *Stream {
	t.mu.Lock()
	defer t.mu.Unlock()
	if x := t.h1.current(); x != nil {
		return &x.Stream
	}
	return nil
}

// claim is the request whose mark names the stream, also when the stream was
// reset before its handler began. It answers once.
func (t *Tap) claim(id int64) *Stream {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.h2 == nil {
		return nil
	}
	s := t.h2.marks[uint32(id)]
	delete(t.h2.marks, uint32(id))
	return s
}

// Control bends the connection's protocol.
func (t *Tap) Control() *Control { return &t.control }

// NetConn is the connection below, as in tls.Conn.
func (t *Tap) NetConn() net.Conn { return t.Conn }

type connectionStater interface {
	ConnectionState() tls.ConnectionState
}

// HTTPConn is t as a server or client of HTTP should be given it: it has a
// method ConnectionState if, and only if, the connection below has one.
// http2.Server takes any connection with that method for TLS.
func (t *Tap) HTTPConn() net.Conn {
	if state, ok := t.Conn.(connectionStater); ok {
		return &tlsTap{Tap: t, connectionStater: state}
	}
	return t
}

type tlsTap struct {
	*Tap
	connectionStater
}

// CloseWrite shuts down the writing side of the connection below. Its error is
// errors.ErrUnsupported where that has no such thing.
func (t *Tap) CloseWrite() error {
	half, ok := t.Conn.(interface{ CloseWrite() error })
	if !ok {
		return fmt.Errorf("wire: tap: CloseWrite on %T: %w", t.Conn, errors.ErrUnsupported)
	}
	t.mu.Lock()
	t.outgoing().eof(true)
	t.mu.Unlock()
	return half.CloseWrite()
}

// Close records that this side closed the connection, unless its end is known
// already, ends the requests that are open, and closes the connection below.
func (t *Tap) Close() error {
	t.mu.Lock()
	t.ended(t.ownReason())
	t.closeRecord()
	wait := t.stopInterposer()
	t.mu.Unlock()
	err := t.Conn.Close()
	t.closeOnce.Do(func() { close(t.gone) })
	wait()
	return err
}

func (t *Tap) incoming() *flow {
	if t.cfg.Side == ServerSide {
		return &t.up
	}
	return &t.down
}

func (t *Tap) outgoing() *flow {
	if t.cfg.Side == ServerSide {
		return &t.down
	}
	return &t.up
}

// takeLater returns what is to be called when t.mu is free.
func (t *Tap) takeLater() func() {
	if t.limited {
		t.limited = false
		if n, onLimit := t.limit, t.cfg.OnLimit; onLimit != nil && t.cfg.Side == ClientSide {
			t.later = append(t.later, func() { onLimit(n) })
		}
	}
	if len(t.later) == 0 {
		return func() {}
	}
	later := t.later
	t.later = nil
	return func() { callAll(later) }
}

// spoke records the protocol that was seen on the wire.
func (t *Tap) spoke(protocol string) {
	t.cfg.Record.Update(func(c *netlog.Connection) { c.Protocol = protocol })
}
