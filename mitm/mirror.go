package mitm

import (
	"context"
	"crypto/tls"
	"fmt"
	"slices"

	"example.com/wiretest/alpn"
	"example.com/wiretest/netlog/wire"
)

// mirrored is how the client is served: as the origin chose from its offer.
func (c *client) mirrored(ctx context.Context, hello *alpn.ClientHello) *tls.Config {
	p := c.proxy
	c.route.mirrored, c.route.offered = true, hello.ALPN
	chosen, err := p.chosen(ctx, c.route)
	if err != nil {
		c.notMirrored.Store(&failure{err})
		return p.downstream[""]
	}
	return p.downstream[chosen]
}

// chosen is what the origin chooses: on an h2 connection to it that is open,
// else on one that the requests to come will use.
func (p *Proxy) chosen(ctx context.Context, r route) (string, error) {
	key := r.key()
	conn := p.lastAsked(key)
	if conn == nil {
		lease, err := p.get(ctx, r)
		if err != nil {
			return "", err
		}
		defer lease.Release(true)
		conn = lease.Conn
		p.mu.Lock()
		p.mirrored[key] = conn
		p.mu.Unlock()
	}
	return conn.Record().Connection().ALPN, nil
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
