package h3_test

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/alpn"
	"example.com/wiretest/ca"
	"example.com/wiretest/linkdelay"
	"example.com/wiretest/mitm"
	"example.com/wiretest/mitm/h3"
	"example.com/wiretest/netlog"
	recording "example.com/wiretest/netlog/h3"
	"example.com/wiretest/origin"
)

// A limit of streams, the origin's or the leg's, holds requests back, and the Log
// says so.
func TestStreamLimits(t *testing.T) {
	for _, s := range []setting{
		{origin: origin.Config{MaxConcurrentStreams: 2}},
		{proxy: mitm.Config{Upstream: mitm.Leg{MaxConcurrentStreams: 2}}},
	} {
		s.origin.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { time.Sleep(time.Second) })
		s.inMemory(t, func(t *testing.T, st *stage) {
			start := time.Now()
			done := make(chan error, 6)
			for range 6 {
				go func() {
					resp, err := st.client.Get(st.url)
					if err == nil {
						resp.Body.Close()
					}
					done <- err
				}()
			}
			for range 6 {
				require.NoError(t, <-done)
			}
			assert.Equal(t, 3*time.Second, time.Since(start).Truncate(100*time.Millisecond))
			up := st.proxy.Log().Connections(mitm.Upstream)
			require.Len(t, up, 1)
			assert.Equal(t, 2, up[0].MaxStreams)
			assert.Len(t, st.proxy.Log().Stalls(mitm.Upstream), 4)
		})
	}
}

func TestStreamLimitChangesInFlight(t *testing.T) {
	setting{proxy: mitm.Config{Upstream: mitm.Leg{MaxConcurrentStreams: 1}}, origin: origin.Config{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(time.Second)
	})}}.inMemory(t, func(t *testing.T, s *stage) {
		start := time.Now()
		done := make(chan error, 4)
		for range 4 {
			go func() {
				resp, err := s.client.Get(s.url)
				if err == nil {
					resp.Body.Close()
				}
				done <- err
			}()
		}
		synctest.Wait()
		require.NoError(t, s.proxy.SetMaxConcurrentStreams(mitm.Upstream, "", 10))
		for range 4 {
			require.NoError(t, <-done)
		}
		assert.Equal(t, time.Second, time.Since(start).Truncate(100*time.Millisecond))
	})
}

// A connection on which nothing comes any more is given up by QUIC's idle timeout,
// and what may be is sent again.
func TestStaleConnection(t *testing.T) {
	for method, status := range map[string]int{"GET": 200, "POST": 502} {
		s := setting{origin: origin.Config{Handler: answer("hello")}}
		s.inMemory(t, func(t *testing.T, s *stage) {
			s.do(t, t.Context(), "GET", "/", nil)
			s.network.Wire("proxy.test", "origin.test").Forget()
			resp, body := s.do(t, t.Context(), method, "/", nil)
			assert.Equal(t, status, resp.StatusCode, body)
			up := settled(t, s, mitm.Upstream, map[int]int{200: 3, 502: 2}[status])
			assert.Contains(t, up[1].Err, "idle timeout: nothing came from the server")
			if status == 200 {
				assert.Contains(t, up[1].Err, "; sent again by the proxy: stale connection")
				netlog.RequireConnections(t, s.proxy.Log(), 2, alpn.H3, mitm.Upstream)
			}
		})
	}
}

// Where the leg has something for TCP, that is what is spoken with an origin that
// QUIC does not reach, and QUIC is tried once.
func TestFallsBackToTCP(t *testing.T) {
	s := setting{
		origin: origin.Config{Handler: answer("hello")},
		proxy:  mitm.Config{Upstream: mitm.Leg{ALPN: alpn.Prefer(alpn.H2, alpn.HTTP11)}},
	}
	s.inMemory(t, func(t *testing.T, s *stage) {
		s.network.Wire("proxy.test", "origin.test").BlockUDP()
		for range 2 {
			_, body := s.do(t, t.Context(), "GET", "/", nil)
			assert.Equal(t, "hello", body)
		}
		up := s.proxy.Log().Connections(mitm.Upstream)
		require.Len(t, up, 2, "%s", s.proxy.Log())
		assert.Equal(t, []any{"udp", "QUIC handshake: idle timeout: nothing came from the server", 0}, []any{up[0].Network, up[0].CloseReason, up[0].Requests})
		assert.Equal(t, []any{"tcp", alpn.H2, 2}, []any{up[1].Network, up[1].Protocol, up[1].Requests})
	})
	s.proxy.Upstream.ALPN = alpn.Policy{}
	s.inMemory(t, func(t *testing.T, s *stage) {
		s.network.Wire("proxy.test", "origin.test").BlockUDP()
		resp, body := s.do(t, t.Context(), "GET", "/", nil)
		assert.Equal(t, 502, resp.StatusCode)
		assert.Equal(t, "mitm: upstream leg: QUIC with "+s.site.Addr+": QUIC handshake: idle timeout: nothing came from the server\n", body)
	})
}

