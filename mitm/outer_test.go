package mitm_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"

	"example.com/wiretest/alpn"
	"example.com/wiretest/linkdelay"
	"example.com/wiretest/mitm"
	"example.com/wiretest/netlog"
	"example.com/wiretest/origin"
)

// outerH2 is a raw client's HTTP/2 with the proxy itself.
func outerH2(t *testing.T, network *linkdelay.Network, proxy *mitm.Proxy) *rawH2 {
	t.Helper()
	conn := tls.Client(dialProxy(t, network, proxy), alpn.Only(alpn.H2).Client(&tls.Config{RootCAs: proxy.CA().Pool(), ServerName: "proxy.test"}))
	require.NoError(t, conn.Handshake())
	c := newRawH2(t, conn, nil)
	require.NoError(t, c.greet())
	var wg sync.WaitGroup
	wg.Go(c.run)
	t.Cleanup(wg.Wait)
	t.Cleanup(func() { conn.NetConn().Close() })
	return c
}

func (c *rawH2) call(t *testing.T) *side {
	return &side{call: c.open(""), t: t, name: "client", proto: alpn.H2, client: true}
}

// A tunnel in HTTP/2 carries more than any window, at once both ways, and each
// end of it by itself.
func TestTunnelInHTTP2(t *testing.T) {
	for _, n := range []int{65_535, 65_536, 65_537, 3 << 20} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			linkdelay.EachWorld(t, linkdelay.Link{}, func(t *testing.T, network *linkdelay.Network) {
				addr := accepting(t, network.Host("echo.test"), func(conn net.Conn) {
					io.Copy(conn, conn)
					io.WriteString(conn, "and that was all")
				})
				proxy := mitm.New(t, &mitm.Config{Mode: mitm.ExplicitTLS, Net: network.Host("proxy.test"), Passthrough: []string{"echo.test"}})
				s := outerH2(t, network, proxy).call(t)
				s.head("CONNECT "+addr, unknown)
				assert.Empty(t, s.wantHead("200"))
				large := strings.Repeat("0123456789abcdef", n/16+1)[:n]
				var wg sync.WaitGroup
				wg.Go(func() {
					s.data(large)
					s.end()
				})
				s.wantData(large + "and that was all")
				s.wantEnd()
				wg.Wait()
			})
		})
	}
}

// The origin may end first, and still hear the client.
func TestTunnelInHTTP2IsHalfClosed(t *testing.T) {
	linkdelay.EachWorld(t, linkdelay.Link{}, func(t *testing.T, network *linkdelay.Network) {
		heard := make(chan string, 1)
		addr := accepting(t, network.Host("site.test"), func(conn net.Conn) {
			io.WriteString(conn, "bye")
			conn.(interface{ CloseWrite() error }).CloseWrite()
			b, _ := io.ReadAll(conn)
			heard <- string(b)
		})
		proxy := mitm.New(t, &mitm.Config{Mode: mitm.ExplicitTLS, Net: network.Host("proxy.test"), Passthrough: []string{"site.test"}})
		s := outerH2(t, network, proxy).call(t)
		s.head("CONNECT "+addr, unknown)
		s.wantHead("200")
		s.wantData("bye")
		s.wantEnd()
		s.data("wait, ")
		s.data("one more thing")
		s.end()
		assert.Equal(t, "wait, one more thing", <-heard)
	})
}

// A reset of either end is one on the other; on the stream it is CONNECT_ERROR.
func TestTunnelInHTTP2IsReset(t *testing.T) {
	linkdelay.EachWorld(t, linkdelay.Link{}, func(t *testing.T, network *linkdelay.Network) {
		gone := make(chan error, 2)
		addr := accepting(t, network.Host("site.test"), func(conn net.Conn) {
			first := make([]byte, 1)
			io.ReadFull(conn, first)
			if first[0] == 'r' {
				resetConn(conn)
				gone <- nil
				return
			}
			conn.Write(first)
			_, err := io.ReadAll(conn)
			gone <- err
		})
		proxy := mitm.New(t, &mitm.Config{Mode: mitm.ExplicitTLS, Net: network.Host("proxy.test"), Passthrough: []string{"site.test"}})
		c := outerH2(t, network, proxy)
		one, other := c.call(t), c.call(t)
		one.head("CONNECT "+addr, unknown)
		one.wantHead("200")
		one.data("r")
		one.wantReset(http2.ErrCodeConnect)
		require.NoError(t, <-gone)
		other.head("CONNECT "+addr, unknown) // the connection goes on
		other.wantHead("200")
		other.data("x")
		other.wantData("x")
		other.reset(http2.ErrCodeCancel)
		assert.Error(t, <-gone, "the origin sees a reset, not an end")
	})
}

func TestTunnelInHTTP2IsRefused(t *testing.T) {
	linkdelay.EachWorld(t, linkdelay.Link{}, func(t *testing.T, network *linkdelay.Network) {
		proxy := mitm.New(t, &mitm.Config{
			Mode: mitm.ExplicitTLS, Auth: secret, Net: network.Host("proxy.test"), Passthrough: []string{"nowhere.test"},
		})
		c := outerH2(t, network, proxy)
		const pass = "Proxy-Authorization: Basic dXNlcjpzZWNyZXQ="
		for _, x := range []struct{ target, status, reason, auth string }{
			{"nowhere.test:1", "407", "mitm: proxy authentication: no Proxy-Authorization\n", ""},
			{"nowhere.test:1", "502", "mitm: upstream leg: dial nowhere.test:1: no such host", pass},
			{"nowhere.test", "400", "mitm: CONNECT: \"nowhere.test\": want host:port\n", pass},
		} {
			s := c.call(t)
			var fields []string
			if x.auth != "" {
				fields = []string{x.auth}
			}
			s.head("CONNECT "+x.target, unknown, fields...)
			h := s.wantHead(x.status)
			assert.Equal(t, x.auth == "", h.Get("Proxy-Authenticate") != "")
			s.wantData(x.reason)
		}
		netlog.RequireConnections(t, proxy.Log(), 0, "", mitm.Downstream, netlog.Used())
		for _, q := range proxy.Log().Requests(mitm.Downstream) {
			assert.Contains(t, []int{407, 502, 400}, q.Status)
		}
	})
}

