package origin

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"testing"

	"github.com/quic-go/quic-go/http3"

	"example.com/wiretest/netlog"
	"example.com/wiretest/netlog/h3"
)

// quicTLS is the server's side of QUIC's handshakes.
func (c *Config) quicTLS() *tls.Config {
	own := c.baseTLS()
	own.MinVersion = tls.VersionTLS13
	return own
}

// serveQUIC begins to serve on the sockets, which it owns.
func (s *Server) serveQUIC(c *Config, sockets []net.PacketConn) error {
	s.quicTLS = c.quicTLS()
	s.h3 = h3.NewServer(h3.ServerConfig{
		Wire:                 s.wire,
		TLS:                  s.quicTLS,
		QUIC:                 c.HTTP3.QUIC,
		MaxConcurrentStreams: c.MaxConcurrentStreams,
		StreamWindow:         c.StreamWindow,
		ConnWindow:           c.ConnWindow,
		IdleTimeout:          c.IdleTimeout,
		Open:                 s.recordQUIC,
		Handshaken:           s.nameHost,
		ErrorLog:             c.ErrorLog,
		Qlog:                 s.qlog,
	})
	for i, pc := range sockets {
		if err := s.h3.Serve(pc); err != nil {
			for _, rest := range sockets[i+1:] {
				rest.Close()
			}
			return fmt.Errorf("Config.HTTP3: %w", err)
		}
	}
	return nil
}

func (s *Server) recordQUIC(local, remote net.Addr) *netlog.ConnectionRecord {
	return s.log.Open(netlog.Connection{Network: "udp", Host: s.hostOf(local), Local: local.String(), Remote: remote.String()})
}

// HTTP3Transport is a new HTTP/3 client that connects from a host of Config.Net,
// or by a socket of loopback if from is nil. It trusts CA; its other fields are
// http3's zero values, and the caller may change all of them but Dial: to resume
// sessions, and to send http3.MethodGet0RTT in 0-RTT, set a ClientSessionCache in
// TLSClientConfig; http3 sends keep-alives every 10 seconds unless QUICConfig says
// otherwise. Close of the Server closes all of its connections. package
// netlog/h3's Browser makes it one for pageload.
//
// A transport that cannot reach the origin fails when it dials.
func (s *Server) HTTP3Transport(from Net) *http3.Transport {
	d := new(h3.Dialer)
	if err := s.access.Check(from, "HTTP3Transport", "HTTP3Transport"); err != nil {
		d.ListenPacket = func(context.Context, string, string) (net.PacketConn, error) { return nil, err }
	} else if from != nil {
		d.ListenPacket = from.ListenPacket
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil {
		d.Close()
	} else {
		s.dialers = append(s.dialers, d)
	}
	return &http3.Transport{TLSClientConfig: s.ca.ClientTLS(), Dial: d.Dial}
}

// closeQUIC closes the clients given out, and then the server.
func (s *Server) closeQUIC(ctx context.Context) error {
	s.mu.Lock()
	dialers := s.dialers
	s.dialers = nil
	s.mu.Unlock()
	for _, d := range dialers {
		d.Close()
	}
	if s.h3 == nil {
		return nil
	}
	return s.h3.Close(ctx)
}

// keepQlog has the qlog of a test's connections written when it fails.
func keepQlog(tb testing.TB, q *h3.Qlog) {
	err := q.Save(tb.ArtifactDir())
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // a folder that go test does not keep may be gone already
		tb.Logf("origin: keep the qlog of the failed test: %v", err)
	}
}
