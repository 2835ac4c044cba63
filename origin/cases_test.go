package origin_test

import (
	"context"
	"crypto/tls"
	"fmt"
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
	"example.com/wiretest/ca"
	"example.com/wiretest/linkdelay"
	"example.com/wiretest/netlog"
	"example.com/wiretest/netlog/wire"
	"example.com/wiretest/origin"
)

// slow is an origin of HTTP/2 whose answers take 100 ms, and a client of it,
// 10 ms away in virtual time.
func slow(t *testing.T, cfg origin.Config) (*origin.Server, *http.Transport) {
	t.Helper()
	network := linkdelay.NewNetwork(t, linkdelay.RTT(20*time.Millisecond))
	cfg.Net, cfg.ALPN, cfg.Handler = network.Host("origin.test"), alpn.Only(alpn.H2), origin.Work(100*time.Millisecond, hello)
	s := origin.New(t, &cfg)
	return s, s.Transport(network.Host("pc.test"))
}

// burst asks n times at once. All are answered well.
func burst(t *testing.T, tr *http.Transport, url string, n int) {
	t.Helper()
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			assert.Equal(t, "200 OK hello", ask(&http.Client{Transport: tr}, must(http.NewRequest("GET", url, nil))))
		})
		<-time.After(1) // in virtual time this is what orders them
	}
	all.Wait()
}

// go#27753: 50 cold GETs opened 50 connections, of which one was used. The
// ledger tells how far each got.
func TestColdHTTP2RequestsOpenAConnectionEach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, tr := slow(t, origin.Config{})
		burst(t, tr, s.URL, 50)
		accepted, handshaken := s.Log().Connections(), 0
		for _, c := range accepted {
			if !c.Handshaken.IsZero() {
				handshaken++
			}
		}
		assert.Equal(t, []int{50, 50}, []int{len(accepted), handshaken}, "accepted, handshaken")
		netlog.RequireConnections(t, s.Log(), 1, alpn.H2, netlog.Used())
		assert.Equal(t, 50, s.Log().Connections(netlog.Used())[0].MaxStreams)
	})
}

// go#39389: what is sent before the settings have come exceeds their limit. The
// server refuses it, and the client sends it again.
func TestRequestsBeforeSettingsExceedTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, tr := slow(t, origin.Config{MaxConcurrentStreams: 10, Prepare: origin.LateSettings(300 * time.Millisecond)})
		tr.MaxConnsPerHost = 1
		burst(t, tr, s.URL, 50)
		refused := 0
		for _, q := range s.Log().Requests() {
			if q.Status == 0 {
				refused++
				assert.Equal(t, "RST_STREAM REFUSED_STREAM sent by server", q.Err)
			}
		}
		assert.GreaterOrEqual(t, refused, 40, "all but ten of the first fifty")
		assert.Len(t, s.Log().Requests(netlog.Status(200)), 50)
	})
}

// go#13774, go#34941: where 10 streams are allowed net/http opens further
// connections, also those that MaxConnsPerHost forbids: how many is its own
// affair, so these are bounds. Both versions of Go do so.
func TestStreamLimitOpensConnections(t *testing.T) {
	for _, perHost := range []int{0, 1} {
		synctest.Test(t, func(t *testing.T) {
			s, tr := slow(t, origin.Config{MaxConcurrentStreams: 10})
			tr.MaxConnsPerHost = perHost
			burst(t, tr, s.URL, 1)
			burst(t, tr, s.URL, 50)
			used := s.Log().Connections(netlog.Used())
			assert.Greater(t, len(used), 1, "MaxConnsPerHost %d", perHost)
			assert.LessOrEqual(t, len(used), 6, "MaxConnsPerHost %d: five would do", perHost)
			for _, c := range used {
				assert.Equal(t, 10, c.StreamLimit)
			}
			limit := map[int]int{0: 120, 1: 6}[perHost]
			assert.LessOrEqual(t, len(s.Log().Connections()), limit, "MaxConnsPerHost %d: accepted", perHost)
		})
	}
}

