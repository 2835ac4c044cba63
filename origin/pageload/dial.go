package pageload

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"

	"example.com/wiretest/alpn"
	"example.com/wiretest/netlog"
	"example.com/wiretest/netlog/wire"
)

// dialer opens the connections of one scheme.
type dialer struct {
	plan   *plan
	scheme string
}

// dial connects to host ("name:port"), through the proxy where the Transport
// names one, and does TLS by hand so that every step is on record.
func (d *dialer) dial(ctx context.Context, host string) (*wire.ClientConn, error) {
	proxy, err := d.proxyFor(ctx, host)
	if err != nil {
		return nil, err
	}
	conn, rec, err := d.connect(ctx, host, proxy)
	if err != nil {
		return nil, err
	}
	conn, err = d.secure(ctx, conn, rec, host, proxy)
	if err != nil {
		return nil, err
	}
	return wire.NewClientConn(conn, wire.ClientConfig{Record: rec, Scheme: d.scheme})
}

func (d *dialer) proxyFor(ctx context.Context, host string) (*url.URL, error) {
	if d.plan.transport.Proxy == nil {
		return nil, nil
	}
	req := (&http.Request{Method: http.MethodGet, URL: &url.URL{Scheme: d.scheme, Host: host, Path: "/"}}).WithContext(ctx)
	proxy, err := d.plan.transport.Proxy(req)
	if err != nil {
		return nil, fmt.Errorf("proxy: %w", err)
	}
	if proxy != nil && proxy.Scheme != "http" && proxy.Scheme != "https" {
		return nil, fmt.Errorf("proxy %s: scheme %q: want http or https", proxy.Redacted(), proxy.Scheme)
	}
	return proxy, nil
}

// connect opens the transport connection: to the proxy, if there is one.
func (d *dialer) connect(ctx context.Context, host string, proxy *url.URL) (net.Conn, *netlog.ConnectionRecord, error) {
	dial := d.plan.transport.DialContext
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	via, to := "", host
	if proxy != nil {
		via = hostPort(proxy)
		to = via
	}
	conn, err := dial(ctx, "tcp", to)
	if err != nil {
		return nil, nil, err
	}
	return conn, d.plan.log.Open(netlog.Connection{
		Network: "tcp",
		Host:    host,
		Proxy:   via,
		Local:   conn.LocalAddr().String(),
		Remote:  conn.RemoteAddr().String(),
	}), nil
}

// secure does what comes before the first request: TLS to the proxy, CONNECT,
// TLS to the host. When it fails, conn is closed.
func (d *dialer) secure(ctx context.Context, conn net.Conn, rec *netlog.ConnectionRecord, host string, proxy *url.URL) (_ net.Conn, err error) {
	if proxy != nil && proxy.Scheme == "https" {
		conn, err = tlsToProxy(ctx, conn, d.config(proxy.Hostname(), []string{alpn.HTTP11}), rec)
		if err != nil {
			return nil, err
		}
	}
	if d.scheme == "http" {
		rec.Update(func(c *netlog.Connection) { c.ALPN = netlog.NoALPN })
		return conn, nil
	}
	if proxy != nil {
		if err := d.tunnel(ctx, conn, host, proxy); err != nil {
			err = fmt.Errorf("proxy: CONNECT %s: %w", host, err)
			conn.Close()
			rec.Close(err.Error())
			return nil, err
		}
	}
	name, _, _ := net.SplitHostPort(host)
	secured, err := wire.HandshakeClient(ctx, conn, d.config(name, d.offers()), rec)
	if err != nil {
		return nil, err
	}
	return secured, nil
}

func tlsToProxy(ctx context.Context, conn net.Conn, cfg *tls.Config, rec *netlog.ConnectionRecord) (net.Conn, error) {
	secured := tls.Client(conn, cfg)
	if err := secured.HandshakeContext(ctx); err != nil {
		conn.Close()
		err = fmt.Errorf("proxy: TLS handshake: %w", err)
		rec.Close(err.Error())
		return nil, err
	}
	return secured, nil
}

// tunnel asks the proxy for a tunnel to host (RFC 9110, section 9.3.6).
func (d *dialer) tunnel(ctx context.Context, conn net.Conn, host string, proxy *url.URL) error {
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	resp, err := d.connectThrough(conn, host, proxy)
	switch {
	case !stop():
		return fmt.Errorf("given up: %w", context.Cause(ctx))
	case err != nil:
		return err
	case resp.StatusCode/100 != 2:
		return errors.New(resp.Status)
	}
	return nil
}

func (d *dialer) connectThrough(conn net.Conn, host string, proxy *url.URL) (*http.Response, error) {
	req := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: host}, Host: host, Header: d.connectHeader(proxy)}
	if err := req.Write(conn); err != nil {
		return nil, err
	}
	// The proxy must not speak before the client does, so the reader can hold
	// nothing beyond the answer's head.
	return http.ReadResponse(bufio.NewReader(conn), req)
}

func (d *dialer) connectHeader(proxy *url.URL) http.Header {
	header := d.plan.transport.ProxyConnectHeader.Clone()
	if header == nil {
		header = make(http.Header)
	}
	if user := proxy.User; user != nil {
		password, _ := user.Password()
		credentials := base64.StdEncoding.EncodeToString([]byte(user.Username() + ":" + password))
		header.Set("Proxy-Authorization", "Basic "+credentials)
	}
	return header
}

func (d *dialer) config(name string, offers []string) *tls.Config {
	cfg := d.plan.transport.TLSClientConfig.Clone()
	if cfg == nil {
		cfg = new(tls.Config)
	}
	if cfg.ServerName == "" {
		cfg.ServerName = name
	}
	cfg.NextProtos = offers
	return cfg
}

// offers is what the Transport would offer by ALPN.
func (d *dialer) offers() []string {
	t := d.plan.transport
	if p := t.Protocols; p != nil {
		return protocolNames(p)
	}
	if t.TLSClientConfig != nil && len(t.TLSClientConfig.NextProtos) > 0 {
		return t.TLSClientConfig.NextProtos
	}
	own := t.DialContext != nil || t.TLSClientConfig != nil
	if t.ForceAttemptHTTP2 || !own && t.TLSNextProto == nil {
		return []string{alpn.H2, alpn.HTTP11}
	}
	return []string{alpn.HTTP11}
}

func protocolNames(p *http.Protocols) (names []string) {
	if p.HTTP2() {
		names = append(names, alpn.H2)
	}
	if p.HTTP1() {
		names = append(names, alpn.HTTP11)
	}
	return names
}

func (d *dialer) offersH2() bool {
	return d.scheme == "https" && slices.Contains(d.offers(), alpn.H2)
}
