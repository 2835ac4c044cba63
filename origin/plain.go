package origin

import (
	"context"
	"errors"
	"net"
	"os"
	"time"

	"golang.org/x/net/http2"

	"example.com/wiretest/alpn"
	"example.com/wiretest/netlog"
)

// greet waits for the first bytes of a connection without TLS, and sets in rec
// what they say: HTTP/2 by prior knowledge (RFC 9113, section 3.3), if it is
// accepted, or HTTP/1.1. A connection that ends meanwhile is left to what serves
// it, which sees that too; nil is one that has rested too long.
func (s *Server) greet(conn net.Conn, rec *netlog.ConnectionRecord) net.Conn {
	if s.idler != nil {
		conn.SetReadDeadline(time.Now().Add(s.idler.after))
	}
	stop := context.AfterFunc(s.ctx, func() { conn.Close() })
	defer stop()
	first, err := readGreeting(conn)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		s.idler.endSilent(conn, rec)
		return nil
	}
	conn.SetReadDeadline(time.Time{})
	proto := netlog.NoALPN
	if string(first) == http2.ClientPreface && s.accepts(alpn.H2) {
		proto = alpn.H2
	}
	rec.Update(func(c *netlog.Connection) { c.ALPN = proto })
	return &greeted{Conn: conn, first: first}
}

// readGreeting reads no further than it takes to tell HTTP/2 by its first bytes.
func readGreeting(conn net.Conn) ([]byte, error) {
	first := make([]byte, len(http2.ClientPreface))
	n := 0
	for n < len(first) && string(first[:n]) == http2.ClientPreface[:n] {
		more, err := conn.Read(first[n:])
		n += more
		if err != nil {
			return first[:n], err
		}
	}
	return first[:n], nil
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
