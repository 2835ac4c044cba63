package wire

import (
	"math"
	"net"
	"net/http"

	"golang.org/x/net/http2"
)

// http2Server serves HTTP/2 of a Server.
type http2Server struct {
	srv  *http2.Server
	base *http.Server
}

// newHTTP2Server binds an http2.Server to an http.Server, which gives it a
// pool of channels of its own: those of the pool that it would else share with
// all others must not cross from one synctest bubble to another.
func newHTTP2Server(s *Server, limit int) *http2Server {
	h := &http2Server{
		base: &http.Server{ErrorLog: s.cfg.ErrorLog},
		srv: &http2.Server{
			MaxConcurrentStreams:         uint32(limit),
			MaxUploadBufferPerStream:     window(s.cfg.StreamWindow),
			MaxUploadBufferPerConnection: window(s.cfg.ConnWindow),
		},
	}
	if err := http2.ConfigureServer(h.base, h.srv); err != nil {
		panic("wire: server: " + err.Error()) // it has no setting that could be wrong
	}
	return h
}

// window is n within what the protocol allows (RFC 9113, section 6.9.1).
func window(n int) int32 { return int32(max(0, min(n, math.MaxInt32))) }

// serve returns when c is over and its handlers have returned.
func (h *http2Server) serve(c *servedConn) {
	var conn net.Conn = c
	if c.server.cfg.Speak == protoH2 {
		c.spoken = make(chan struct{})
	}
	if c.tls != nil {
		conn = secured{c}
	}
	h.srv.ServeConn(conn, &http2.ServeConnOpts{
		Context:    withConn(c.server.ctx, c),
		BaseConfig: h.base, // else Go 1.26 logs to the standard logger
		Handler:    http.HandlerFunc(serveRequest),
	})
	c.Close()
	c.end()
}
