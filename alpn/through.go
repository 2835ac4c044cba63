package alpn

import (
	"bufio"
	"context"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// Through is a ProbeConfig.DialContext that asks an HTTP proxy for tunnels
// (CONNECT; RFC 9110, section 9.3.6), to see a server as clients behind it do.
// The proxy is a URL such as http://user:password@proxy.test:3128; only scheme
// http is supported. A mistake in it, and a refusal, are errors of dialling. It
// dials by a net.Dialer, so that it does not lead to a proxy in memory, whose own
// tunnels do.
func Through(proxy string) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		u, err := url.Parse(proxy)
		if err != nil || u.Scheme != "http" || u.Hostname() == "" {
			shown := proxy[strings.LastIndex(proxy, "@")+1:] // without a password
			return nil, fmt.Errorf("alpn: Through: %q: want the URL of a proxy, such as http://proxy.test:3128", shown)
		}
		conn, err := new(net.Dialer).DialContext(ctx, network, hostPort(u))
		if err != nil {
			return nil, fmt.Errorf("alpn: Through: %w", err)
		}
		tunnelled, err := connect(ctx, conn, u, address)
		if err != nil {
			conn.Close()
			return nil, fmt.Errorf("alpn: Through: proxy %s: CONNECT %s: %w", u.Host, address, err)
		}
		return tunnelled, nil
	}
}

func hostPort(u *url.URL) string {
	if u.Port() == "" {
		return net.JoinHostPort(u.Hostname(), "80")
	}
	return u.Host
}

func connect(ctx context.Context, conn net.Conn, proxy *url.URL, address string) (net.Conn, error) {
	defer until(ctx, conn)()
	req := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: address}, Host: address, Header: http.Header{}}
	if user := proxy.User; user != nil {
		password, _ := user.Password()
		token := base64.StdEncoding.EncodeToString([]byte(user.Username() + ":" + password))
		req.Header.Set("Proxy-Authorization", "Basic "+token)
	}
	if err := req.Write(conn); err != nil {
		return nil, err
	}
	read := bufio.NewReader(conn)
	resp, err := http.ReadResponse(read, req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode/100 != 2 {
		resp.Body.Close()
		return nil, fmt.Errorf("answered %s", resp.Status)
	}
	ahead, _ := read.Peek(read.Buffered()) // a server that speaks first may already have
	return replay(conn, ahead, nil), nil
}
