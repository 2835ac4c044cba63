package mitm_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/alpn"
	"example.com/wiretest/ca"
	"example.com/wiretest/linkdelay"
	"example.com/wiretest/mitm"
	"example.com/wiretest/netlog"
	"example.com/wiretest/origin"
)

// accepting serves each connection of a listener on host by itself.
func accepting(t testing.TB, host *linkdelay.Host, serve func(net.Conn)) (addr string) {
	t.Helper()
	l, err := host.Listen(t.Context(), "tcp", ":0")
	require.NoError(t, err)
	var wg sync.WaitGroup
	ctx, cancel := context.WithCancel(context.Background())
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer context.AfterFunc(ctx, func() { conn.Close() })()
				defer conn.Close()
				serve(conn)
			})
		}
	})
	t.Cleanup(func() {
		cancel()
		l.Close()
		wg.Wait()
	})
	return l.Addr().String()
}

// afterHandshake serves TLS by authority.
func afterHandshake(authority *ca.Authority, policy alpn.Policy, serve func(*tls.Conn)) func(net.Conn) {
	cfg := policy.Server(authority.ServerTLS())
	return func(conn net.Conn) {
		secured := tls.Server(conn, cfg)
		if secured.Handshake() == nil {
			serve(secured)
		}
	}
}

func TestOriginsThatFail(t *testing.T) {
	for _, c := range []struct {
		name   string
		site   func(t *testing.T, host *linkdelay.Host, authority *ca.Authority) (addr string)
		proxy  mitm.Config
		reason string // with ADDR
	}{
		{
			name:   "refused",
			site:   func(*testing.T, *linkdelay.Host, *ca.Authority) string { return "origin.test:7" },
			reason: "dial ADDR: connection refused",
		},
		{
			name:   "unknown name",
			site:   func(*testing.T, *linkdelay.Host, *ca.Authority) string { return "nowhere.test:443" },
			reason: "dial ADDR: no such host",
		},
		{
			name: "certificate not trusted",
			site: func(t *testing.T, host *linkdelay.Host, _ *ca.Authority) string {
				return origin.New(t, &origin.Config{Net: host, Handler: hello}).Addr
			},
			reason: "TLS with ADDR: tls: failed to verify certificate: x509: certificate signed by unknown authority",
		},
		{
			name: "no common protocol",
			site: func(t *testing.T, host *linkdelay.Host, authority *ca.Authority) string {
				return origin.New(t, &origin.Config{Net: host, Handler: hello, CA: authority, ALPN: alpn.Only(alpn.H2)}).Addr
			},
			proxy:  mitm.Config{Upstream: mitm.Leg{ALPN: alpn.Prefer(alpn.HTTP11)}},
			reason: "TLS with ADDR: remote error: tls: no application protocol",
		},
		{
			name: "hangs up in the handshake",
			site: func(t *testing.T, host *linkdelay.Host, _ *ca.Authority) string {
				return accepting(t, host, func(conn net.Conn) { conn.Read(make([]byte, 4096)) })
			},
			reason: "TLS with ADDR: the origin closed the connection",
		},
		{
			name: "hangs up before the answer",
			site: func(t *testing.T, host *linkdelay.Host, authority *ca.Authority) string {
				return accepting(t, host, afterHandshake(authority, alpn.None(), func(conn *tls.Conn) {
					conn.Read(make([]byte, 4096))
				}))
			},
			reason: "ADDR: the origin closed the connection before it answered",
		},
		{
			name: "answers nonsense",
			site: func(t *testing.T, host *linkdelay.Host, authority *ca.Authority) string {
				return accepting(t, host, afterHandshake(authority, alpn.None(), func(conn *tls.Conn) {
					conn.Read(make([]byte, 4096))
					io.WriteString(conn, "nonsense\r\n\r\n")
					io.Copy(io.Discard, conn)
				}))
			},
			reason: `ADDR: net/http: HTTP/1.x transport connection broken: malformed HTTP response "nonsense"`,
		},
		{
			name: "switches protocols",
			site: func(t *testing.T, host *linkdelay.Host, authority *ca.Authority) string {
				return accepting(t, host, afterHandshake(authority, alpn.None(), func(conn *tls.Conn) {
					conn.Read(make([]byte, 4096))
					io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n")
					io.Copy(io.Discard, conn)
				}))
			},
			reason: "ADDR: 101 Switching Protocols, which nobody asked for",
		},
	} {
		for _, down := range []string{alpn.HTTP11, alpn.H2} {
			t.Run(c.name+" "+down, func(t *testing.T) {
				linkdelay.EachWorld(t, linkdelay.Link{}, func(t *testing.T, network *linkdelay.Network) {
					authority := ca.New(t, nil)
					addr := c.site(t, network.Host("origin.test"), authority)
					cfg := c.proxy
					cfg.Net, cfg.RootCAs = network.Host("proxy.test"), authority.Pool()
					cfg.Downstream.ALPN = alpn.Only(down)
					proxy := mitm.New(t, &cfg)
					client := &http.Client{Transport: proxy.Transport(network.Host("pc.test"))}
					resp, err := client.Get("https://" + addr + "/")
					require.NoError(t, err)
					assert.Equal(t, http.StatusBadGateway, resp.StatusCode)
					assert.Equal(t, "text/plain; charset=utf-8", resp.Header.Get("Content-Type"))
					want := "upstream leg: " + replaceAddr(c.reason, addr)
					assert.Equal(t, "mitm: "+want+"\n", short(text(t, resp)))

					downs, ups := proxy.Log().Requests(mitm.Downstream), proxy.Log().Requests(mitm.Upstream)
					require.Len(t, downs, 1)
					require.Len(t, ups, 1)
					assert.Equal(t, http.StatusBadGateway, downs[0].Status)
					assert.Equal(t, ups[0].ID, downs[0].Pair)
					assert.Equal(t, "https://"+addr+"/", ups[0].URL)
					if ups[0].Status == 0 {
						assert.NotEmpty(t, ups[0].Err)
					}
					if ups[0].Connection == nil {
						assert.Equal(t, want, short(ups[0].Err))
						assert.NotEmpty(t, proxy.Log().Connections(mitm.Upstream)[0].CloseReason)
					}
					if n := len(proxy.Log().Connections(mitm.Upstream)); n != 1 {
						t.Errorf("the origin was dialled %d times, want once:\n%s", n, proxy.Log())
					}
				})
			})
		}
	}
}

