package mitm

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"

	"example.com/wiretest/netlog"
	"example.com/wiretest/netlog/wire"
)

// HTTP3 has the clients of mode Reverse served over QUIC too. Package mitm/h3
// makes one; it is an interface here so that who does without compiles no QUIC.
type HTTP3 interface {
	// Start serves on sockets, which it owns from then on, also if it fails. What
	// it returns is called once, and ends all connections within ctx.
	Start(side HTTP3Side, sockets []net.PacketConn) (end func(context.Context) error, err error)
}

// HTTP3Side is the proxy's side of Config.HTTP3.
type HTTP3Side struct {
	Wire                                           *wire.Server // answers the requests
	TLS                                            *tls.Config  // without protocols
	MaxConcurrentStreams, StreamWindow, ConnWindow int          // as in Leg
	// Open makes the record of a connection whose first packet has come.
	Open func(local, remote net.Addr) *netlog.ConnectionRecord
	// Closed is told when a connection is over.
	Closed func(*netlog.ConnectionRecord)
}

func (c *Config) validateHTTP3(mode Mode) error {
	if c.HTTP3 == nil {
		return nil
	}
	shown := c.Downstream.TLS
	switch {
	case wire.IsTypedNil(c.HTTP3):
		return fmt.Errorf("Config.HTTP3: typed nil %T", c.HTTP3)
	case !mode.has(Reverse):
		return fmt.Errorf("Config.HTTP3: only Reverse has it, and Mode is %v", mode)
	case c.Downstream.Mirror:
		return errors.New("Config.HTTP3: Mirror is for TLS over TCP")
	case shown != nil && shown.MaxVersion != 0 && shown.MaxVersion < tls.VersionTLS13:
		return fmt.Errorf("Config.HTTP3: Downstream.TLS.MaxVersion is %s: QUIC needs TLS 1.3", tls.VersionName(shown.MaxVersion))
	}
	return nil
}

// startHTTP3 serves what comes over QUIC by the rule for the origin.
func (p *Proxy) startHTTP3(c *Config, sockets []net.PacketConn) error {
	if c.HTTP3 == nil {
		return nil
	}
	rule := p.decide(p.origin.target)
	end, err := c.HTTP3.Start(HTTP3Side{
		Wire:                 rule.server,
		TLS:                  p.quicTLS(rule),
		MaxConcurrentStreams: rule.downstreamLeg.MaxConcurrentStreams,
		StreamWindow:         rule.downstreamLeg.StreamWindow,
		ConnWindow:           rule.downstreamLeg.ConnWindow,
		Open:                 p.openHTTP3,
		Closed:               p.closedHTTP3,
	}, sockets)
	if err != nil {
		return fmt.Errorf("Config.HTTP3: %w", err)
	}
	p.endHTTP3 = end
	return nil
}

// quicTLS is the rule's without ALPN, whose policy is about TCP alone.
func (p *Proxy) quicTLS(rule *policy) *tls.Config {
	cfg := new(tls.Config)
	if rule.downstreamLeg.TLS != nil {
		cfg = rule.downstreamLeg.TLS.Clone()
	}
	cfg.MinVersion = tls.VersionTLS13
	if len(cfg.Certificates) == 0 && cfg.GetCertificate == nil {
		cfg.GetCertificate = func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			name := hello.ServerName
			if name == "" {
				name = hostOf(p.Addr)
			}
			return (&show{rule: rule}).leaf(p.ca, name)
		}
	}
	return cfg
}

// openHTTP3 makes a client of a connection over QUIC. Its requests are all for
// the origin.
func (p *Proxy) openHTTP3(local, remote net.Addr) *netlog.ConnectionRecord {
	rec := p.log.Open(netlog.Connection{Leg: Downstream, Network: "udp", Local: local.String(), Remote: remote.String()})
	c := &client{proxy: p, mode: Reverse, conn: &quicEnds{local, remote}, rec: rec, id: rec.Connection().ID}
	c.goTo(p.origin)
	p.add(c)
	return rec
}

func (p *Proxy) closedHTTP3(rec *netlog.ConnectionRecord) {
	if c := p.clientOf(rec); c != nil {
		c.end("closed")
	}
}

// quicEnds stands for a client's connection over QUIC, which is not the proxy's to
// touch.
type quicEnds struct{ local, remote net.Addr }

func (q *quicEnds) Read([]byte) (int, error)         { return 0, net.ErrClosed }
func (q *quicEnds) Write([]byte) (int, error)        { return 0, net.ErrClosed }
func (q *quicEnds) Close() error                     { return nil }
func (q *quicEnds) LocalAddr() net.Addr              { return q.local }
func (q *quicEnds) RemoteAddr() net.Addr             { return q.remote }
func (q *quicEnds) SetDeadline(time.Time) error      { return nil }
func (q *quicEnds) SetReadDeadline(time.Time) error  { return nil }
func (q *quicEnds) SetWriteDeadline(time.Time) error { return nil }
