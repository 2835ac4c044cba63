package mitm

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/url"

	"example.com/wiretest/alpn"
	"example.com/wiretest/netlog/wire"
)

// Client is an http.Client over Transport(nil), the same at each call. It
// cannot reach a proxy that has a name in Config.Net: there its requests fail
// and say so. Use Transport with the host that the client runs on.
func (p *Proxy) Client() *http.Client {
	return p.access.Client(func() *http.Transport { return p.transport(nil, "Client") })
}

// Transport is a new http.Transport that goes through the proxy, and connects
// to it from a host of Config.Net, or by a plain dialer if from is nil. It
// trusts CA, and where there is a Passthrough also what the proxy trusts
// origins by; it offers h2 and http/1.1. Everything else is as in a zero
// http.Transport, and the caller may change all of it. Close closes its idle
// connections.
//
// With Explicit and SOCKS5 it has the proxy in its Proxy field. With ExplicitTLS,
// where net/http offers a proxy what it does not speak, it dials by Tunnel, and
// so sends CONNECT for URLs of the scheme http too. With Transparent and Reverse
// it connects to this proxy whatever the URL, which is to name the origin; with
// Reverse, URL does as well.
//
// A transport that cannot reach the proxy fails when it dials.
func (p *Proxy) Transport(from Net) *http.Transport {
	return p.access.Give(p.transport(from, "Transport"))
}

// transport is new; method is for messages.
func (p *Proxy) transport(from Net, method string) *http.Transport {
	tr := &http.Transport{
		DialContext:       p.transportDial(from, method),
		TLSClientConfig:   alpn.Prefer(alpn.H2, alpn.HTTP11).Client(&tls.Config{RootCAs: p.trusted()}),
		ForceAttemptHTTP2: true,
	}
	if p.mode.first().has(Explicit | SOCKS5) {
		tr.Proxy = p.ProxyURL
	}
	return tr
}

// trusted are the roots of a client: those of intercepted connections, and of
// connections that pass through.
func (p *Proxy) trusted() *x509.CertPool {
	roots := p.ca.Pool()
	if len(p.passthrough) == 0 {
		return roots
	}
	origins := p.upstreamTLS.RootCAs
	if origins == nil {
		origins, _ = x509.SystemCertPool() // as crypto/tls does; without one nothing is trusted by it
	}
	if origins == nil {
		return roots
	}
	roots = origins.Clone()
	roots.AddCert(p.ca.Root())
	return roots
}

// ProxyURL is the proxy for every request, with the credentials of Config.Auth:
// a value for http.Transport.Proxy. It is nil, which is no proxy, in the modes
// Transparent and Reverse, of which clients know nothing.
func (p *Proxy) ProxyURL(*http.Request) (*url.URL, error) {
	if p.mode.first().has(Transparent | Reverse) {
		return nil, nil
	}
	u := *p.url
	u.User = p.auth
	return &u, nil
}

// address is the proxy's URL for clients of one mode.
func (p *Proxy) address(mode Mode) *url.URL {
	u := &url.URL{Host: p.Addr}
	for _, one := range modeNames {
		if one.mode == mode {
			u.Scheme = one.scheme
		}
	}
	if mode == Reverse {
		u.Scheme = p.origin.scheme
	}
	return u
}

// URLOf is what URL would be if mode, one of Config.Mode's, were the only one;
// "" if it is none of them.
func (p *Proxy) URLOf(mode Mode) string {
	if mode == 0 || mode != mode.first() || !p.mode.has(mode) {
		return ""
	}
	return p.address(mode).String()
}

// transportDial is what a transport dials by. Without a proxy that it knows of
// it is led to this one whatever it asks for.
func (p *Proxy) transportDial(from Net, method string) wire.DialFunc {
	if p.mode.first().has(Explicit | SOCKS5) {
		return p.access.Dialer(from, method, "Transport")
	}
	return p.tunnelDial(from, method, "Transport") // net/http's own way to a proxy by TLS would offer it h2, and not speak it
}
