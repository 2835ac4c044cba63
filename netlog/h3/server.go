package h3

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"maps"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
	"github.com/quic-go/quic-go/qlogwriter"

	"example.com/wiretest/netlog"
	"example.com/wiretest/netlog/wire"
)

// ServerConfig says how a Server serves. Wire, TLS and Open have to be set.
type ServerConfig struct {
	// Wire answers the requests. Close it after the Server, or beside it.
	Wire *wire.Server
	// TLS is asked anew for each handshake; NextProtos is of no account.
	TLS *tls.Config
	// QUIC is cloned; nil is quic-go's own, with 0-RTT allowed. What the fields
	// below say goes before it.
	QUIC *quic.Config
	// MaxConcurrentStreams is how many requests a client may have open; 0 leaves
	// it to QUIC.
	MaxConcurrentStreams int
	// StreamWindow and ConnWindow are how much a client may upload before it has
	// to wait for leave, in bytes; 0 leaves it to QUIC.
	StreamWindow, ConnWindow int
	// IdleTimeout is after how long without a request a connection is closed; 0
	// is never.
	IdleTimeout time.Duration
	// Open makes the record of a connection whose first packet has come.
	Open func(local, remote net.Addr) *netlog.ConnectionRecord
	// Closed, if not nil, is called when a connection is over and its record closed.
	Closed func(*netlog.ConnectionRecord)
	// Handshaken, if not nil, is called when a handshake is over, well or not.
	Handshaken func(*netlog.ConnectionRecord)
	// ErrorLog gets what quic-go complains about; nil discards.
	ErrorLog *log.Logger
	// Qlog keeps the events of all connections; nil keeps none.
	Qlog *Qlog
}

// Server serves HTTP/3 on sockets that it is given.
type Server struct {
	cfg  ServerConfig
	quic *quic.Config

	running sync.WaitGroup // of what track starts, and what that starts

	mu      sync.Mutex
	closed  bool                 // guarded by mu
	sockets []*socket            // guarded by mu
	conns   map[*servedConn]bool // with a QUIC connection; guarded by mu
}

// socket is one to accept on. Its listener is closed first, so that no connection
// comes while those that there are end; then close.
type socket struct {
	listener  *quic.EarlyListener
	transport *quic.Transport
	conn      net.PacketConn
}

func (s *socket) close() {
	s.transport.Close()
	s.conn.Close()
}

// NewServer returns a Server. Close it.
func NewServer(cfg ServerConfig) *Server {
	q := &quic.Config{Allow0RTT: true}
	if cfg.QUIC != nil {
		q = cfg.QUIC.Clone()
	}
	q.EnableStreamResetPartialDelivery = true // so that a reset can come behind a part of an answer
	if cfg.MaxConcurrentStreams > 0 {
		q.MaxIncomingStreams = int64(cfg.MaxConcurrentStreams)
	}
	setWindows(q, cfg.StreamWindow, cfg.ConnWindow)
	s := &Server{cfg: cfg, quic: q, conns: make(map[*servedConn]bool)}
	q.Tracer = func(ctx context.Context, _ bool, id quic.ConnectionID) qlogwriter.Trace {
		c := ctx.Value(connKey{}).(*servedConn)
		c.tally.file = cfg.Qlog.open("server", id)
		return c.tally
	}
	return s
}

// Serve begins to serve on pc, which it owns from then on, also if it fails. A
// packet size above 1,280 is refused on what is no socket of the system.
func (s *Server) Serve(pc net.PacketConn) error {
	if err := checkPacketSize(pc, s.quic); err != nil {
		pc.Close()
		return fmt.Errorf("h3: %w", err)
	}
	tr := &quic.Transport{Conn: pc, ConnContext: s.accepting(pc)}
	ln, err := tr.ListenEarly(&tls.Config{GetConfigForClient: s.tlsFor, NextProtos: []string{protocol}}, s.quic)
	if err != nil {
		tr.Close()
		pc.Close()
		return fmt.Errorf("h3: %w", err)
	}
	one := &socket{ln, tr, pc}
	if !s.begin(one) {
		ln.Close()
		one.close()
		return errors.New("h3: the Server is closed")
	}
	return nil
}

// begin accepts connections on the socket, which from then on is Close's to close,
// unless that has begun.
func (s *Server) begin(one *socket) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.sockets = append(s.sockets, one)
	s.running.Go(func() { s.accept(one.listener) })
	return true
}

func (s *Server) add(c *servedConn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.conns[c] = true
	return true
}

func (s *Server) remove(c *servedConn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
}

// track starts a goroutine that Close waits for, unless it has begun.
func (s *Server) track(f func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.running.Go(f)
	return true
}

// accept ends with its listener.
func (s *Server) accept(ln *quic.EarlyListener) {
	for {
		conn, err := ln.Accept(context.Background())
		if err != nil {
			return
		}
		c := conn.Context().Value(connKey{}).(*servedConn)
		if !s.track(func() { c.serve(conn) }) {
			conn.CloseWithError(quic.ApplicationErrorCode(http3.ErrCodeNoError), "")
		}
	}
}

type connKey struct{}

// accepting makes the record of each connection when its first packet comes,
// and closes it when quic-go says that the connection is over.
func (s *Server) accepting(pc net.PacketConn) func(context.Context, *quic.ClientInfo) (context.Context, error) {
	return func(ctx context.Context, info *quic.ClientInfo) (context.Context, error) {
		c := newServedConn(s, pc.LocalAddr(), info.RemoteAddr)
		if !s.track(func() {
			<-ctx.Done()
			c.over(context.Cause(ctx))
		}) {
			c.over(net.ErrClosed)
			return nil, net.ErrClosed
		}
		return context.WithValue(ctx, connKey{}, c), nil
	}
}

// tlsFor is the configuration for one handshake.
func (s *Server) tlsFor(hello *tls.ClientHelloInfo) (*tls.Config, error) {
	c := hello.Context().Value(connKey{}).(*servedConn)
	watched, done, err := wire.RecordHello(s.cfg.TLS, hello, c.rec)
	if err != nil {
		return nil, err
	}
	c.handshaken = done
	watched = watched.Clone()
	watched.NextProtos = []string{protocol}
	return watched, nil
}

// Close closes every connection by H3_NO_ERROR, the listeners and the sockets,
// and waits for the handlers until ctx is done; then its error says how many
// connections they hold.
func (s *Server) Close(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	sockets, conns := s.sockets, slices.Collect(maps.Keys(s.conns))
	s.sockets = nil
	s.mu.Unlock()
	for _, one := range sockets {
		one.listener.Close()
	}
	for _, c := range conns {
		c.close()
	}
	for _, one := range sockets {
		one.close()
	}
	if !wire.Await(ctx, &s.running) {
		return fmt.Errorf("h3: close: handlers hold connections still open: %d", s.held())
	}
	return nil
}

func (s *Server) held() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

// logger is for the few things that quic-go says by itself.
func (s *Server) logger() *slog.Logger {
	if s.cfg.ErrorLog == nil {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(slog.NewTextHandler(s.cfg.ErrorLog.Writer(), &slog.HandlerOptions{Level: slog.LevelWarn}))
}
