package mitm

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"example.com/wiretest/alpn"
	"example.com/wiretest/netlog/wire"
)

// DialContext opens a connection to address through the proxy, as Tunnel(nil)
// does.
func (p *Proxy) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	return p.tunnelDial(nil, "DialContext", "Tunnel")(ctx, network, address)
}

// Tunnel is a dialer that connects to the proxy from a host of Config.Net, or
// by a plain dialer if from is nil, and has it lead to the address: by CONNECT
// or by SOCKS5, with the credentials of Config.Auth. With ExplicitTLS each
// tunnel is on a connection of its own, over HTTP/2 where Config.Outer has it: then
// that stays behind a Close until the proxy has ended it too, 250 ms at most.
// With Transparent and Reverse it is a mere connection to the proxy, whatever
// the address. What the caller then speaks is intercepted unless Passthrough
// lists the address.
func (p *Proxy) Tunnel(from Net) func(ctx context.Context, network, address string) (net.Conn, error) {
	return p.tunnelDial(from, "Tunnel", "Tunnel")
}

// tunnelDial is Tunnel for method, which in messages has a user call use.
func (p *Proxy) tunnelDial(from Net, method, use string) wire.DialFunc {
	dial := p.access.Dialer(from, method, use)
	if p.access.Check(from, method, use) != nil {
		return dial // which says so, whatever is asked for
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		return p.tunnel(ctx, dial, network, address)
	}
}

// tunnel leads to address through the proxy, in the way of its first mode.
func (p *Proxy) tunnel(ctx context.Context, dial wire.DialFunc, network, address string) (net.Conn, error) {
	mode := p.mode.first()
	what := fmt.Sprintf("mitm: %s %s", map[Mode]string{SOCKS5: "SOCKS5", Transparent: "dial", Reverse: "dial"}[mode], address)
	if mode.has(Explicit | ExplicitTLS) {
		what = "mitm: CONNECT " + address
	}
	if !strings.HasPrefix(network, "tcp") {
		return nil, fmt.Errorf("%s: network %q: want tcp", what, network)
	}
	conn, err := dial(ctx, network, p.Addr)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	tunnel, err := p.asProxy(mode).ask(ctx, conn, address)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return tunnel, nil
}

// asProxy is how a client asks this proxy for a tunnel.
func (p *Proxy) asProxy(mode Mode) *asked {
	a := &asked{scheme: p.address(mode).Scheme, auth: p.auth, beside: p.beside}
	switch mode {
	case ExplicitTLS:
		a.tls = p.outerLeg.ALPN.Client(&tls.Config{RootCAs: p.ca.Pool(), ServerName: hostOf(p.Addr)})
	case Transparent, Reverse:
		a.scheme = ""
	}
	return a
}

func hostOf(address string) string {
	host, _, _ := net.SplitHostPort(address)
	return host
}

// asked is a proxy that a client asks for a tunnel.
type asked struct {
	scheme string // "http", "https" or "socks5"; "" asks nothing
	auth   *url.Userinfo
	tls    *tls.Config       // of https
	beside func(func()) bool // Proxy.beside
}

// ask asks for a tunnel to address on conn, which it closes if it fails.
func (a *asked) ask(ctx context.Context, conn net.Conn, address string) (net.Conn, error) {
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	tunnel, err := a.askOn(ctx, conn, address)
	if !stop() && err == nil {
		err = context.Cause(ctx) // and perhaps a deadline is set that the caller has not asked for
		tunnel.Close()
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return tunnel, nil
}

func (a *asked) askOn(ctx context.Context, conn net.Conn, address string) (net.Conn, error) {
	switch a.scheme {
	case "":
		return conn, nil
	case "socks5":
		return askSocks(conn, a.auth, address)
	case "https":
		secured := tls.Client(conn, a.tls)
		if err := secured.HandshakeContext(ctx); err != nil {
			return nil, fmt.Errorf("TLS with the proxy: %w", err)
		}
		if secured.ConnectionState().NegotiatedProtocol == alpn.H2 {
			return a.askTunnelH2(secured, address)
		}
		conn = secured
	}
	return askTunnel(conn, a.auth, address)
}

// askTunnel sends CONNECT and reads its answer.
func askTunnel(conn net.Conn, auth *url.Userinfo, address string) (net.Conn, error) {
	head := fmt.Sprintf("CONNECT %s HTTP/1.1\r\nHost: %s\r\n", address, address)
	if auth != nil {
		head += "Proxy-Authorization: " + basic(auth) + "\r\n"
	}
	if _, err := io.WriteString(conn, head+"\r\n"); err != nil {
		return nil, err
	}
	limited := &io.LimitedReader{R: conn, N: maxHead}
	reader := bufio.NewReader(limited)
	resp, err := http.ReadResponse(reader, &http.Request{Method: http.MethodConnect})
	switch {
	case err != nil && limited.N <= 0:
		return nil, fmt.Errorf("head of the answer is longer than %d bytes", maxHead)
	case err != nil:
		return nil, fmt.Errorf("answer: %w", err)
	case resp.StatusCode/100 == 2:
		limited.N = math.MaxInt64 // what follows is the tunnel's
		return ahead(conn, reader), nil
	}
	return nil, refusal(resp)
}

func refusal(resp *http.Response) error {
	reason, _ := io.ReadAll(io.LimitReader(resp.Body, maxHead))
	first, _, _ := strings.Cut(strings.TrimSpace(string(reason)), "\n")
	if first == "" {
		return errors.New(resp.Status)
	}
	return errors.New(resp.Status + ": " + strings.TrimSpace(first))
}
