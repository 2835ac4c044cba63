package wire

import (
	"context"
	"errors"
	"net"
	"net/http"
)

// newHTTP1Server makes the server that serves HTTP/1.1 of s. It never listens:
// each connection is a listener of its own, so that its context is the base
// context and no goroutine has to accept.
func newHTTP1Server(s *Server) *http.Server {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &http.Server{
		Handler:                      http.HandlerFunc(serveHTTP1Request),
		ErrorLog:                     s.cfg.ErrorLog,
		Protocols:                    protocols,
		DisableGeneralOptionsHandler: true,
		BaseContext: func(l net.Listener) context.Context {
			return withConn(s.ctx, l.(*listener).conn)
		},
		ConnState: func(conn net.Conn, state http.ConnState) {
			c := conn.(*servedConn)
			switch state {
			case http.StateHijacked:
				c.hijacked.Store(true)
				close(c.left)
			case http.StateClosed:
				close(c.left)
			}
		},
	}
}

// serveHTTP1Request keeps from the handler the beginning of a connection whose
// client speaks HTTP/2, which net/http lets pass (RFC 9113, section 3.4).
func serveHTTP1Request(w http.ResponseWriter, r *http.Request) {
	if r.Method == "PRI" && r.ProtoMajor == 2 {
		w.Header().Set("Connection", "close")
		http.Error(w, "HTTP/2 is not spoken on this connection", http.StatusBadRequest)
		return
	}
	serveRequest(w, r)
}

// serveHTTP1 returns when c is closed, its last handler has returned, and so has
// net/http, which lingers for half a second where it has answered before the
// whole request came.
func serveHTTP1(srv *http.Server, c *servedConn) {
	_ = srv.Serve(&listener{conn: c})
	c.end()
}

// listener accepts one connection, and then waits until it is over.
type listener struct {
	conn     *servedConn
	accepted bool
}

var errOver = errors.New("wire: server: connection is over")

func (l *listener) Accept() (net.Conn, error) {
	if !l.accepted {
		l.accepted = true
		return l.conn, nil
	}
	<-l.conn.left
	<-l.conn.closed
	return nil, errOver
}

func (l *listener) Close() error   { return nil }
func (l *listener) Addr() net.Addr { return l.conn.LocalAddr() }
