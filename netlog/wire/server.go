package wire

import (
	"context"
	"log"
	"net"
	"net/http"

	"example.com/wiretest/netlog"
)

// ServerConfig says how a Server serves.
type ServerConfig struct {
	Handler              http.Handler
	MaxConcurrentStreams int         // SETTINGS_MAX_CONCURRENT_STREAMS; 0 is 256
	ErrorLog             *log.Logger // nil discards
}

// Server serves HTTP/1.1 and HTTP/2 on connections that it is given, each
// behind a Tap. Its owner accepts and does the TLS handshake.
type Server struct{}

// NewServer returns a Server. Close it.
func NewServer(cfg ServerConfig) *Server { panic("to be written") }

// ServeConn serves conn, plain or a *tls.Conn after its handshake, until it
// ends, and closes it. The protocol is rec's ALPN, http/1.1 where that is no
// name. It returns when the connection is over, also one that a handler has
// hijacked and closed.
func (s *Server) ServeConn(conn net.Conn, rec *netlog.ConnectionRecord) { panic("to be written") }

// Close cancels the contexts of all requests, closes all connections and waits
// for the handlers until ctx is done; then its error names the requests that
// still run.
func (s *Server) Close(ctx context.Context) error { panic("to be written") }

// RequestOf is the record of the request that a handler serves; nil outside of
// a Server's handlers.
func RequestOf(r *http.Request) *netlog.RequestRecord { panic("to be written") }

// ConnectionOf is the record of the connection that a handler serves.
func ConnectionOf(r *http.Request) *netlog.ConnectionRecord { panic("to be written") }
