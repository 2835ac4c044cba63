package mitm_test

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/wiretest/alpn"
	"example.com/wiretest/linkdelay"
	"example.com/wiretest/mitm"
	"example.com/wiretest/netlog"
	"example.com/wiretest/origin"
)

// What was written to a tunnel arrives whole, and its close as an end and no reset,
// as on the connection that it stands for.
func TestClosedTunnelEndsWhole(t *testing.T) {
	for name, cfg := range map[string]mitm.Config{
		"explicit":             {},
		"explicit over TLS h1": {Mode: mitm.ExplicitTLS, Outer: mitm.Leg{ALPN: alpn.Only(alpn.HTTP11)}},
		"explicit over TLS h2": {Mode: mitm.ExplicitTLS, Outer: mitm.Leg{ALPN: alpn.Only(alpn.H2)}},
		"SOCKS5":               {Mode: mitm.SOCKS5},
	} {
		t.Run(name, func(t *testing.T) {
			linkdelay.EachWorld(t, linkdelay.Link{}, func(t *testing.T, network *linkdelay.Network) {
				type outcome struct {
					text string
					err  error
				}
				heard := make(chan outcome, 1)
				addr := accepting(t, network.Host("origin.test"), func(conn net.Conn) {
					text, err := io.ReadAll(conn)
					heard <- outcome{string(text), err}
				})
				cfg := cfg
				cfg.Net, cfg.Passthrough = network.Host("proxy.test"), []string{"origin.test"}
				proxy := mitm.New(t, &cfg)
				for range 10 {
					conn, err := proxy.Tunnel(network.Host("pc.test"))(t.Context(), "tcp", addr)
					require.NoError(t, err)
					text := strings.Repeat("last words ", 1000)
					_, err = io.WriteString(conn, text)
					require.NoError(t, err)
					require.NoError(t, conn.Close())
					got := <-heard
					if got.err != nil || len(got.text) != len(text) {
						up := proxy.Log().Connections(mitm.Upstream)
						t.Errorf("%d of %d bytes arrived, and then %v; the proxy: %s", len(got.text), len(text), got.err, up[len(up)-1].CloseReason)
					}
				}
			})
		})
	}
}

// An origin that has more to say, or nothing and does not end, is not waited for.
func TestClosedTunnelWaitsNotForEver(t *testing.T) {
	for name, serve := range map[string]func(net.Conn){
		"silent": func(conn net.Conn) {
			io.Copy(io.Discard, conn)
			time.Sleep(time.Minute)
		},
		"endless": func(conn net.Conn) {
			for err := error(nil); err == nil; {
				_, err = conn.Write(make([]byte, 10_000))
				time.Sleep(time.Millisecond)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				network := linkdelay.NewNetwork(t, linkdelay.Link{})
				addr := accepting(t, network.Host("origin.test"), serve)
				proxy := mitm.New(t, &mitm.Config{Mode: mitm.ExplicitTLS, Net: network.Host("proxy.test"), Passthrough: []string{"origin.test"}})
				conn, err := proxy.Tunnel(network.Host("pc.test"))(t.Context(), "tcp", addr)
				require.NoError(t, err)
				began := time.Now()
				require.NoError(t, conn.Close())
				require.Zero(t, time.Since(began))
				time.Sleep(time.Second)
				within := proxy.Log().Connections(mitm.Downstream)[0]
				require.Equal(t, 250*time.Millisecond, within.Closed.Sub(began), "%v", proxy.Log())
			})
		})
	}
}

// TestTunnelsOfATransportEnd: net/http holds a lock while it closes a connection,
// for which others wait who would not let virtual time go on.
func TestTunnelsOfATransportEnd(t *testing.T) {
	for _, outer := range []string{alpn.HTTP11, alpn.H2} {
		t.Run(outer, func(t *testing.T) {
			linkdelay.EachWorld(t, linkdelay.RTT(20*time.Millisecond), func(t *testing.T, network *linkdelay.Network) {
				site := origin.New(t, &origin.Config{Net: network.Host("origin.test"), Handler: hello, ALPN: alpn.Only(alpn.HTTP11)})
				proxy := mitm.New(t, &mitm.Config{
					Mode: mitm.ExplicitTLS, Net: network.Host("proxy.test"), Outer: mitm.Leg{ALPN: alpn.Only(outer)},
					RootCAs: site.CA().Pool(), Downstream: mitm.Leg{ALPN: alpn.Only(alpn.HTTP11)},
				})
				client := &http.Client{Transport: proxy.Transport(network.Host("pc.test"))}
				for range 3 {
					resp, err := client.Get(site.URL)
					require.NoError(t, err)
					require.Equal(t, "hello", text(t, resp))
					client.CloseIdleConnections()
				}
				netlog.RequireConnections(t, proxy.Log(), 3, alpn.HTTP11, mitm.Downstream, netlog.Used())
			})
		})
	}
}
