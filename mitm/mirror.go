package mitm

import (
	"context"
	"crypto/tls"
	"fmt"
	"slices"

	"example.com/wiretest/alpn"
	"example.com/wiretest/netlog/wire"
)

// afterOrigin shakes hands with the origin before the client is answered. It returns
// how the client is served, with Mirror as the origin chose from its offer, and what
// else the certificate that it is shown is for.
func (c *client) afterOrigin(ctx context.Context, hello *alpn.ClientHello) (*tls.Config, []string) {
	rule := c.route.rule
	if rule.mirror {
		c.route.mirrored, c.route.offered = true, hello.ALPN
	}
	conn, err := c.proxy.asked(ctx, c.route)
	if err != nil {
		c.notMirrored.Store(&failure{err})
		return rule.downstream[""], nil
	}
	cfg, names := rule.downstream[""], []string(nil)
	if rule.mirror {
		cfg = rule.downstream[conn.Record().Connection().ALPN]
	}
	if rule.mimics {
		names = namesOf(conn.TLS())
	}
	return cfg, names
}

// asked is an h2 connection to the origin that is open, else one that the requests
// to come will use.
func (p *Proxy) asked(ctx context.Context, r route) (*wire.ClientConn, error) {
	key := r.key()
	if conn := p.lastAsked(key); conn != nil {
		return conn, nil
	}
	lease, err := p.get(ctx, r)
	if err != nil {
		return nil, err
	}
	defer lease.Release(true)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mirrored[key] = lease.Conn
	return lease.Conn, nil
}

// lastAsked spares the wait for a free stream. An http/1.1 connection says
// nothing about the next one, which may come from another server.
func (p *Proxy) lastAsked(key string) *wire.ClientConn {
	p.mu.Lock()
	conn := p.mirrored[key]
	p.mu.Unlock()
	if conn == nil || conn.Protocol() != alpn.H2 {
		return nil
	}
	if isClosed(conn.Done()) {
		return nil
	}
	return conn
}

// common is policy with no more than what was offered, in the offer's order.
func common(offered []string, policy alpn.Policy) (alpn.Policy, error) {
	var both []string
	for _, proto := range offered {
		if slices.Contains(policy.Protocols(), proto) && !slices.Contains(both, proto) {
			both = append(both, proto)
		}
	}
	_, refused := policy.Choose(offered)
	nothing := len(both) == 0 && len(offered) > 0 && len(policy.Protocols()) > 0
	switch {
	case refused != nil || nothing:
		return alpn.Policy{}, fmt.Errorf("no common protocol: the client offers %s, and Upstream.ALPN is %v", orNone(offered), policy)
	case len(both) == 0:
		return alpn.None(), nil
	case insists(policy):
		return alpn.Only(both...), nil
	}
	return alpn.Prefer(both...), nil
}

// insists tells Only from Prefer by what only one of them refuses.
func insists(policy alpn.Policy) bool {
	_, err := policy.Choose([]string{"none of it"})
	return err != nil
}