// Close does not wait for an origin that does not answer, nor for one that answers no
// more.
func TestCloseWhileQUICHangs(t *testing.T) {
	for _, shaken := range []bool{false, true} {
		setting{origin: origin.Config{Handler: answer("hello")}}.inMemory(t, func(t *testing.T, s *stage) {
			if shaken {
				s.do(t, t.Context(), "GET", "/", nil)
			}
			s.network.Wire("proxy.test", "origin.test").BlockUDP()
			failed := make(chan error, 1)
			go func() {
				_, err := s.client.Post(s.url, "", strings.NewReader("body"))
				failed <- err
			}()
			time.Sleep(time.Second)
			start := time.Now()
			require.NoError(t, s.proxy.Close())
			assert.Zero(t, time.Since(start))
			assert.Error(t, <-failed)
			up := s.proxy.Log().Connections(mitm.Upstream)
			require.Len(t, up, 1)
			want := "QUIC handshake: proxy closed"
			if shaken {
				want = "closed by client: H3_NO_ERROR (0x100)"
			}
			assert.Equal(t, want, up[0].CloseReason)
		})
	}
}

func TestUpgradeTakesTCP(t *testing.T) {
	for want, policy := range map[int]alpn.Policy{101: alpn.Prefer(alpn.H2, alpn.HTTP11), 502: {}} {
		recording.Bubble(t, nil, func(t *testing.T) {
			s := setting{proxy: mitm.Config{Upstream: mitm.Leg{ALPN: policy}}, origin: origin.Config{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Connection", "Upgrade")
				w.Header().Set("Upgrade", "test")
				w.WriteHeader(http.StatusSwitchingProtocols)
				conn, _, err := http.NewResponseController(w).Hijack()
				if err == nil {
					conn.Close()
				}
			})}}.setUp(t, linkdelay.NewNetwork(t, linkdelay.Link{}), alpn.HTTP11, alpn.H3)
			req, err := http.NewRequestWithContext(t.Context(), "GET", s.url, nil)
			require.NoError(t, err)
			req.Header.Set("Connection", "Upgrade")
			req.Header.Set("Upgrade", "test")
			resp, err := s.client.Do(req)
			require.NoError(t, err)
			assert.Equal(t, want, resp.StatusCode)
			if want == 502 {
				body, _ := io.ReadAll(resp.Body)
				assert.Equal(t, "mitm: upstream leg: upgrade to test, which takes http/1.1: HTTP/3 has no Upgrade, and Upstream.ALPN says of nothing that it may be tried over TCP\n", string(body))
			}
			resp.Body.Close()
		})
	}
}

// A session is resumed, and nothing is sent before the origin has agreed to that.
func TestResumption(t *testing.T) {
	leg := mitm.Leg{PerClient: true, TLS: &tls.Config{ClientSessionCache: tls.NewLRUClientSessionCache(1)}}
	setting{link: linkdelay.RTT(20 * time.Millisecond), proxy: mitm.Config{Upstream: leg}, origin: origin.Config{Handler: answer("hello")}}.inMemory(t, func(t *testing.T, s *stage) {
		for range 2 {
			_, body := s.do(t, t.Context(), "POST", "/", strings.NewReader("body"))
			assert.Equal(t, "hello", body)
			s.client = clientOf(t, s.network, s.proxy, alpn.H2)
		}
		up := s.proxy.Log().Connections(mitm.Upstream)
		require.Len(t, up, 2)
		assert.Equal(t, []bool{false, true, false}, []bool{up[0].Resumed, up[1].Resumed, up[1].EarlyData})
		assert.LessOrEqual(t, 20*time.Millisecond, up[1].FirstUsed.Sub(up[1].Opened))
	})
}

// Connections of one client alone end with it, whatever it speaks.
func TestPerClient(t *testing.T) {
	for _, down := range []string{alpn.H2, alpn.H3} {
		recording.Bubble(t, nil, func(t *testing.T) {
			s := setting{proxy: mitm.Config{Upstream: mitm.Leg{PerClient: true}}, origin: origin.Config{Handler: answer("hello")}}.
				setUp(t, linkdelay.NewNetwork(t, linkdelay.Link{}), down, alpn.H3)
			s.do(t, t.Context(), "GET", "/", nil)
			s.client = clientOf(t, s.network, s.proxy, down)
			s.do(t, t.Context(), "GET", "/", nil)
			assert.Len(t, s.proxy.Log().Connections(mitm.Upstream), 2)
			s.client.Transport.(interface{ CloseIdleConnections() }).CloseIdleConnections()
			time.Sleep(time.Second)
			up := s.proxy.Log().Connections(mitm.Upstream)
			assert.Equal(t, []string{"", "closed by client: H3_NO_ERROR (0x100)"}, []string{up[0].CloseReason, up[1].CloseReason}, down)
		})
	}
}

