package mitm

import (
	"context"
	"errors"
	"fmt"
	"net"

	"example.com/wiretest/netlog"
	"example.com/wiretest/netlog/wire"
)

// dialSecure opens a connection for the pool of those with TLS.
func (p *Proxy) dialSecure(ctx context.Context, _ string) (*wire.ClientConn, error) {
	r := routeOf(ctx)
	if r.rule.upstream.HTTP3 == nil {
		return p.dialTLS(ctx, r)
	}
	return p.dialHTTP3(ctx, r)
}

// dialTLS opens one over TCP.
func (p *Proxy) dialTLS(ctx context.Context, r route) (*wire.ClientConn, error) {
	cfg, err := p.toOrigin(r)
	if err != nil {
		return nil, fmt.Errorf("TLS with %v: %w", r.target, err)
	}
	conn, rec, err := p.dial(ctx, r)
	if err != nil {
		return nil, err
	}
	fault := r.rule.originFaults.next()
	if wire.Pause(ctx, fault.HandshakeDelay) != nil {
		conn.Close() // and the handshake says so
	}
	secured, err := wire.HandshakeClient(ctx, fault.under(conn, rec), cfg, rec)
	if err != nil {
		p.tellTLSFailure(rec, err)
		return nil, fmt.Errorf("TLS with %v: %w", r.target, bare(errors.Unwrap(err))) // without "wire: TLS handshake"
	}
	return wire.NewClientConn(secured, r.rule.speaks(rec))
}

// dialPlain opens a connection for the pool of those without TLS.
func (p *Proxy) dialPlain(ctx context.Context, _ string) (*wire.ClientConn, error) {
	r := routeOf(ctx)
	conn, rec, err := p.dial(ctx, r)
	if err != nil {
		return nil, err
	}
	rec.Update(func(c *netlog.Connection) { c.ALPN = netlog.NoALPN })
	return wire.NewClientConn(conn, r.rule.speaks(rec))
}

func (one *policy) speaks(rec *netlog.ConnectionRecord) wire.ClientConfig {
	return wire.ClientConfig{
		Record:       rec,
		MaxStreams:   int(one.originLimit.Load()),
		Speak:        one.upstream.Speak,
		StreamWindow: one.upstream.StreamWindow,
		ConnWindow:   one.upstream.ConnWindow,
	}
}

// dial opens a connection to an origin and its record, which it closes if it
// fails.
func (p *Proxy) dial(ctx context.Context, r route) (net.Conn, *netlog.ConnectionRecord, error) {
	rec := p.openUpstream(ctx, r, "tcp")
	conn, err := p.dialContext(ctx, r.target)
	if err != nil {
		err = fmt.Errorf("dial %v: %w", r.target, p.dialEnded(ctx, err))
		rec.Close(oneLine(err))
		return nil, nil, err
	}
	rec.Update(func(c *netlog.Connection) {
		c.Local, c.Remote = conn.LocalAddr().String(), conn.RemoteAddr().String()
	})
	return conn, rec, nil
}

func (p *Proxy) openUpstream(ctx context.Context, r route, network string) *netlog.ConnectionRecord {
	return p.log.Open(netlog.Connection{
		Leg:        Upstream,
		Network:    network,
		Host:       r.target.String(),
		Rule:       r.rule.name,
		OpenReason: wire.DialReason(ctx),
		Proxy:      p.viaHost(),
	})
}

// dialEnded is why a dial has failed. One that nobody waits for anymore was for
// clients, unless the proxy is closed.
func (p *Proxy) dialEnded(ctx context.Context, err error) error {
	switch {
	case ctx.Err() == nil:
		return bare(err)
	case p.ctx.Err() != nil:
		return errors.New(proxyClosed)
	}
	return errLeft
}

func (p *Proxy) dialContext(ctx context.Context, t target) (net.Conn, error) {
	if p.via != nil {
		return p.dialVia(ctx, t)
	}
	return p.dialHost(ctx, t.String())
}

// dialHost opens a connection to what is next on the way: an origin, or Via.
func (p *Proxy) dialHost(ctx context.Context, address string) (net.Conn, error) {
	switch {
	case p.dialOrigin != nil:
		return p.dialOrigin(ctx, "tcp", address)
	case p.net != nil:
		return p.net.DialContext(ctx, "tcp", address)
	}
	return new(net.Dialer).DialContext(ctx, "tcp", address)
}
