package wire

import (
	"net"
	"net/http"

	"example.com/wiretest/netlog"
)

// ClientConfig says what a ClientConn speaks.
type ClientConfig struct {
	Record   *netlog.ConnectionRecord // its ALPN is the protocol; http/1.1 where that is no name
	Scheme   string                   // "" is "https" over TLS, else "http"
	OnChange func()                   // called without locks when Limit changes or Done closes
}

// ClientConn speaks HTTP as a client over one connection, behind a Tap. It adds
// no header of its own: no User-Agent, no Accept-Encoding.
type ClientConn struct{}

// NewClientConn starts to speak on conn, plain or a *tls.Conn after its
// handshake.
func NewClientConn(conn net.Conn, cfg ClientConfig) (*ClientConn, error) { panic("to be written") }

// RoundTrip sends req and returns the answer as soon as its head is there.
// started, if not nil, is called once the head was sent, with the record that
// the Tap made of it.
func (c *ClientConn) RoundTrip(req *http.Request, started func(*netlog.RequestRecord)) (*http.Response, error) {
	panic("to be written")
}

// Limit is how many requests may be in flight: 1 on http/1.1; on h2 what the
// server stated, 100 before it did.
func (c *ClientConn) Limit() int { panic("to be written") }

// Protocol is "http/1.1" or "h2".
func (c *ClientConn) Protocol() string { panic("to be written") }

// Record is the connection's record.
func (c *ClientConn) Record() *netlog.ConnectionRecord { panic("to be written") }

// Done is closed when the connection takes no more requests: it was closed, it
// broke, or the server said GOAWAY or Connection: close.
func (c *ClientConn) Done() <-chan struct{} { panic("to be written") }

// Close closes the connection at once.
func (c *ClientConn) Close() error { panic("to be written") }
