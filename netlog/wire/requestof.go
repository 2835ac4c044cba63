package wire

import (
	"context"
	"net/http"
	"runtime/debug"

	"example.com/wiretest/netlog"
)

type contextKey int

const (
	connKey       contextKey = iota // *servedConn
	requestKey                      // *Stream
	dialReasonKey                   // string
	foreignKey                      // *Foreign
)

func withConn(ctx context.Context, c *servedConn) context.Context {
	return context.WithValue(ctx, connKey, c)
}

func connOf(r *http.Request) *servedConn {
	c, _ := r.Context().Value(connKey).(*servedConn)
	return c
}

// serveRequest calls the Server's handler.
func serveRequest(w http.ResponseWriter, r *http.Request) {
	c := connOf(r)
	call := c.server.begin(c, r)
	if call == nil {
		panic(http.ErrAbortHandler)
	}
	defer c.server.finish(c, call)
	defer c.server.calm(call)
	r, s := c.attach(r)
	if s.refused() {
		panic(http.ErrAbortHandler)
	}
	c.server.handlerFor(s.nth(), r).ServeHTTP(w, r)
}

// calm logs a panic of the handler, as net/http would, but while the call is
// still waited for: a log is often a test's, which must not be written to when
// the test has ended. What goes on to net/http is the panic that it keeps
// quiet about.
func (s *Server) calm(call *running) {
	cause := recover()
	if cause == nil {
		return
	}
	if cause != http.ErrAbortHandler {
		s.cfg.ErrorLog.Printf("wire: server: panic serving %s: %v\n%s", call, cause, debug.Stack())
	}
	panic(http.ErrAbortHandler)
}

// attach ties r to its record. On HTTP/1.1 that is by the connection, because
// a copy of r would not get the trailers that nobody declared.
func (c *servedConn) attach(r *http.Request) (*http.Request, *Stream) {
	if c.protocol == protoH2 {
		id, ok := streamMark(r)
		if !ok {
			return r, nil
		}
		s := c.tap.claim(id)
		return r.WithContext(context.WithValue(r.Context(), requestKey, s)), s
	}
	r.TLS = c.tls
	s := c.tap.unanswered()
	c.server.mu.Lock()
	c.current = s
	c.server.mu.Unlock()
	return r, s
}

// RequestOf is the record of the request that a handler serves; nil outside of
// a Server's handlers. On HTTP/1.1 it is good until the handler returns.
func RequestOf(r *http.Request) *netlog.RequestRecord {
	if s := StreamOf(r); s != nil {
		return s.rec
	}
	if f := foreignOf(r); f != nil {
		return f.Request
	}
	return nil
}

// StreamOf bends the protocol of the request that a handler serves; nil where
// RequestOf is, but not for CONNECT, and of a Foreign request.
func StreamOf(r *http.Request) *Stream {
	if s, ok := r.Context().Value(requestKey).(*Stream); ok {
		return s
	}
	c := connOf(r)
	if c == nil {
		return nil
	}
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	return c.current
}

// ControlOf bends the protocol of the connection that a handler serves; nil
// outside of a Server's handlers and for a Foreign request.
func ControlOf(r *http.Request) *Control {
	c := connOf(r)
	if c == nil {
		return nil
	}
	return c.tap.Control()
}

// IsHijacked reports whether the handler of r has taken the connection, by
// http.Hijacker.
func IsHijacked(r *http.Request) bool {
	c := connOf(r)
	return c != nil && c.hijacked.Load()
}

// ConnectionOf is the record of the connection that a handler serves; nil
// outside of a Server's handlers.
func ConnectionOf(r *http.Request) *netlog.ConnectionRecord {
	if c := connOf(r); c != nil {
		return c.rec
	}
	if f := foreignOf(r); f != nil {
		return f.Connection
	}
	return nil
}