// go#28204: a handler that does not read leaves the connection no window, and
// other uploads wait for it.
func TestUnreadBodiesExhaustTheWindow(t *testing.T) {
	upload := func(cfg origin.Config) (took time.Duration) {
		synctest.Test(t, func(t *testing.T) {
			network := linkdelay.NewNetwork(t, linkdelay.RTT(20*time.Millisecond))
			cfg.Net, cfg.ALPN = network.Host("origin.test"), alpn.Only(alpn.H2)
			cfg.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body) })
			cfg.Faults = []origin.Fault{{Request: 1, Do: func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				time.Sleep(time.Minute)
				next.ServeHTTP(w, r)
			}}}
			s := origin.New(t, &cfg)
			tr := s.Transport(network.Host("pc.test"))
			tr.MaxConnsPerHost = 1
			post := func(n int) {
				resp, err := (&http.Client{Transport: tr}).Post(s.URL, "text/plain", strings.NewReader(strings.Repeat("x", n)))
				if assert.NoError(t, err) {
					resp.Body.Close()
				}
			}
			var unread sync.WaitGroup
			unread.Go(func() { post(1<<16 - 1) })
			time.Sleep(time.Second)
			start := time.Now()
			post(1000)
			took = time.Since(start)
			unread.Wait()
		})
		return took
	}
	assert.Equal(t, 20*time.Millisecond, upload(origin.Config{}), "with net/http's own 1 MiB")
	assert.Greater(t, upload(origin.Config{StreamWindow: 1<<16 - 1, ConnWindow: 1<<16 - 1}), 58*time.Second, "where the unread body takes all of the connection's window")
}

// go#17985: on a long link a window of 64 KiB makes uploads over h2 slower than
// those over http/1.1, which has none. (See TestWindowsAreSettings.)
func TestSmallWindowMakesHTTP2SlowerThanHTTP1(t *testing.T) {
	upload := func(proto string) (took time.Duration) {
		synctest.Test(t, func(t *testing.T) {
			network := linkdelay.NewNetwork(t, linkdelay.RTT(100*time.Millisecond))
			s := origin.New(t, &origin.Config{
				Net: network.Host("origin.test"), ALPN: alpn.Only(proto), StreamWindow: 1<<16 - 1, ConnWindow: 1<<16 - 1,
				Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body) }),
			})
			client := &http.Client{Transport: s.Transport(network.Host("pc.test"))}
			get(t, client, s.URL)
			start := time.Now()
			resp := must(client.Post(s.URL, "text/plain", strings.NewReader(strings.Repeat("x", 1<<20-1))))
			resp.Body.Close()
			took = time.Since(start)
		})
		return took
	}
	h1, h2 := upload(alpn.HTTP11), upload(alpn.H2)
	assert.Equal(t, 100*time.Millisecond, h1, "one trip for all of it")
	assert.GreaterOrEqual(t, h2, 16*h1, "a trip for each 64 KiB")
}

// boulder#7215, go#14275: a TLS configuration of one's own silently drops h2.
// RequireProtocol does not let it pass.
func TestCustomTLSConfigDropsHTTP2Loudly(t *testing.T) {
	s := origin.New(t, &origin.Config{Handler: hello})
	tr := &http.Transport{TLSClientConfig: s.CA().ClientTLS()}
	defer tr.CloseIdleConnections()
	_, resp := get(t, &http.Client{Transport: tr}, s.URL)
	r := &recorder{TB: t}
	done := make(chan struct{})
	go func() { defer close(done); alpn.RequireProtocol(r, resp, alpn.H2) }()
	<-done
	assert.Contains(t, r.errors.String(), "h2")
	assert.Contains(t, r.errors.String(), "http/1.1")
	assert.Contains(t, r.errors.String(), "ForceAttemptHTTP2", "what to do about it")
}

// gateway#6826: a server of "h2 only" still served http/1.1. Alert 120 is
// TestWhatIsNegotiatedIsServedAndRecorded's; curl has it in words.
func TestCurlIsRefusedByOnlyHTTP2(t *testing.T) {
	curl := tool(t, "curl", "curl")
	s := origin.New(t, &origin.Config{Handler: hello, ALPN: alpn.Only(alpn.H2)})
	out, code := curlOut(t, curl, "-sS", "--http1.1", "--noproxy", "*", "--cacert", caFile(t, s.CA()), s.URL)
	assert.Equal(t, 35, code, out)
	assert.Contains(t, out, "no application protocol")
	s.Close()
	netlog.RequireConnections(t, s.Log(), 0, "", netlog.Used())
	assert.Contains(t, s.Log().Connections()[0].CloseReason, "refused")
}