// Requests that need no tunnel: :scheme says what is spoken with the origin.
func TestRequestsToAProxyOfHTTP2(t *testing.T) {
	for _, plain := range []bool{false, true} {
		t.Run(fmt.Sprint("plain ", plain), func(t *testing.T) {
			s := setting{
				origin: origin.Config{Plain: plain, Handler: handler(func(w http.ResponseWriter, r *http.Request) {
					fmt.Fprintf(w, "%s%s%v%t", r.Host, r.RequestURI, r.Header["Proxy-Authorization"], r.TLS != nil)
				})},
				proxy: mitm.Config{Mode: mitm.ExplicitTLS, Auth: secret},
			}
			linkdelay.EachWorld(t, linkdelay.Link{}, func(t *testing.T, network *linkdelay.Network) {
				st := setUp(t, network, s)
				c := outerH2(t, network, st.proxy)
				const pass = "Proxy-Authorization: Basic dXNlcjpzZWNyZXQ="
				ask := func(scheme string, fields ...string) *side {
					s := c.call(t)
					s.authority(st.site.Addr)
					s.call.(*rawH2Call).scheme = scheme
					s.head("GET /x?y", nothing, fields...)
					return s
				}
				scheme := strings.TrimSuffix(st.site.URL, "://"+st.site.Addr)
				ask(scheme).wantHead("407")
				s := ask(scheme, pass)
				s.wantHead("200")
				s.wantData(fmt.Sprintf("%s/x?y[]%t", st.site.Addr, !plain))
				s.wantEnd()
				ask("ftp", pass).wantReset(http2.ErrCodeProtocol) // net/http knows http and https only
				netlog.RequireConnections(t, st.proxy.Log(), 1, alpn.H2, mitm.Downstream)
				assert.Len(t, st.proxy.Log().Pairs(), 1)
				assert.Equal(t, st.site.URL+"/x?y", st.proxy.Log().Requests(mitm.Upstream)[0].URL)
			})
		})
	}
}

// By http/1.1 with the proxy, an absolute URL is as without TLS.
func TestAbsoluteURLOverTLS(t *testing.T) {
	linkdelay.EachWorld(t, linkdelay.Link{}, func(t *testing.T, network *linkdelay.Network) {
		s := setUp(t, network, setting{origin: origin.Config{Plain: true, Handler: hello}, proxy: mitm.Config{Mode: mitm.ExplicitTLS}})
		tr := &http.Transport{
			Proxy:           s.proxy.ProxyURL,
			DialContext:     network.Host("pc.test").DialContext,
			TLSClientConfig: &tls.Config{RootCAs: s.proxy.CA().Pool()},
		}
		defer tr.CloseIdleConnections()
		s.client.Transport = tr
		for range 2 {
			_, body := s.get(t, "/")
			assert.Equal(t, "hello", body)
		}
		requireInTurn(t, s.proxy.Log(), alpn.HTTP11, mitm.Downstream)
		assert.Len(t, s.proxy.Log().Requests(mitm.Downstream), 2)
	})
}

// What counts is tunnels: the connection around them carries no request.
func TestTunnelsAreCounted(t *testing.T) {
	linkdelay.EachWorld(t, linkdelay.Link{}, func(t *testing.T, network *linkdelay.Network) {
		s := setUp(t, network, setting{origin: origin.Config{Handler: hello}, proxy: mitm.Config{Mode: mitm.ExplicitTLS}})
		s.get(t, "/")
		netlog.RequireConnections(t, s.proxy.Log(), 1, alpn.H2, mitm.Downstream, netlog.Used())
		all := s.proxy.Log().Connections(mitm.Downstream)
		require.Len(t, all, 2)
		assert.Equal(t, "CONNECT on connection 1, stream 1", all[1].OpenReason)
		assert.Equal(t, s.site.Addr, all[1].Host)
		assert.NotEmpty(t, all[1].Proxy)
		assert.Equal(t, []string{"h2", "http/1.1"}, all[0].Offered)
	})
}

// A tunnel ends though its client does not read what waits for it.
func TestTunnelInHTTP2EndsUnread(t *testing.T) {
	linkdelay.EachWorld(t, linkdelay.Link{}, func(t *testing.T, network *linkdelay.Network) {
		full, gone := make(chan struct{}), make(chan struct{})
		addr := accepting(t, network.Host("site.test"), func(conn net.Conn) {
			io.WriteString(conn, strings.Repeat("x", 65_535+1))
			<-full
			resetConn(conn)
			close(gone)
		})
		proxy := mitm.New(t, &mitm.Config{Mode: mitm.ExplicitTLS, Net: network.Host("proxy.test"), Passthrough: []string{"site.test"}})
		s := outerH2(t, network, proxy).call(t)
		s.call.(*rawH2Call).slow = true
		s.head("CONNECT "+addr, unknown)
		s.wantHead("200")
		s.wantData(strings.Repeat("x", 65_535))
		close(full)
		<-gone
		for range 10 { // of which one finds that the origin has gone
			s.data("u")
			time.Sleep(10 * time.Millisecond)
		}
		s.wantReset(http2.ErrCodeConnect)
	})
}
