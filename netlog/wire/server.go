package wire

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"sync"

	"golang.org/x/net/http2"

	"example.com/wiretest/netlog"
)

// ServerConfig says how a Server serves.
type ServerConfig struct {
	Handler              http.Handler // nil answers 404
	MaxConcurrentStreams int          // SETTINGS_MAX_CONCURRENT_STREAMS (RFC 9113, section 6.5.2); 0 is 256
	StreamWindow         int          // initial window for what a client uploads on one stream, in bytes; 0 is net/http's 1 MiB
	ConnWindow           int          // the same for all streams of a connection; 0 is net/http's 1 MiB
	ErrorLog             *log.Logger  // nil discards
	// Speak is "h2" or "http/1.1": what is spoken on every connection, whatever its
	// record says. "" is what the record says.
	Speak string
	// Heads keeps each request's head, as it came, for Stream.RequestHead.
	Heads bool
	// Faults are what goes wrong on purpose.
	Faults []Fault
	// Prepare is called for each connection before anything is said on it.
	Prepare func(*Control)
}

// Server serves HTTP/1.1 and HTTP/2 on connections that it is given, each
// behind a Tap. Its owner accepts and does the TLS handshake.
type Server struct {
	cfg    ServerConfig
	ctx    context.Context // of all requests; ends with Close
	cancel context.CancelFunc
	h1     *http.Server

	faults *Faults // nil if there are none

	mu      sync.Mutex   // never held while blocking
	h2      *http2Server // nil before the first connection that speaks it; guarded by mu
	limit   int          // of streams; guarded by mu
	conns   map[*servedConn]struct{}
	running map[*running]struct{}
	spare   []*running
	closed  bool
	idle    chan struct{} // closed when closed and both maps are empty
}

// NewServer returns a Server. Close it.
func NewServer(cfg ServerConfig) *Server {
	if cfg.Handler == nil {
		cfg.Handler = http.NotFoundHandler()
	}
	if cfg.MaxConcurrentStreams <= 0 {
		cfg.MaxConcurrentStreams = 256
	}
	if cfg.ErrorLog == nil {
		cfg.ErrorLog = log.New(io.Discard, "", 0)
	}
	s := &Server{
		cfg:     cfg,
		faults:  NewFaults(cfg.Faults),
		limit:   cfg.MaxConcurrentStreams,
		conns:   make(map[*servedConn]struct{}),
		running: make(map[*running]struct{}),
		idle:    make(chan struct{}),
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.h1 = newHTTP1Server(s)
	return s
}

// ServeConn serves conn, plain or a *tls.Conn after its handshake, until it
// ends, and closes it. The protocol is rec's ALPN, http/1.1 where that is no
// name; so a plain connection whose record says h2 is served by prior
// knowledge (RFC 9113, section 3.3). It returns when the connection and its
// handlers are over, also one that a handler has hijacked and closed. On a
// closed Server it closes conn at once.
func (s *Server) ServeConn(conn net.Conn, rec *netlog.ConnectionRecord) {
	c := newServedConn(s, conn, rec)
	if !s.add(c) {
		c.Close()
		return
	}
	defer s.remove(c)
	defer c.Close()
	if c.protocol == protoH2 {
		s.http2(c).serve(c)
		return
	}
	serveHTTP1(s.h1, c)
}

// http2 is what c is to be served by, with the limit of now.
func (s *Server) http2(c *servedConn) *http2Server {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.h2 == nil {
		s.h2 = newHTTP2Server(s, s.limit)
	}
	c.streams = s.limit
	return s.h2
}

// SetMaxConcurrentStreams changes the limit in flight. New connections begin with
// it; open ones state it in a further SETTINGS, but never more than they began
// with, which is what net/http keeps to. A client that exceeds a limit which was
// lowered is not refused.
func (s *Server) SetMaxConcurrentStreams(n int) {
	open := make(map[*servedConn]int)
	s.mu.Lock()
	s.limit, s.h2 = n, nil
	for c := range s.conns {
		if c.streams > 0 {
			open[c] = min(n, c.streams)
		}
	}
	s.mu.Unlock()
	for c, limit := range open {
		setting := http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: uint32(limit)}
		c.tap.Control().SendSettings(setting) // an error is that it is over
	}
}

func (s *Server) add(c *servedConn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.conns[c] = struct{}{}
	return true
}

func (s *Server) remove(c *servedConn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
	s.checkIdle()
}

// checkIdle is called with mu held whenever closed or a map has changed.
func (s *Server) checkIdle() {
	if !s.closed || len(s.conns) > 0 || len(s.running) > 0 {
		return
	}
	select {
	case <-s.idle:
	default:
		close(s.idle)
	}
}

// Close cancels the contexts of all requests, closes all connections, also
// hijacked ones, and waits for the handlers until ctx is done; then its error
// names the requests that still run. It may be called several times; each call
// waits anew. Where net/http has answered a request on http/1.1 before all of
// it came, Close takes up to half a second.
func (s *Server) Close(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	conns := make([]*servedConn, 0, len(s.conns))
	for c := range s.conns {
		conns = append(conns, c)
	}
	s.checkIdle()
	s.mu.Unlock()

	s.cancel()
	for _, c := range conns {
		// Each ends within closeGrace, and ServeConn, which is waited for,
		// does not return before its connection is closed.
		go c.Close()
	}
	select {
	case <-s.idle:
		return nil
	default:
	}
	select {
	case <-s.idle:
		return nil
	case <-ctx.Done():
		return s.stillRunning()
	}
}
