package mitm

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"

	"example.com/wiretest/netlog"
	"example.com/wiretest/netlog/wire"
)

// UpstreamHTTP3 has requests go to origins over QUIC. Package mitm/h3 makes one; it
// is an interface here so that who does without compiles no QUIC.
type UpstreamHTTP3 interface {
	// Dial opens a connection, and closes the record if it fails. What it returns
	// owns all that was opened for it.
	Dial(ctx context.Context, to HTTP3Origin) (*wire.ClientConn, error)
}

// HTTP3Origin is an origin for UpstreamHTTP3.
type HTTP3Origin struct {
	Address                                        string      // host:port
	Net                                            Net         // from where it is dialled; nil is loopback
	TLS                                            *tls.Config // without protocols
	Record                                         *netlog.ConnectionRecord
	MaxConcurrentStreams, StreamWindow, ConnWindow int // as in Leg
}

// validateHTTP3 is about the leg to origins.
func (l *Leg) validateHTTP3() error {
	switch {
	case l.HTTP3 == nil:
		return nil
	case wire.IsTypedNil(l.HTTP3):
		return fmt.Errorf("HTTP3: typed nil %T", l.HTTP3)
	case l.Speak != "":
		return fmt.Errorf("HTTP3: Speak is for TLS over TCP, and is %q", l.Speak)
	case len(l.ConnectionFaults) > 0:
		return errors.New("HTTP3: ConnectionFaults are for TLS over TCP")
	case l.MaxConns != 0 && l.ALPN.IsZero():
		return fmt.Errorf("HTTP3: MaxConns is for http/1.1 and %d, but ALPN says of nothing that it may be tried over TCP", l.MaxConns)
	case l.TLS != nil && l.TLS.MaxVersion != 0 && l.TLS.MaxVersion < tls.VersionTLS13:
		return fmt.Errorf("HTTP3: TLS.MaxVersion is %s: QUIC needs TLS 1.3", tls.VersionName(l.TLS.MaxVersion))
	}
	return nil
}

// validateHTTP3 is about the rule with what Config has beside it.
func (r *Rule) validateHTTP3(c *Config) error {
	leg := r.Upstream.over(c.Upstream)
	if leg.HTTP3 == nil || r.Passthrough {
		return nil
	}
	switch err := leg.validateHTTP3(); {
	case err != nil:
		return fmt.Errorf("upstream leg: %w", err)
	case r.OriginFirst:
		return errors.New("upstream leg: HTTP3: OriginFirst asks over TCP")
	case r.Downstream.over(c.Downstream).Mirror:
		return errors.New("upstream leg: HTTP3: Mirror asks over TCP")
	}
	return c.validateUpstreamDial()
}

func (c *Config) validateUpstreamHTTP3() error {
	if c.Upstream.HTTP3 == nil {
		return nil
	}
	if o, err := parseOrigin(c.Origin); err == nil && o.scheme == "http" {
		return fmt.Errorf("upstream leg: HTTP3: Config.Origin is %q: QUIC is never without TLS", c.Origin)
	}
	return new(Rule).validateHTTP3(c)
}

// validateUpstreamDial finds ways to origins that are for TCP alone.
func (c *Config) validateUpstreamDial() error {
	switch {
	case c.Via != "":
		return errors.New("upstream leg: HTTP3: Config.Via is for TCP")
	case c.Dial != nil:
		return errors.New("upstream leg: HTTP3: Config.Dial is for TCP")
	}
	return nil
}

// dialHTTP3 opens a connection over QUIC, or where that fails over TCP, if the rule
// has something to offer there. What failed once is not tried again.
func (p *Proxy) dialHTTP3(ctx context.Context, r route) (*wire.ClientConn, error) {
	only := r.rule.upstream.ALPN.IsZero()
	switch {
	case r.mirrored && only: // for an upgrade
		return nil, errors.New("HTTP/3 has no Upgrade, and Upstream.ALPN says of nothing that it may be tried over TCP")
	case r.mirrored, p.withoutQUIC(r.target):
		return p.dialTLS(ctx, r)
	}
	conn, err := p.dialQUIC(ctx, r)
	if err == nil || only || ctx.Err() != nil {
		return conn, err
	}
	p.noteWithoutQUIC(r.target)
	return p.dialTLS(ctx, r)
}

func (p *Proxy) dialQUIC(ctx context.Context, r route) (*wire.ClientConn, error) {
	leg := r.rule.upstream
	cfg := r.rule.upstreamTLS.Clone()
	cfg.ServerName, cfg.MinVersion = r.nameFor(cfg), tls.VersionTLS13
	rec := p.openUpstream(ctx, r, "udp")
	ctx, stop := p.saying(ctx)
	defer stop()
	conn, err := leg.HTTP3.Dial(ctx, HTTP3Origin{
		Address:              r.target.String(),
		Net:                  p.net,
		TLS:                  cfg,
		Record:               rec,
		MaxConcurrentStreams: int(r.rule.originLimit.Load()),
		StreamWindow:         leg.StreamWindow,
		ConnWindow:           leg.ConnWindow,
	})
	if err != nil {
		p.tellTLSFailure(rec, err)
		return nil, fmt.Errorf("QUIC with %v: %w", r.target, err)
	}
	return conn, nil
}

// saying is a dial's ctx whose cause is in the words of dialEnded.
func (p *Proxy) saying(ctx context.Context) (_ context.Context, stop func()) {
	own, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	told := context.AfterFunc(ctx, func() { cancel(p.dialEnded(ctx, nil)) })
	return own, func() {
		told()
		cancel(nil)
	}
}

func (p *Proxy) withoutQUIC(t target) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.noQUIC[t]
}

func (p *Proxy) noteWithoutQUIC(t target) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.noQUIC[t] = true
}
