package mitm

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"slices"
	"sync/atomic"

	"example.com/wiretest/alpn"
	"example.com/wiretest/ca"
	"example.com/wiretest/netlog"
	"example.com/wiretest/netlog/wire"
)

// policy is how the proxy deals with the hosts of a Rule, or with all others.
type policy struct {
	name        string // the rule's Host; "" is none
	at          pattern
	mirror      bool
	originFirst bool // or Mirror
	mimics      bool // the names of the origin's certificate
	passthrough bool
	leaf        func(*x509.Certificate) // nil edits nothing
	fault       ca.Fault

	downstream    map[string]*tls.Config // by what Mirror lets the client have; without Mirror the only one is at ""
	downstreamLeg Leg                    // as it was said
	upstream      Leg
	upstreamTLS   *tls.Config  // without a policy and, mostly, without a ServerName
	server        *wire.Server // of clients
	secure        *wire.Pool   // TLS to origins
	plain         *wire.Pool

	faults       *wire.Faults // upstream; nil is none
	clientFaults connectionFaults
	originFaults connectionFaults
	originLimit  atomic.Int64 // of streams, upstream
}

// decide is what rules for a host.
func (p *Proxy) decide(t target) *policy {
	if len(p.rules) == 0 {
		return p.policy
	}
	name := plainHost(t.host)
	for _, rule := range p.rules {
		if rule.at == (pattern{}) || rule.at.matches(name, t.port) {
			return rule
		}
	}
	return p.policy
}

// newPolicies makes what Config says for all hosts, and the rules.
func (p *Proxy) newPolicies(c *Config) {
	p.policy = newPolicy(p, c, Rule{Downstream: c.Downstream, Upstream: c.Upstream})
	for _, rule := range c.Rules {
		rule.Downstream, rule.Upstream = rule.Downstream.over(c.Downstream), rule.Upstream.over(c.Upstream)
		one := newPolicy(p, c, rule)
		one.name = rule.Host
		one.at, _ = parseRuleHost(rule.Host) // checked by resolved
		p.rules = append(p.rules, one)
	}
}

// all are the policies; Close closes what they speak by.
func (p *Proxy) all() []*policy { return append([]*policy{p.policy}, p.rules...) }

func newPolicy(p *Proxy, c *Config, r Rule) *policy {
	if r.Upstream.HTTP3 == nil {
		r.Upstream.ALPN = r.Upstream.ALPN.Or(bothALPN())
	}
	one := &policy{
		mirror:        r.Downstream.Mirror,
		originFirst:   r.OriginFirst || r.Downstream.Mirror,
		mimics:        r.OriginFirst,
		passthrough:   r.Passthrough,
		leaf:          r.Leaf,
		fault:         r.CertificateFault,
		downstreamLeg: r.Downstream,
		upstream:      r.Upstream,
		faults:        wire.NewFaults(r.Upstream.Faults),
		clientFaults:  connectionFaults{all: r.Downstream.ConnectionFaults},
		originFaults:  connectionFaults{all: r.Upstream.ConnectionFaults},
	}
	one.originLimit.Store(int64(r.Upstream.MaxConcurrentStreams))
	one.configureDownstream(p, r.Downstream)
	one.configureUpstream(c.RootCAs, r.Upstream)
	one.server = wire.NewServer(wire.ServerConfig{
		Handler:              http.HandlerFunc(p.forward),
		MaxConcurrentStreams: r.Downstream.MaxConcurrentStreams,
		StreamWindow:         r.Downstream.StreamWindow,
		ConnWindow:           r.Downstream.ConnWindow,
		Speak:                r.Downstream.Speak,
		Faults:               r.Downstream.Faults,
	})
	one.secure = wire.NewPool(wire.PoolConfig{
		Dial:     p.dialSecure,
		ExpectH2: r.Upstream.HTTP3 != nil || slices.Contains(r.Upstream.ALPN.Protocols(), alpn.H2) && r.Upstream.Speak != alpn.HTTP11,
		MaxConns: r.Upstream.MaxConns,
		Abandon:  true,
	})
	one.plain = wire.NewPool(wire.PoolConfig{Dial: p.dialPlain, MaxConns: r.Upstream.MaxConns, Abandon: true})
	return one
}

// configureDownstream makes the configurations that all connections share, so that
// clients can resume their sessions.
func (one *policy) configureDownstream(p *Proxy, leg Leg) {
	base := new(tls.Config)
	if leg.TLS != nil {
		base = leg.TLS.Clone()
	}
	if len(base.Certificates) == 0 && base.GetCertificate == nil {
		base.GetCertificate = p.certificate
	}
	one.downstream = map[string]*tls.Config{"": leg.ALPN.Server(base)}
	if one.mirror {
		// All that an origin can choose.
		one.downstream[alpn.H2] = alpn.Only(alpn.H2).Server(base)
		one.downstream[alpn.HTTP11] = alpn.Only(alpn.HTTP11).Server(base)
		one.downstream[netlog.NoALPN] = alpn.None().Server(base)
	}
}

func (one *policy) configureUpstream(roots *x509.CertPool, leg Leg) {
	one.upstreamTLS = new(tls.Config)
	if leg.TLS != nil {
		one.upstreamTLS = leg.TLS.Clone()
	}
	if roots != nil {
		one.upstreamTLS.RootCAs = roots
	}
}

// limitOrigins changes the limit of streams for all connections to origins.
func (one *policy) limitOrigins(n int) {
	one.originLimit.Store(int64(n))
	for _, conn := range one.secure.Conns() {
		conn.SetMaxStreams(n)
	}
}

// get waits for the right to send one request on r.
func (p *Proxy) get(ctx context.Context, r route) (*wire.Lease, error) {
	pool := r.rule.plain
	if r.scheme == "https" {
		pool = r.rule.secure
	}
	if r.owner != nil {
		r.owner.uses(pool, r.key())
	}
	return pool.Get(context.WithValue(ctx, routeKey{}, r), r.key())
}
