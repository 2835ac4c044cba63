package mitm

import (
	"crypto/tls"

	"example.com/wiretest/alpn"
	"example.com/wiretest/netlog"
)

// configureTLS makes the configurations that all connections share, so that
// clients can resume their sessions.
func (p *Proxy) configureTLS(c *Config) {
	base := new(tls.Config)
	if c.Downstream.TLS != nil {
		base = c.Downstream.TLS.Clone()
	}
	if len(base.Certificates) == 0 && base.GetCertificate == nil {
		base.GetCertificate = p.certificate
	}
	p.downstream = map[string]*tls.Config{"": c.Downstream.ALPN.Server(base)}
	if p.mirror {
		// All that an origin can choose.
		p.downstream[alpn.H2] = alpn.Only(alpn.H2).Server(base)
		p.downstream[alpn.HTTP11] = alpn.Only(alpn.HTTP11).Server(base)
		p.downstream[netlog.NoALPN] = alpn.None().Server(base)
	}
	p.outerTLS = new(tls.Config)
	if c.Outer.TLS != nil {
		p.outerTLS = c.Outer.TLS.Clone()
	}
	if len(p.outerTLS.Certificates) == 0 && p.outerTLS.GetCertificate == nil {
		p.outerTLS.GetCertificate = p.certificate
	}
	p.outerTLS = c.Outer.ALPN.Server(p.outerTLS)
	p.upstreamTLS = new(tls.Config)
	if c.Upstream.TLS != nil {
		p.upstreamTLS = c.Upstream.TLS.Clone()
	}
	if c.RootCAs != nil {
		p.upstreamTLS.RootCAs = c.RootCAs
	}
}

// certificate is what a client is shown: for the name it asks for by SNI, or,
// if it asks for none, for the target of its CONNECT.
func (p *Proxy) certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	name := hello.ServerName
	if t, ok := hello.Context().Value(targetKey{}).(target); ok && name == "" {
		name = t.host
	}
	return p.ca.Leaf(name)
}

// targetKey is under what a handshake's context has its CONNECT target.
type targetKey struct{}

// toOrigin is the client's side of TLS on a route.
func (p *Proxy) toOrigin(r route) (*tls.Config, error) {
	policy := p.upstream.ALPN
	if r.mirrored {
		var err error
		if policy, err = common(r.offered, policy); err != nil {
			return nil, err
		}
	}
	cfg := policy.Client(p.upstreamTLS)
	if cfg.ServerName == "" {
		cfg.ServerName = r.serverName
	}
	if cfg.ServerName == "" {
		cfg.ServerName = r.target.host
	}
	return cfg, nil
}
