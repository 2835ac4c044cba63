package mitm

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/url"

	"example.com/wiretest/alpn"
)

// parseVia reads Config.Via; nil is none.
func parseVia(via string) (*url.URL, error) {
	if via == "" {
		return nil, nil
	}
	u, err := parseServer(via, "http", "https", "socks5")
	if err != nil {
		return nil, err
	}
	if u.User == nil {
		return u, nil
	}
	if err := validAuth(u.User, Explicit); err != nil {
		return nil, fmt.Errorf("%q: %w", u.Redacted(), err)
	}
	return u, nil
}

func (p *Proxy) viaHost() string {
	if p.via == nil {
		return ""
	}
	return p.via.Host
}

// dialVia opens a tunnel through the proxy behind this one.
func (p *Proxy) dialVia(ctx context.Context, t target) (net.Conn, error) {
	conn, err := p.dialHost(ctx, p.via.Host)
	if err != nil {
		return nil, p.inVia(bare(err))
	}
	next := &asked{scheme: p.via.Scheme, auth: p.via.User, beside: p.beside}
	if next.scheme == "https" {
		next.tls = alpn.Prefer(alpn.HTTP11).Client(&tls.Config{RootCAs: p.upstreamTLS.RootCAs, ServerName: p.via.Hostname()})
	}
	tunnel, err := next.ask(ctx, conn, t.String())
	if err != nil {
		return nil, p.inVia(err)
	}
	return tunnel, nil
}

// inVia keeps the reason whole, which bare would cut to what is at its bottom.
func (p *Proxy) inVia(err error) error {
	return &worded{fmt.Sprintf("via %s: %s", p.via.Redacted(), oneLine(err)), nil}
}
