package mitm_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/alpn"
	"example.com/wiretest/linkdelay"
	"example.com/wiretest/mitm"
)

// beginning is something of a mode that would last for ever. It returns when
// it is under way, and what it leaves open the test closes.
type beginning struct {
	name  string
	cfg   mitm.Config
	begin func(t *testing.T, network *linkdelay.Network, proxy *mitm.Proxy)
}

func beginnings() []beginning {
	says := func(name string, cfg mitm.Config, says string, hears int) beginning {
		return beginning{name, cfg, func(t *testing.T, network *linkdelay.Network, proxy *mitm.Proxy) {
			conn := dialProxy(t, network, proxy)
			io.WriteString(conn, says)
			_, err := io.ReadFull(conn, make([]byte, hears))
			require.NoError(t, err)
		}}
	}
	socks := mitm.Config{Mode: mitm.SOCKS5, Passthrough: []string{"silent.test"}}
	overTLS := mitm.Config{Mode: mitm.ExplicitTLS, Passthrough: []string{"silent.test"}}
	const hello = "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"
	return []beginning{
		says("SOCKS: half a greeting", socks, "\x05\x02", 0),
		says("SOCKS: half of credentials", mitm.Config{Mode: mitm.SOCKS5, Auth: secret}, "\x05\x01\x02\x01\x04u", 2),
		says("SOCKS: half a request", socks, "\x05\x01\x00\x05\x01\x00\x03\x0bori", 2),
		says("SOCKS: idle", socks, "\x05\x01\x00"+connectToName, 12),
		says("SOCKS: half a handshake", socks, "\x05\x01\x00"+connectToName+hello, 12),
		says("SOCKS: tunnel", socks, "\x05\x01\x00\x05\x01\x00\x03\x0bsilent.test\x00\x09", 12),
		says("TLS: half a handshake", overTLS, hello, 0),
		says("transparent: half a handshake", mitm.Config{Mode: mitm.Transparent}, hello, 0),
		says("reverse: half a handshake", mitm.Config{Mode: mitm.Reverse, Origin: "https://silent.test:9"}, hello, 0),
		says("asked for credentials", mitm.Config{Auth: secret}, "CONNECT a.test:1 HTTP/1.1\r\n\r\n", 12),
		{"TLS: half a CONNECT", overTLS, func(t *testing.T, network *linkdelay.Network, proxy *mitm.Proxy) {
			conn := tls.Client(dialProxy(t, network, proxy), alpn.Only(alpn.HTTP11).Client(&tls.Config{RootCAs: proxy.CA().Pool(), ServerName: "proxy.test"}))
			require.NoError(t, conn.Handshake())
			io.WriteString(conn, "CONNECT a.test:1 HT")
		}},
		{"h2: idle", overTLS, func(t *testing.T, network *linkdelay.Network, proxy *mitm.Proxy) {
			outerH2(t, network, proxy)
		}},
		{"h2: tunnels", overTLS, func(t *testing.T, network *linkdelay.Network, proxy *mitm.Proxy) {
			c := outerH2(t, network, proxy)
			for _, to := range []string{"silent.test:9", "silent.test:9", "intercepted.test:9"} {
				s := c.call(t)
				s.head("CONNECT "+to, unknown)
				s.wantHead("200")
				s.data("\x16\x03\x01\x02\x00\x01")
			}
		}},
		{"h2: tunnel that nobody reads", overTLS, func(t *testing.T, network *linkdelay.Network, proxy *mitm.Proxy) {
			s := outerH2(t, network, proxy).call(t)
			s.call.(*rawH2Call).slow = true
			s.head("CONNECT endless.test:9", unknown)
			s.wantHead("200")
			for got := 0; got < 65_535; {
				e := s.next()
				require.Equal(t, "data", e.kind)
				got += len(e.data)
			}
		}},
		{"h2: tunnel to an origin that does not read", overTLS, func(t *testing.T, network *linkdelay.Network, proxy *mitm.Proxy) {
			s := outerH2(t, network, proxy).call(t)
			s.head("CONNECT silent.test:9", unknown)
			s.wantHead("200")
			s.data(strings.Repeat("x", 200_000))
		}},
		{"via: a proxy that says nothing", mitm.Config{Via: "http://silent.test:9"}, askViaSilence},
		{"via: a SOCKS proxy that says nothing", mitm.Config{Via: "socks5://silent.test:9"}, askViaSilence},
		{"via: a handshake that is not answered", mitm.Config{Via: "https://silent.test:9"}, askViaSilence},
	}
}

