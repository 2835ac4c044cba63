package mitm

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"example.com/wiretest/alpn"
)

// Client is an http.Client over Transport(nil), the same at each call. It
// cannot reach a proxy that has a name in Config.Net: there its requests fail
// and say so. Use Transport with the host that the client runs on.
func (p *Proxy) Client() *http.Client {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.httpClient == nil {
		p.httpClient = &http.Client{Transport: p.newTransport(nil, "Client")}
	}
	return p.httpClient
}

// Transport is a new http.Transport that goes through the proxy, and connects
// to it from a host of Config.Net, or by a plain dialer if from is nil. It
// trusts CA, and where there is a Passthrough also what the proxy trusts
// origins by; it offers h2 and http/1.1. Everything else is as in a zero
// http.Transport, and the caller may change all of it. Close closes its idle
// connections.
//
// A transport that cannot reach the proxy fails when it dials.
func (p *Proxy) Transport(from Net) *http.Transport {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.newTransport(from, "Transport")
}

// newTransport needs mu; caller is for messages.
func (p *Proxy) newTransport(from Net, caller string) *http.Transport {
	tr := &http.Transport{
		Proxy:             p.ProxyURL,
		DialContext:       p.dialer(from, caller),
		TLSClientConfig:   alpn.Prefer(alpn.H2, alpn.HTTP11).Client(&tls.Config{RootCAs: p.trusted()}),
		ForceAttemptHTTP2: true,
	}
	if !p.closing {
		p.transports = append(p.transports, tr)
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

// ProxyURL is the proxy for every request: a value for http.Transport.Proxy.
func (p *Proxy) ProxyURL(*http.Request) (*url.URL, error) {
	u := *p.url
	return &u, nil
}

type dialFunc = func(ctx context.Context, network, address string) (net.Conn, error)

func (p *Proxy) dialer(from Net, caller string) dialFunc {
	switch {
	case isTypedNil(from):
		return failing(fmt.Errorf("mitm: %s: typed nil %T", caller, from))
	case from != nil:
		return from.DialContext
	case p.net != nil && !hasAddress(p.url.Host):
		return failing(fmt.Errorf("mitm: %s: %s is a name in Config.Net, which a plain dialer cannot reach: use Transport(host) or Tunnel(host)", caller, p.url.Host))
	}
	return new(net.Dialer).DialContext
}

func failing(err error) dialFunc {
	return func(context.Context, string, string) (net.Conn, error) { return nil, err }
}

func hasAddress(hostport string) bool {
	_, err := netip.ParseAddrPort(hostport)
	return err == nil
}

// closeIdle closes the idle connections of all transports given out.
func (p *Proxy) closeIdle() {
	p.mu.Lock()
	all := p.transports
	p.transports = nil
	p.mu.Unlock()
	for _, tr := range all {
		tr.CloseIdleConnections()
	}
}

// DialContext opens a connection to address by CONNECT through the proxy, as
// Tunnel(nil) does.
func (p *Proxy) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	return p.connect(ctx, p.dialer(nil, "DialContext"), network, address)
}

// Tunnel is a dialer that connects to the proxy from a host of Config.Net, or
// by a plain dialer if from is nil, and has it CONNECT to the address. What the
// caller then speaks is intercepted unless Passthrough lists the address.
func (p *Proxy) Tunnel(from Net) func(ctx context.Context, network, address string) (net.Conn, error) {
	dial := p.dialer(from, "Tunnel")
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		return p.connect(ctx, dial, network, address)
	}
}

func (p *Proxy) connect(ctx context.Context, dial dialFunc, network, address string) (net.Conn, error) {
	if !strings.HasPrefix(network, "tcp") {
		return nil, fmt.Errorf("mitm: CONNECT %s: network %q: want tcp", address, network)
	}
	conn, err := dial(ctx, network, p.url.Host)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	tunnel, err := askTunnel(conn, address)
	if !stop() && err == nil {
		err = context.Cause(ctx) // and perhaps a deadline is set that the caller has not asked for
	}
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("mitm: CONNECT %s: %w", address, err)
	}
	return tunnel, nil
}

// askTunnel sends CONNECT and reads its answer.
func askTunnel(conn net.Conn, address string) (net.Conn, error) {
	if _, err := fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", address, address); err != nil {
		return nil, err
	}
	reader := bufio.NewReader(conn)
	resp, err := http.ReadResponse(reader, &http.Request{Method: http.MethodConnect})
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusOK {
		return ahead(conn, reader), nil
	}
	reason, _ := io.ReadAll(io.LimitReader(resp.Body, maxHead))
	return nil, errors.New(resp.Status + ": " + strings.TrimSpace(string(reason)))
}
