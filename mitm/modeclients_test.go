package mitm_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"

	"example.com/wiretest/alpn"
	"example.com/wiretest/ca"
	"example.com/wiretest/linkdelay"
	"example.com/wiretest/mitm"
	"example.com/wiretest/netlog"
	"example.com/wiretest/origin"
)

// run is what a program prints.
func run(t *testing.T, program string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	require.NoError(t, err, "%s %q: %s\n%s", program, args, out, &complaints)
	return string(out)
}

// Each way of curl's to a proxy, with both protocols inside, and with Mirror.
func TestCurlInEveryMode(t *testing.T) {
	curl := tool(t, "curl", "Debian package curl")
	authority := ca.New(t, nil)
	pem := write(t, t.TempDir(), "ca.pem", authority.PEM())
	for _, c := range []struct {
		name string
		cfg  mitm.Config
		args func(*mitm.Proxy) []string
	}{
		{"http", mitm.Config{}, viaURL(mitm.Explicit)},
		{"http with credentials", mitm.Config{Auth: secret}, viaURL(mitm.Explicit)},
		{"https", mitm.Config{Mode: mitm.ExplicitTLS}, viaURL(mitm.ExplicitTLS)},
		{"https with credentials", mitm.Config{Mode: mitm.ExplicitTLS, Auth: secret}, viaURL(mitm.ExplicitTLS)},
		{"https by h2", mitm.Config{Mode: mitm.ExplicitTLS, Outer: mitm.Leg{ALPN: alpn.Only(alpn.H2)}}, func(p *mitm.Proxy) []string {
			return append([]string{"--proxy-http2"}, viaURL(mitm.ExplicitTLS)(p)...)
		}},
		{"socks5", mitm.Config{Mode: mitm.SOCKS5}, viaURL(mitm.SOCKS5)},
		{"socks5h with credentials", mitm.Config{Mode: mitm.SOCKS5, Auth: secret}, func(p *mitm.Proxy) []string {
			return []string{"--proxy", "socks5h://user:secret@" + p.Addr}
		}},
		{"all on one port", mitm.Config{Mode: mitm.Explicit | mitm.ExplicitTLS | mitm.SOCKS5}, viaURL(mitm.SOCKS5)},
		{"transparent", mitm.Config{Mode: mitm.Transparent}, func(p *mitm.Proxy) []string { return []string{"--connect-to", "::" + p.Addr} }},
		{"reverse", mitm.Config{Mode: mitm.Reverse}, func(p *mitm.Proxy) []string { return []string{"--connect-to", "::" + p.Addr} }},
		{"via https", mitm.Config{Via: "https://user:secret@"}, viaURL(mitm.Explicit)},
	} {
		if c.name == "https by h2" && !strings.Contains(run(t, curl, "--help", "all"), "--proxy-http2") {
			continue // as before 8.1; Node and Chromium do the same
		}
		for _, proto := range []string{alpn.HTTP11, alpn.H2} {
			for _, mirror := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s %s mirror %v", c.name, proto, mirror), func(t *testing.T) {
					site := origin.New(t, &origin.Config{CA: authority, ALPN: alpn.Only(proto), Handler: hello})
					proxy := startFor(t, authority, c.cfg, site, proto, mirror)
					at := "https://localhost" + site.Addr[strings.LastIndexByte(site.Addr, ':'):] // with a name there is an SNI
					args := append([]string{
						"--silent", "--show-error", "--disable", "--max-time", "30", "--noproxy", "",
						"--cacert", pem, "--proxy-cacert", pem, "--write-out", " %{http_code} %{http_version}\n", at + "/a", at + "/b",
					}, c.args(proxy)...)
					version := map[string]string{alpn.HTTP11: "1.1", alpn.H2: "2"}[proto]
					assert.Equal(t, strings.Repeat("hello 200 "+version+"\n", 2), run(t, curl, args...), "%s", proxy.Log())
					netlog.RequireConnections(t, proxy.Log(), 1, proto, mitm.Downstream, netlog.Used())
					requireInTurn(t, proxy.Log(), proto, mitm.Upstream)
				})
			}
		}
	}
}

func viaURL(mode mitm.Mode) func(*mitm.Proxy) []string {
	return func(p *mitm.Proxy) []string {
		args := []string{"--proxy", p.URLOf(mode)}
		if u, _ := p.ProxyURL(nil); u.User != nil {
			args = append(args, "--proxy-user", "user:secret")
		}
		return args
	}
}

// startFor starts a proxy on loopback in front of site.
func startFor(t *testing.T, authority *ca.Authority, cfg mitm.Config, site *origin.Server, proto string, mirror bool) *mitm.Proxy {
	t.Helper()
	cfg.CA, cfg.RootCAs = authority, authority.Pool()
	cfg.Downstream.Mirror = mirror
	if !mirror {
		cfg.Downstream.ALPN = alpn.Only(proto)
	}
	return mitm.New(t, onLoopback(t, authority, cfg, site.Addr))
}

// nghttp knows of no proxy, and so of those that it takes for the origin.
func TestNghttpInEveryModeWithoutProxy(t *testing.T) {
	nghttp := tool(t, "nghttp", "Debian package nghttp2-client")
	authority := ca.New(t, nil)
	for _, mode := range []mitm.Mode{mitm.Transparent, mitm.Reverse} {
		for _, up := range []string{alpn.HTTP11, alpn.H2} {
			for _, mirror := range []bool{false, true} {
				if mirror && up != alpn.H2 {
					continue // nghttp speaks nothing else
				}
				t.Run(fmt.Sprintf("%v %s mirror %v", mode, up, mirror), func(t *testing.T) {
					site := origin.New(t, &origin.Config{CA: authority, ALPN: alpn.Only(up), Handler: hello})
					proxy := startFor(t, authority, mitm.Config{Mode: mode}, site, alpn.H2, mirror)
					_, port, _ := strings.Cut(proxy.Addr, ":")
					out := run(t, nghttp, "--timeout=20", "https://localhost:"+port+"/")
					assert.Equal(t, "hello", out)
					netlog.RequireConnections(t, proxy.Log(), 1, alpn.H2, mitm.Downstream, netlog.Used())
					netlog.RequireConnections(t, proxy.Log(), 1, up, mitm.Upstream, netlog.Used())
				})
			}
		}
	}
}