// After GOAWAY a connection carries what is under way and no more.
func TestGoAwayOfTheOrigin(t *testing.T) {
	authority := ca.New(t, nil)
	begun, goOn := make(chan struct{}, 1), make(chan struct{})
	serve := func(pc net.PacketConn) (shutdown func()) {
		server := &http3.Server{TLSConfig: http3.ConfigureTLSConfig(authority.ServerTLS()), Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/wait" {
				begun <- struct{}{}
				<-goOn
			}
			io.WriteString(w, "hello")
		})}
		done := make(chan struct{})
		go func() { // ends with server
			defer close(done)
			server.Serve(pc)
		}()
		return func() {
			server.Shutdown(t.Context())
			pc.Close()
			<-done
		}
	}
	pc, err := net.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(t, err)
	addr := pc.LocalAddr().String()
	shutdown := serve(pc)
	proxy := mitm.New(t, &mitm.Config{Mode: mitm.Reverse, Origin: "https://" + addr, RootCAs: authority.Pool(), Upstream: mitm.Leg{HTTP3: h3.Upstream(nil)}})
	s := &stage{proxy: proxy, url: proxy.URL, client: proxy.Client()}

	answered := make(chan string, 1)
	go func() {
		resp, err := s.client.Get(s.url + "/wait")
		if err != nil {
			answered <- err.Error()
			return
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		answered <- string(body)
	}()
	<-begun
	down := make(chan struct{})
	go func() {
		defer close(down)
		shutdown()
	}()
	first := func() netlog.Connection { return proxy.Log().Connections(mitm.Upstream)[0] }
	for first().GoAway == "" { // which no answer tells of
		time.Sleep(time.Millisecond)
	}
	close(goOn)
	assert.Equal(t, "hello", <-answered)
	<-down
	pc, err = net.ListenPacket("udp", addr)
	require.NoError(t, err)
	defer serve(pc)()
	_, body := s.do(t, t.Context(), "GET", "/", nil)
	assert.Equal(t, "hello", body)
	up := proxy.Log().Connections(mitm.Upstream)
	require.Len(t, up, 2)
	assert.Equal(t, "GOAWAY, from stream 4 on", up[0].GoAway)
	assert.Contains(t, up[1].OpenReason, "takes no more: GOAWAY, from stream 4 on")
}

// What an origin has refused by GOAWAY, because it came too late, is sent again.
func TestRefusedByGoAway(t *testing.T) {
	recording.Bubble(t, nil, func(t *testing.T) {
		network := linkdelay.NewNetwork(t, linkdelay.RTT(100*time.Millisecond))
		authority := ca.New(t, nil)
		pc, err := network.Host("origin.test").ListenPacket(t.Context(), "udp", ":443")
		require.NoError(t, err)
		tr := &quic.Transport{Conn: pc}
		ln, err := tr.ListenEarly(http3.ConfigureTLSConfig(authority.ServerTLS("origin.test")), nil)
		require.NoError(t, err)
		slow := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { time.Sleep(time.Second) })
		first, second := &http3.Server{Handler: slow}, &http3.Server{Handler: slow}
		var running sync.WaitGroup // this function waits
		running.Go(func() {
			first.ServeListener(ln)
			second.ServeListener(ln)
		})
		proxy := mitm.New(t, &mitm.Config{
			Mode: mitm.Reverse, Origin: "https://origin.test", Net: network.Host("proxy.test"), RootCAs: authority.Pool(),
			Upstream: mitm.Leg{HTTP3: h3.Upstream(nil)},
		})
		s := &stage{proxy: proxy, url: proxy.URL, client: clientOf(t, network, proxy, alpn.H2)}
		s.do(t, t.Context(), "GET", "/", nil)
		running.Go(func() { s.client.Get(s.url) }) // and the connection stays
		time.Sleep(500 * time.Millisecond)
		running.Go(func() {
			time.Sleep(60 * time.Millisecond) // the next request is between proxy and origin
			first.Shutdown(t.Context())
		})
		resp, _ := s.do(t, t.Context(), "POST", "/", strings.NewReader("body"))
		assert.Equal(t, 200, resp.StatusCode)
		up := settled(t, s, mitm.Upstream, 4)
		assert.Equal(t, "reset by server: H3_REQUEST_REJECTED (0x10b); sent again by the proxy: GOAWAY", up[2].Err)
		assert.Equal(t, int64(4), up[3].BodyBytesUp)
		require.NoError(t, proxy.Close())
		for _, one := range []io.Closer{second, ln, tr, pc} {
			one.Close()
		}
		running.Wait()
	})
}
