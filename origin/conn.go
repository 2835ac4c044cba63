package origin

import (
	"context"
	"net"
	"time"

	"example.com/wiretest/netlog"
	"example.com/wiretest/netlog/wire"
)

// handshakeBound ends a handshake that does not get on, as with a client that
// never speaks.
const handshakeBound = 30 * time.Second

// accept serves what l accepts until l or the origin is closed. Start starts
// it, Close waits for it and for the connections that it starts.
func (s *Server) accept(l net.Listener) {
	wire.Accept(s.ctx, l, func(conn net.Conn) {
		rec := s.record(conn) // here, so that the order in the Log is that of accepting
		n := int(s.accepted.Add(1))
		s.running.Go(func() { s.serve(n, conn, rec) })
	})
}

func (s *Server) record(conn net.Conn) *netlog.ConnectionRecord {
	return s.log.Open(netlog.Connection{
		Network: "tcp",
		Host:    s.hostOf(conn.LocalAddr()),
		Local:   conn.LocalAddr().String(),
		Remote:  conn.RemoteAddr().String(),
	})
}

// serve owns conn, the nth.
func (s *Server) serve(n int, conn net.Conn, rec *netlog.ConnectionRecord) {
	s.setOpen(rec, true)
	defer s.setOpen(rec, false)
	if s.misuse(n, conn, rec) {
		return
	}
	spoken := s.begin(conn, rec)
	if spoken == nil {
		return // it was recorded, and conn is closed
	}
	s.wire.ServeConn(spoken, rec)
	if s.idler != nil {
		s.idler.forget(rec)
	}
}

// begin does what comes before HTTP. It returns nil where that has ended conn.
func (s *Server) begin(conn net.Conn, rec *netlog.ConnectionRecord) net.Conn {
	if s.plain {
		return s.greet(conn, rec)
	}
	ctx, cancel := context.WithTimeout(s.ctx, handshakeBound)
	defer cancel()
	secured, err := wire.HandshakeServer(ctx, conn, s.tls, rec)
	s.nameHost(rec)
	if err != nil {
		return nil
	}
	return secured
}

// hostOf is what a connection is for as long as no name was asked for. In a
// Net the address of a connection can be that of a socket behind the name.
func (s *Server) hostOf(local net.Addr) string {
	if s.access.InNet {
		return s.Addr
	}
	return local.String()
}

func (s *Server) nameHost(rec *netlog.ConnectionRecord) {
	_, port, _ := net.SplitHostPort(s.Addr) // a listener's own address
	rec.Update(func(c *netlog.Connection) {
		if c.ServerName != "" {
			c.Host = net.JoinHostPort(c.ServerName, port)
		}
	})
}

func (s *Server) setOpen(rec *netlog.ConnectionRecord, open bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if open {
		s.open[rec] = struct{}{}
		return
	}
	delete(s.open, rec)
}