// nodeAsked is what testdata/modes.mjs prints of each URL.
type nodeAsked struct {
	Connect, Stream, Status, Length int
	Protocol                        string
}

// Node speaks HTTP/2 with the proxy, and opens tunnel after tunnel in it. Each
// carries more than a window.
func TestNodeOverHTTP2WithTheProxy(t *testing.T) {
	node := tool(t, "node", "Debian package nodejs")
	authority := ca.New(t, nil)
	pem := write(t, t.TempDir(), "ca.pem", authority.PEM())
	body := bytes.Repeat([]byte("x"), 300_000)
	for _, mirror := range []bool{false, true} {
		t.Run(fmt.Sprint("mirror ", mirror), func(t *testing.T) {
			site := origin.New(t, &origin.Config{CA: authority, Handler: handler(func(w http.ResponseWriter, r *http.Request) { w.Write(body) })})
			cfg := mitm.Config{Mode: mitm.ExplicitTLS, Auth: secret}
			proxy := startFor(t, authority, cfg, site, alpn.H2, mirror)
			ask := func(credentials string, urls ...string) (saw []nodeAsked) {
				out := run(t, node, append([]string{"testdata/modes.mjs", proxy.URL, pem, credentials}, urls...)...)
				require.NoError(t, json.Unmarshal([]byte(out), &saw), out)
				return saw
			}
			whole := func(stream int) nodeAsked { return nodeAsked{200, stream, 200, len(body), "h2"} }
			assert.Equal(t, []nodeAsked{whole(1), whole(3), whole(5)}, ask("user:secret", site.URL, site.URL, site.URL))
			assert.Equal(t, []nodeAsked{{Connect: 407, Stream: 1}}, ask("user:wrong", site.URL))
			netlog.RequireConnections(t, proxy.Log(), 3, alpn.H2, mitm.Downstream, netlog.Used())
			netlog.RequireConnections(t, proxy.Log(), 1, alpn.H2, mitm.Upstream, netlog.Used())
		})
	}
}

// Go's own clients, by the means of net/http alone.
func TestGoClientsByProxyURL(t *testing.T) {
	authority := ca.New(t, nil)
	for _, mode := range []mitm.Mode{mitm.Explicit, mitm.ExplicitTLS, mitm.SOCKS5} {
		for _, proto := range []string{alpn.HTTP11, alpn.H2} {
			t.Run(fmt.Sprint(mode, " ", proto), func(t *testing.T) {
				site := origin.New(t, &origin.Config{CA: authority, Handler: hello})
				cfg := mitm.Config{Mode: mode, Auth: secret}
				if mode == mitm.ExplicitTLS {
					cfg.Outer.ALPN = alpn.Only(alpn.HTTP11) // which is all that net/http speaks with a proxy
				}
				proxy := startFor(t, authority, cfg, site, proto, false)
				at, err := url.Parse(proxy.URL)
				require.NoError(t, err)
				at.User = secret
				tr := &http.Transport{Proxy: http.ProxyURL(at), TLSClientConfig: authority.ClientTLS(), ForceAttemptHTTP2: true}
				defer tr.CloseIdleConnections()
				for range 3 {
					resp, err := (&http.Client{Transport: tr}).Get(site.URL)
					require.NoError(t, err, "%s", proxy.Log())
					assert.Equal(t, "hello", text(t, resp))
				}
				requireInTurn(t, proxy.Log(), proto, mitm.Downstream, netlog.Used())
			})
		}
	}
}

// x/net's HTTP/2, which dials for itself.
func TestHTTP2TransportByTunnel(t *testing.T) {
	for _, m := range eachMode() {
		t.Run(m.name, func(t *testing.T) {
			linkdelay.EachWorld(t, linkdelay.Link{}, func(t *testing.T, network *linkdelay.Network) {
				authority := ca.New(t, nil)
				site := origin.New(t, &origin.Config{CA: authority, Net: network.Host("origin.test"), Handler: hello})
				cfg := m.cfg
				cfg.Net, cfg.CA, cfg.RootCAs = network.Host("proxy.test"), authority, authority.Pool()
				cfg = leadTo(t, network, authority, cfg, site.Addr)
				proxy := mitm.New(t, &cfg)
				tr := &http2.Transport{DialTLSContext: func(ctx context.Context, proto, address string, _ *tls.Config) (net.Conn, error) {
					conn, err := proxy.Tunnel(network.Host("pc.test"))(ctx, proto, address)
					if err != nil {
						return nil, err
					}
					cfg := alpn.Only(alpn.H2).Client(authority.ClientTLS())
					cfg.ServerName = "origin.test"
					secured := tls.Client(conn, cfg)
					return secured, secured.HandshakeContext(ctx)
				}}
				defer tr.CloseIdleConnections()
				for range 3 {
					resp, err := (&http.Client{Transport: tr}).Get(site.URL)
					require.NoError(t, err, "%s", proxy.Log())
					assert.Equal(t, "hello", text(t, resp))
				}
				netlog.RequireConnections(t, proxy.Log(), 1, alpn.H2, mitm.Downstream, netlog.Used())
			})
		})
	}
}