func TestBrokenAnswerIsBrokenForTheClientToo(t *testing.T) {
	for name, head := range map[string]string{
		"known length": "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf",
		"chunked":      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
	} {
		for _, down := range []string{alpn.HTTP11, alpn.H2} {
			t.Run(name+" "+down, func(t *testing.T) {
				linkdelay.EachWorld(t, linkdelay.Link{}, func(t *testing.T, network *linkdelay.Network) {
					authority := ca.New(t, nil)
					addr := accepting(t, network.Host("origin.test"), afterHandshake(authority, alpn.None(), func(conn *tls.Conn) {
						conn.Read(make([]byte, 4096))
						io.WriteString(conn, head)
					}))
					proxy := mitm.New(t, &mitm.Config{
						Net: network.Host("proxy.test"), RootCAs: authority.Pool(),
						Downstream: mitm.Leg{ALPN: alpn.Only(down)},
					})
					client := &http.Client{Transport: proxy.Transport(network.Host("pc.test"))}
					resp, err := client.Get("https://" + addr)
					require.NoError(t, err)
					defer resp.Body.Close()
					body, err := io.ReadAll(resp.Body)
					assert.Equal(t, "half", string(body))
					assert.Error(t, err, "a clean end")
					for _, q := range proxy.Log().Requests() {
						synctestSettle(t, func() bool { return len(proxy.Log().Requests(q.Leg)) == 1 && proxy.Log().Requests(q.Leg)[0].Err != "" })
					}
				})
			})
		}
	}
}

// An answer that ends with its connection is whole, with or without a stated
// length.
func TestAnswerThatEndsWithItsConnection(t *testing.T) {
	for _, down := range []string{alpn.HTTP11, alpn.H2} {
		t.Run(down, func(t *testing.T) {
			linkdelay.EachWorld(t, linkdelay.Link{}, func(t *testing.T, network *linkdelay.Network) {
				authority := ca.New(t, nil)
				addr := accepting(t, network.Host("origin.test"), afterHandshake(authority, alpn.None(), func(conn *tls.Conn) {
					conn.Read(make([]byte, 4096))
					io.WriteString(conn, "HTTP/1.0 200 OK\r\n\r\nall of it")
				}))
				proxy := mitm.New(t, &mitm.Config{
					Net: network.Host("proxy.test"), RootCAs: authority.Pool(),
					Downstream: mitm.Leg{ALPN: alpn.Only(down)},
				})
				client := &http.Client{Transport: proxy.Transport(network.Host("pc.test"))}
				for range 2 {
					resp, err := client.Get("https://" + addr)
					require.NoError(t, err)
					assert.Equal(t, "all of it", text(t, resp))
				}
				requireInTurn(t, proxy.Log(), down, mitm.Downstream)
				netlog.RequireConnections(t, proxy.Log(), 2, "", mitm.Upstream, netlog.Used())
			})
		})
	}
}

func TestExpiredLeafIsRefusedByTheClient(t *testing.T) {
	s := serving(hello)
	s.proxy.CA = ca.New(t, &ca.Config{Leaf: ca.Expired})
	eachWorld(t, s, func(t *testing.T, s *stage) {
		_, err := s.client.Get(s.site.URL)
		var invalid x509.CertificateInvalidError
		require.True(t, errors.As(err, &invalid), "%v", err)
		assert.Equal(t, x509.Expired, invalid.Reason)
		netlog.RequireConnections(t, s.proxy.Log(), 0, "", mitm.Downstream, netlog.Used())
		netlog.RequireConnections(t, s.proxy.Log(), 0, "", mitm.Upstream)
		synctestSettle(t, func() bool { return s.proxy.Log().Connections()[0].CloseReason != "" })
		assert.Contains(t, s.proxy.Log().Connections()[0].CloseReason, "the client refused: remote error: tls: bad certificate")
	})
}
