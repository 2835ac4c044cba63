package mitm

import (
	"cmp"
	"crypto/tls"
	"slices"
	"strings"

	"example.com/wiretest/ca"
)

// configureOuter is for TLS with the proxy itself.
func (p *Proxy) configureOuter(c *Config) {
	p.outerTLS = new(tls.Config)
	if c.Outer.TLS != nil {
		p.outerTLS = c.Outer.TLS.Clone()
	}
	if len(p.outerTLS.Certificates) == 0 && p.outerTLS.GetCertificate == nil {
		p.outerTLS.GetCertificate = p.certificate
	}
	p.outerTLS = c.Outer.ALPN.Server(p.outerTLS)
}

// certificate is what a client is shown: for the name it asks for by SNI, or,
// if it asks for none, for what else it calls the host.
func (p *Proxy) certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	name := hello.ServerName
	show, _ := hello.Context().Value(showKey{}).(*show)
	if show != nil {
		name = show.name
	}
	if t, ok := hello.Context().Value(targetKey{}).(target); ok && name == "" {
		name = strings.TrimSuffix(t.host, ".")
	}
	if show == nil {
		return p.ca.Leaf(name)
	}
	return show.leaf(p.ca, name)
}

// show is what else a client is shown.
type show struct {
	rule *policy
	name string   // as far as the proxy has seen it
	also []string // names of the origin's certificate
}

func (s *show) leaf(authority *ca.Authority, name string) (*tls.Certificate, error) {
	names := []string{name}
	if len(s.also) > 0 && !slices.Equal(s.also, names) {
		if both := append(names, s.also...); s.issuable(authority, both) {
			names = both
		}
	}
	if s.rule.leaf == nil && s.rule.fault == "" {
		return authority.Leaf(names...)
	}
	return authority.LeafWith(s.rule.fault, s.rule.leaf, names...)
}

// issuable reports whether ca can issue for what another authority has.
func (s *show) issuable(authority *ca.Authority, names []string) bool {
	_, err := authority.Leaf(names...)
	return err == nil
}

// namesOf are the names that a certificate is for.
func namesOf(state *tls.ConnectionState) (names []string) {
	if state == nil || len(state.PeerCertificates) == 0 {
		return nil
	}
	leaf := state.PeerCertificates[0]
	names = slices.Clone(leaf.DNSNames)
	for _, ip := range leaf.IPAddresses {
		names = append(names, ip.String())
	}
	return names
}

// showKey is under what a handshake's context has its *show.
type showKey struct{}

// targetKey is under what a handshake's context has what the client calls the host.
type targetKey struct{}

// toOrigin is the client's side of TLS on a route.
func (p *Proxy) toOrigin(r route) (*tls.Config, error) {
	policy := r.rule.upstream.ALPN
	if r.mirrored {
		var err error
		if policy, err = common(r.offered, policy); err != nil {
			return nil, err
		}
	}
	cfg := policy.Client(r.rule.upstreamTLS)
	cfg.ServerName = r.nameFor(cfg)
	return cfg, nil
}

// nameFor is what the origin is asked for by SNI, and verified by.
func (r *route) nameFor(cfg *tls.Config) string {
	return cmp.Or(cfg.ServerName, r.serverName, r.target.host)
}
