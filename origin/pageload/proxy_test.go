package pageload_test

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/alpn"
	"example.com/wiretest/ca"
	"example.com/wiretest/netlog"
	"example.com/wiretest/origin"
	"example.com/wiretest/origin/pageload"
)

// tunnels is a proxy that only knows CONNECT, and wants a password.
type tunnels struct {
	ln     net.Listener
	wg     sync.WaitGroup
	asked  chan *http.Request // one for each CONNECT that was let through
	secret string
}

func startTunnels(t *testing.T, ln net.Listener, secret string) *tunnels {
	p := &tunnels{ln: ln, asked: make(chan *http.Request, 100), secret: secret}
	p.wg.Go(p.accept)
	t.Cleanup(func() { ln.Close(); p.wg.Wait() })
	return p
}

func (p *tunnels) accept() {
	for {
		conn, err := p.ln.Accept()
		if err != nil {
			return
		}
		p.wg.Go(func() { p.serve(conn) })
	}
}

func (p *tunnels) serve(conn net.Conn) {
	defer conn.Close()
	req, err := http.ReadRequest(bufio.NewReader(conn))
	if err != nil {
		return
	}
	if want := "Basic " + base64.StdEncoding.EncodeToString([]byte(p.secret)); req.Header.Get("Proxy-Authorization") != want {
		io.WriteString(conn, "HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
		return
	}
	up, err := net.Dial("tcp", req.Host)
	if err != nil {
		return
	}
	defer up.Close()
	p.asked <- req
	io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n")
	p.wg.Go(func() { io.Copy(up, conn); up.Close() })
	io.Copy(conn, up)
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	return ln
}

// TestTunnel: https goes through the proxy by CONNECT, with the password of the
// proxy's URL and the fields of ProxyConnectHeader; the proxy may itself be
// reached over TLS.
func TestTunnel(t *testing.T) {
	for _, scheme := range []string{"http", "https"} {
		t.Run(scheme, func(t *testing.T) {
			authority := ca.New(t, nil)
			site := origin.New(t, &origin.Config{CA: authority, Page: &origin.Page{API: 3}})
			ln := listen(t)
			address := ln.Addr().String()
			if scheme == "https" {
				ln = tlsListener(ln, authority)
			}
			proxy := startTunnels(t, ln, "anna:s3cret")
			tr := site.Transport(nil)
			tr.Proxy = http.ProxyURL(&url.URL{Scheme: scheme, Host: address, User: url.UserPassword("anna", "s3cret")})
			tr.ProxyConnectHeader = http.Header{"X-Desk": {"7"}}
			page, err := pageload.Load(t.Context(), &pageload.Config{URL: site.URL, Transport: tr})
			require.NoError(t, err)
			netlog.RequireConnections(t, page.Log, 1, alpn.H2, netlog.Used())
			c := page.Log.Connections()[0]
			assert.Equal(t, site.Addr, c.Host)
			assert.Equal(t, address, c.Proxy)
			asked := <-proxy.asked
			assert.Equal(t, site.Addr, asked.Host)
			assert.Equal(t, "7", asked.Header.Get("X-Desk"))
		})
	}
}

func TestTunnelRefused(t *testing.T) {
	site := origin.New(t, nil)
	proxy := startTunnels(t, listen(t), "anna:s3cret")
	tr := site.Transport(nil)
	tr.Proxy = http.ProxyURL(&url.URL{Scheme: "http", Host: proxy.ln.Addr().String()})
	page, err := pageload.Load(t.Context(), &pageload.Config{URL: site.URL, Transport: tr})
	want := "proxy: CONNECT " + site.Addr + ": 407 Proxy Authentication Required"
	assert.EqualError(t, err, "pageload: GET "+site.URL+": "+want)
	c := page.Log.Connections()[0]
	assert.Equal(t, want, c.CloseReason)
	assert.False(t, c.Used())
}

// A proxy that takes CONNECT and says nothing: the load that is given up says so,
// and so does the record of its connection.
func TestSilentTunnel(t *testing.T) {
	ln := listen(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	done := make(chan struct{})
	go func() { // ends with the connection; waited for below
		defer close(done)
		conn, err := ln.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		http.ReadRequest(bufio.NewReader(conn))
		cancel(errors.New("enough"))
		io.Copy(io.Discard, conn)
	}()
	t.Cleanup(func() { ln.Close(); <-done })
	page, err := pageload.Load(ctx, &pageload.Config{
		URL:       "https://far.test",
		Transport: &http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: ln.Addr().String()})},
	})
	assert.EqualError(t, err, "pageload: GET https://far.test: enough")
	assert.Equal(t, "proxy: CONNECT far.test:443: given up: wire: pool: closed", page.Log.Connections()[0].CloseReason)
	assert.Equal(t, "enough", page.Log.Requests()[0].Err)
}

func TestProxyOfAnotherKind(t *testing.T) {
	_, err := pageload.Load(t.Context(), &pageload.Config{
		URL:       "https://origin.test",
		Transport: &http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: "socks5", Host: "127.0.0.1:1"})},
	})
	assert.ErrorContains(t, err, `scheme "socks5": want http or https`)
}
