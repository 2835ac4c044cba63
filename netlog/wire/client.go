package wire

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"example.com/wiretest/netlog"
)

// ClientConfig says what a ClientConn speaks.
type ClientConfig struct {
	Record *netlog.ConnectionRecord // its ALPN is the protocol, http/1.1 where that is no name; nil records into nothing
	Scheme string                   // of the URLs recorded; "" is "https" over TLS, else "http"
	// OnChange is called without locks when Limit changes or Done closes.
	OnChange func()
	// MaxStreams keeps Limit from being more on h2, whatever the server states;
	// 0 is no limit of the client's own.
	MaxStreams int
	// Speak is "h2" or "http/1.1": what is spoken, whatever the record says. "" is
	// what the record says.
	Speak string
	// StreamWindow is the initial window for the answer on one stream of h2, in
	// bytes, and ConnWindow that for all of a connection; 0 is net/http's choice.
	StreamWindow, ConnWindow int
	// Prepare is called before anything is said on the connection.
	Prepare func(*Control)
}

// ContinueTimeout is how long a request with Expect: 100-continue keeps its body
// back for want of an answer (RFC 9110, section 10.1.1), as in
// http.DefaultTransport.
const ContinueTimeout = time.Second

// ClientConn speaks HTTP as a client over one connection, behind a Tap. It adds
// no header of its own: no User-Agent, no Accept-Encoding. It follows no
// redirect, replays no request, and does not decompress.
type ClientConn struct {
	rec      *netlog.ConnectionRecord
	protocol string
	tls      *tls.ConnectionState // nil on a plain connection
	pipe     *clientPipe
	http     *http.ClientConn
	foreign  *ForeignConn // speaks instead of pipe and http, which then are nil
	onChange func()

	limit      atomic.Int64 // that the server states
	maxStreams atomic.Int64 // the client's own; 0 is none
	done       chan struct{}
	ended      atomic.Bool   // done is closed or about to be
	greet      chan struct{} // closed after the first settings
	turn       chan struct{} // holds a token while an http/1.1 exchange lasts

	lastSent *netlog.RequestRecord // on h2; net/http's lock of writing guards it

	pooled atomic.Pointer[func()] // the Pool's own OnChange
}

// initialLimit is what a client takes for the limit of streams until the
// server states one (RFC 9113, section 6.5.2, recommends at least 100).
const initialLimit = 100

// NewClientConn starts to speak on conn, plain or a *tls.Conn after its
// handshake. When it fails, conn is closed.
func NewClientConn(conn net.Conn, cfg ClientConfig) (*ClientConn, error) {
	c := &ClientConn{
		tls:      stateOf(conn),
		onChange: cfg.OnChange,
		done:     make(chan struct{}),
		greet:    make(chan struct{}),
		turn:     make(chan struct{}, 1),
	}
	c.rec = recordFor(cfg.Record, c.tls)
	if c.protocol = cfg.Speak; c.protocol == "" {
		c.protocol = protocolOf(c.rec)
	}
	c.limit.Store(initialLimit)
	c.maxStreams.Store(int64(cfg.MaxStreams))
	if c.protocol == protoHTTP1 {
		c.limit.Store(1)
		close(c.greet)
	}
	if cfg.Scheme == "" {
		cfg.Scheme = schemeOf(c.tls)
	}
	c.pipe = newClientPipe(c, conn, cfg.Scheme)
	if cfg.Prepare != nil {
		cfg.Prepare(c.Control())
	}
	if err := c.start(cfg); err != nil {
		c.pipe.Close()
		return nil, fmt.Errorf("wire: client: %s to %s: %w", c.protocol, conn.RemoteAddr(), err)
	}
	return c, nil
}

// On http/1.1 each connection has both buffers all its life. One is enough for the
// head of most requests, so that it goes out in one piece; the other has TLS below,
// with buffers of its own.
const (
	clientWriteBuffer = 2 << 10
	clientReadBuffer  = 1 << 10
)

// start gives the pipe to net/http. To it the connection is a plain one, over
// which it speaks what it is told to: both protocols start alike on all
// versions of Go, whatever TLS said.
func (c *ClientConn) start(cfg ClientConfig) (err error) {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(c.protocol == protoHTTP1)
	protocols.SetUnencryptedHTTP2(c.protocol == protoH2)
	transport := &http.Transport{
		DialContext:           func(context.Context, string, string) (net.Conn, error) { return c.pipe, nil },
		Protocols:             protocols,
		DisableCompression:    true,
		ExpectContinueTimeout: ContinueTimeout,
		ReadBufferSize:        clientReadBuffer,
		WriteBufferSize:       clientWriteBuffer,
		HTTP2: &http.HTTP2Config{
			MaxReceiveBufferPerStream:     cfg.StreamWindow,
			MaxReceiveBufferPerConnection: cfg.ConnWindow,
		},
	}
	c.http, err = transport.NewClientConn(context.Background(), "http", "connection:80")
	return err
}

// Limit is how many requests may be in flight: 1 on http/1.1; on h2 what the
// server stated, 100 before it did, and never more than ClientConfig.MaxStreams.
func (c *ClientConn) Limit() int {
	stated, own := int(c.limit.Load()), int(c.maxStreams.Load())
	if own > 0 {
		return min(stated, own)
	}
	return stated
}

// SetMaxStreams changes ClientConfig.MaxStreams. Requests that are under way stay.
func (c *ClientConn) SetMaxStreams(n int) {
	if c.maxStreams.Swap(int64(n)) != int64(n) {
		c.changed()
	}
}

// TLS is the connection's state when it was made; nil on a plain one. It is not to
// be changed.
func (c *ClientConn) TLS() *tls.ConnectionState { return c.tls }

// Greeted is closed when the server's first settings have come, so that Limit
// is no longer a guess; on http/1.1 from the start. Requests do not wait for
// it: of those sent before, a server may refuse what exceeds its limit.
func (c *ClientConn) Greeted() <-chan struct{} { return c.greet }

// Protocol is "http/1.1" or "h2", or that of a ForeignConn.
func (c *ClientConn) Protocol() string { return c.protocol }

// Record is the connection's record.
func (c *ClientConn) Record() *netlog.ConnectionRecord { return c.rec }

// Control bends the connection's protocol; nil of a ForeignConn.
func (c *ClientConn) Control() *Control {
	if c.foreign != nil {
		return nil
	}
	return c.pipe.tap.Control()
}

// Done is closed when the connection takes no more requests: it was closed, it
// broke, or the server said GOAWAY or Connection: close. Requests in flight may
// still be answered.
func (c *ClientConn) Done() <-chan struct{} { return c.done }

// Closed is closed when the connection is, whichever side ended it: unlike after
// Done, nothing that is under way will be answered.
func (c *ClientConn) Closed() <-chan struct{} {
	if c.foreign != nil {
		return c.foreign.Closed
	}
	return c.pipe.closed
}

// Close closes the connection at once; requests in flight fail. It is
// idempotent.
func (c *ClientConn) Close() error {
	if c.foreign != nil {
		return c.foreign.Close()
	}
	c.http.Close()
	// After 101 the connection is the caller's, and net/http leaves it open.
	return c.pipe.Close()
}

// finish closes done; the first call tells those who asked. It is called
// wherever net/http touches the connection.
func (c *ClientConn) finish() bool {
	if !c.ended.CompareAndSwap(false, true) {
		return false
	}
	close(c.done)
	return true
}

// changed must be called without locks.
func (c *ClientConn) changed() {
	if hook := c.pooled.Load(); hook != nil {
		(*hook)()
	}
	if c.onChange != nil {
		c.onChange()
	}
}