func askViaSilence(t *testing.T, network *linkdelay.Network, proxy *mitm.Proxy) {
	client := &http.Client{Transport: proxy.Transport(network.Host("pc.test"))}
	var wg sync.WaitGroup
	wg.Go(func() {
		resp, err := client.Get("https://origin.test/")
		if err == nil {
			resp.Body.Close()
		}
	})
	t.Cleanup(wg.Wait)
	synctestSettle(t, func() bool {
		up := proxy.Log().Connections(mitm.Upstream)
		return len(up) == 1 && up[0].Local != "" || len(up) == 1 && up[0].Proxy != ""
	})
}

func TestCloseInEveryMode(t *testing.T) {
	for _, b := range beginnings() {
		t.Run(b.name, func(t *testing.T) {
			linkdelay.EachWorld(t, linkdelay.Link{}, func(t *testing.T, network *linkdelay.Network) {
				over := make(chan struct{})
				sites := map[string]string{
					"silent.test:9": accepting(t, network.Host("silent.test"), func(net.Conn) { <-over }),
					"endless.test:9": accepting(t, network.Host("endless.test"), func(conn net.Conn) {
						for err := error(nil); err == nil; {
							_, err = conn.Write(make([]byte, 10_000))
						}
					}),
				}
				t.Cleanup(func() { close(over) })
				cfg := b.cfg
				cfg.Net = network.Host("proxy.test")
				cfg.Dial = func(ctx context.Context, proto, address string) (net.Conn, error) {
					return network.Host("proxy.test").DialContext(ctx, proto, sites[address])
				}
				cfg.Passthrough = append(cfg.Passthrough, "endless.test")
				proxy := mitm.New(t, &cfg)
				b.begin(t, network, proxy)
				start := time.Now()
				require.NoError(t, proxy.Close())
				if took := time.Since(start); took > 2*time.Second && inVirtualTime(t) {
					t.Errorf("Close took %v", took)
				}
				for _, c := range proxy.Log().Connections() {
					assert.NotEmpty(t, c.CloseReason, "%s leg", c.Leg)
				}
				require.NoError(t, proxy.Close(), "a second time")
			})
		})
	}
}

// What hangs in spite of all is named, wherever it is.
func TestCloseNamesWhatHangsInEveryMode(t *testing.T) {
	for _, c := range []struct {
		mode mitm.Mode
		want string
	}{
		{mitm.ExplicitTLS, "mitm: close: still running: CONNECT origin.test:443 (5.0s)"},
		{mitm.SOCKS5, " to origin.test:443 (5.0s)"},
		{mitm.Transparent, " to origin.test:443 (5.0s)"},
		{mitm.Reverse, " to origin.test:443 (5.0s)"},
	} {
		t.Run(c.mode.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				network := linkdelay.NewNetwork(t, linkdelay.Link{})
				release, inside := make(chan struct{}), make(chan struct{})
				cfg := mitm.Config{Mode: c.mode, Net: network.Host("proxy.test")}
				if c.mode == mitm.Reverse {
					cfg.Origin = "https://origin.test"
				}
				cfg.Downstream.TLS = &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
					close(inside)
					<-release
					return nil, errors.New("too late")
				}}
				proxy, err := mitm.Start(&cfg)
				require.NoError(t, err)
				go (&http.Client{Transport: proxy.Transport(network.Host("pc.test"))}).Get("https://origin.test/")
				<-inside
				start := time.Now()
				assert.ErrorContains(t, proxy.Close(), c.want)
				assert.Equal(t, 5*time.Second, time.Since(start))
				close(release)
			})
		})
	}
}