// go#60506: a tls.Config that was cloned before its ticket keys were made resumed
// nothing. Whoever makes a configuration for each client clones it.
func TestClonedConfigsResume(t *testing.T) {
	var own *tls.Config
	for name, cfg := range map[string]*tls.Config{
		"none":               nil,
		"one for each hello": {GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return new(tls.Config), nil }},
		"a clone for each hello": {GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			own = &tls.Config{MinVersion: tls.VersionTLS12}
			return own.Clone(), nil
		}},
	} {
		s := origin.New(t, &origin.Config{Handler: hello, TLS: cfg})
		client := s.CA().ClientTLS()
		client.ClientSessionCache = tls.NewLRUClientSessionCache(0)
		for range 4 {
			tr := s.Transport(nil)
			tr.TLSClientConfig = client.Clone()
			get(t, &http.Client{Transport: tr}, s.URL)
		}
		resumed := 0
		for _, c := range s.Log().Connections() {
			if c.Resumed {
				resumed++
			}
		}
		assert.Equal(t, 3, resumed, "%s: of four connections", name)
	}
}

// certspotter#111: 429 for each client, and when to come back; and how many it
// has had going at once.
func TestClientsAreLimitedOneByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := linkdelay.NewNetwork(t, linkdelay.Link{})
		limit := origin.Limit{Key: origin.ByAddress, Rate: 2, Per: 10 * time.Second, Refuse: true}.Handler(origin.Work(time.Second, hello))
		s := origin.New(t, &origin.Config{Net: network.Host("origin.test"), Handler: limit})
		for _, host := range []string{"one.test", "two.test"} {
			var all sync.WaitGroup
			var mu sync.Mutex
			told := map[string]int{}
			for range 3 {
				all.Go(func() {
					_, resp := get(t, &http.Client{Transport: s.Transport(network.Host(host))}, s.URL)
					mu.Lock()
					defer mu.Unlock()
					told[fmt.Sprintf("%d %s", resp.StatusCode, resp.Header.Get("Retry-After"))]++
				})
			}
			all.Wait()
			assert.Equal(t, map[string]int{"200 ": 2, "429 5": 1}, told, host)
		}
		assert.Equal(t, 2, limit.Counts().Peak)
		assert.Len(t, limit.Peaks(), 2, "clients")
		assert.Len(t, s.Log().Requests(netlog.Status(429)), 2)
	})
}

// istio#13589, caddy#4017: a client that has a connection for one name of a
// certificate uses it for the others, and the host behind it is another one.
func TestCoalescedConnectionIsMisdirected(t *testing.T) {
	leavesNothing(t)
	authority := must(ca.Generate(nil))
	s := origin.New(t, &origin.Config{
		CA: authority, Handler: origin.OnlyHosts(hello, "shop.test"), ALPN: alpn.Only(alpn.H2),
		TLS: &tls.Config{Certificates: []tls.Certificate{authority.Issue("shop.test", "cdn.test").Certificate}},
	})
	cfg := authority.ClientTLS()
	cfg.ServerName, cfg.NextProtos = "shop.test", []string{alpn.H2}
	conn := must(tls.Dial("tcp", s.Addr, cfg))
	require.NoError(t, conn.ConnectionState().PeerCertificates[0].VerifyHostname("cdn.test"), "the certificate invites to coalesce")
	c := dialFrames(t, conn)
	for i, host := range []string{"shop.test", "cdn.test"} {
		c.request(uint32(1+2*i), wire.Field{Name: ":method", Value: "GET"}, wire.Field{Name: ":scheme", Value: "https"},
			wire.Field{Name: ":authority", Value: host}, wire.Field{Name: ":path", Value: "/"})
		c.body(uint32(1 + 2*i))
	}
	netlog.RequireConnections(t, s.Log(), 1, alpn.H2)
	all := s.Log().Requests()
	assert.Equal(t, []int{200, 421}, []int{all[0].Status, all[1].Status})
	assert.Equal(t, "https://cdn.test/", all[1].URL)
	assert.Equal(t, "shop.test", all[1].Connection.ServerName)
}

// go#28866: proxies of the environment are not for loopback, and so what is
// tested is another way. Here they are for nobody, and names can be made up.
func TestTransportTakesNoProxyFromTheEnvironment(t *testing.T) {
	t.Setenv("HTTPS_PROXY", "http://127.0.0.1:1")
	t.Setenv("ALL_PROXY", "http://127.0.0.1:1")
	s := origin.New(t, &origin.Config{Handler: http.HandlerFunc(origin.Echo)})
	tr := s.Transport(nil)
	dial := tr.DialContext
	tr.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) { return dial(ctx, network, s.Addr) }
	body, _ := get(t, &http.Client{Transport: tr}, "https://shop.test/")
	assert.Contains(t, body, `"ServerName":"shop.test"`)
}
