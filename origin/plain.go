package origin

import (
	"context"
	"net"
	"time"

	"golang.org/x/net/http2"

	"example.com/wiretest/alpn"
	"example.com/wiretest/netlog"
)

// greet waits for the first bytes of a connection without TLS, and sets in rec
// what they say: HTTP/2 by prior knowledge (RFC 9113, section 3.3), if it is
// accepted, or HTTP/1.1.
func (s *Server) greet(ctx context.Context, conn net.Conn, rec *netlog.ConnectionRecord) (net.Conn, error) {
	if deadline, ok := ctx.Deadline(); ok {
		conn.SetReadDeadline(deadline)
	}
	stop := context.AfterFunc(s.ctx, func() { conn.Close() })
	defer stop()
	first := make([]byte, len(http2.ClientPreface))
	n := 0
	for n < len(first) && string(first[:n]) == http2.ClientPreface[:n] {
		more, err := conn.Read(first[n:])
		n += more
		if err != nil {
			conn.Close()
			rec.Close("the client said nothing: " + err.Error())
			return nil, err
		}
	}
	conn.SetReadDeadline(time.Time{})
	proto := netlog.NoALPN
	if string(first[:n]) == http2.ClientPreface && s.accepts(alpn.H2) {
		proto = alpn.H2
	}
	rec.Update(func(c *netlog.Connection) { c.ALPN = proto })
	return &greeted{Conn: conn, first: first[:n]}, nil
}

// greeted gives back what was read.
type greeted struct {
	net.Conn
	first []byte
}

func (g *greeted) Read(p []byte) (int, error) {
	if len(g.first) == 0 {
		return g.Conn.Read(p)
	}
	n := copy(p, g.first)
	g.first = g.first[n:]
	return n, nil
}

// NetConn is the connection below, as in tls.Conn.
func (g *greeted) NetConn() net.Conn { return g.Conn }
