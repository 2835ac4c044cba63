package origin_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/alpn"
	"example.com/wiretest/linkdelay"
	"example.com/wiretest/netlog"
	"example.com/wiretest/netlog/h3"
	"example.com/wiretest/netlog/wire"
	"example.com/wiretest/origin"
)

// eachWorld is linkdelay.EachWorld with the watchdog around the bubble.
func eachWorld(t *testing.T, link linkdelay.Link, body func(*testing.T, *linkdelay.Network)) {
	t.Run("memory", func(t *testing.T) {
		h3.Bubble(t, nil, func(t *testing.T) { body(t, linkdelay.NewNetwork(t, link)) })
	})
	t.Run("loopback", func(t *testing.T) {
		leavesNothing(t)
		body(t, linkdelay.NewLoopback(t, link))
	})
}

func TestHTTP3InBothWorlds(t *testing.T) {
	eachWorld(t, linkdelay.RTT(10*time.Millisecond), func(t *testing.T, network *linkdelay.Network) {
		s := origin.New(t, &origin.Config{Net: network.Host("origin.test"), Page: smallDelays(), HTTP3: &origin.HTTP3{}})
		load(t, &http.Client{Transport: s.HTTP3Transport(network.Host("pc.test"))}, s.URL)
		awaitEnds(t, s)
		require.NoError(t, s.Close())
		netlog.RequireConnections(t, s.Log(), 1, alpn.H3, netlog.Used())
		c := s.Log().Connections()[0]
		assert.Equal(t, "udp", c.Network)
		assert.Equal(t, s.Addr, c.Host)
		assert.Equal(t, "origin.test", c.ServerName)
		assert.Equal(t, []string{"h3"}, c.Offered)
		assert.Equal(t, "h3", c.ALPN)
		assert.Equal(t, uint16(tls.VersionTLS13), c.TLSVersion)
		assert.Equal(t, "wiretest origin CA", c.Issuer)
		assert.Equal(t, 171, c.Requests)
		assert.Equal(t, 256, c.StreamLimit)
		assert.Greater(t, c.MaxStreams, 10)
		assert.False(t, c.Resumed)
		assert.False(t, c.Handshaken.IsZero(), "no time of the handshake")
		assert.Contains(t, c.CloseReason, "closed by")
		streams := make(map[int64]bool)
		page := smallDelays()
		for _, q := range s.Log().Requests(netlog.Status(http.StatusOK)) {
			streams[q.Stream] = true
			assert.Equal(t, alpn.H3, q.Protocol)
			assert.GreaterOrEqual(t, q.TimeToFirstByte(), page.Delay(pathOf(q.URL)), q.URL)
			assert.NotZero(t, q.HeaderBytesUp)
			assert.NotZero(t, q.HeaderBytesDown)
			assert.NotZero(t, q.BodyBytesDown)
			assert.Empty(t, q.Err)
		}
		assert.Len(t, streams, 171, "streams of requests")
	})
}

// Each handler is told of its own request's record, however many there are at
// once: this is what the Stream of an echo says.
func TestHandlersOfHTTP3KnowTheirRequest(t *testing.T) {
	leavesNothing(t)
	s := origin.New(t, &origin.Config{HTTP3: &origin.HTTP3{}, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q, c := wire.RequestOf(r).Request(), wire.ConnectionOf(r).Connection()
		fmt.Fprint(w, q.URL, c.ID)
	})})
	client := &http.Client{Transport: s.HTTP3Transport(nil)}
	var all sync.WaitGroup
	for i := range 200 {
		all.Go(func() {
			url := fmt.Sprintf("%s/%d", s.URL, i)
			resp, err := client.Get(url)
			if !assert.NoError(t, err) {
				return
			}
			defer resp.Body.Close()
			body, _ := io.ReadAll(resp.Body)
			assert.Equal(t, url+"1", string(body))
		})
	}
	all.Wait()
}

func TestAltSvcFromTheFirstOn(t *testing.T) {
	own := func(s *origin.Server) string { return s.Addr[strings.LastIndex(s.Addr, ":"):] }
	for name, c := range map[string]struct {
		cfg  *origin.HTTP3
		want func(*origin.Server) []string
	}{
		"none":   {nil, func(*origin.Server) []string { return nil }},
		"zero":   {&origin.HTTP3{}, func(s *origin.Server) []string { return []string{`h3="` + own(s) + `"; ma=2592000`} }},
		"port":   {&origin.HTTP3{AltSvc: origin.AltSvc{Port: 443}}, func(*origin.Server) []string { return []string{`h3=":443"; ma=2592000`} }},
		"ma":     {&origin.HTTP3{AltSvc: origin.AltSvc{MaxAge: time.Minute}, Dead: true}, func(s *origin.Server) []string { return []string{`h3="` + own(s) + `"; ma=60`} }},
		"clear":  {&origin.HTTP3{AltSvc: origin.AltSvc{Clear: true}}, func(*origin.Server) []string { return []string{"clear"} }},
		"absent": {&origin.HTTP3{AltSvc: origin.AltSvc{Absent: true}}, func(*origin.Server) []string { return nil }},
	} {
		t.Run(name, func(t *testing.T) {
			leavesNothing(t)
			s := origin.New(t, &origin.Config{Handler: hello, HTTP3: c.cfg})
			clients := []http.RoundTripper{s.Transport(nil)}
			if c.cfg != nil && !c.cfg.Dead {
				clients = append(clients, s.HTTP3Transport(nil))
			}
			for _, rt := range clients {
				for range 2 {
					_, resp := get(t, &http.Client{Transport: rt}, s.URL)
					assert.Equal(t, c.want(s), resp.Header["Alt-Svc"], resp.Proto)
				}
			}
		})
	}
}

func TestSetAltSvc(t *testing.T) {
	s := origin.New(t, &origin.Config{Handler: hello})
	require.NoError(t, s.SetAltSvc(origin.AltSvc{Clear: true}))
	_, resp := get(t, s.Client(), s.URL)
	assert.Equal(t, []string{"clear"}, resp.Header["Alt-Svc"])
	assert.EqualError(t, s.SetAltSvc(origin.AltSvc{Port: 1 << 16}), "origin: SetAltSvc: AltSvc.Port: 65536: must be from 0 to 65535")
	_, resp = get(t, s.Client(), s.URL)
	assert.Equal(t, []string{"clear"}, resp.Header["Alt-Svc"])
}

func TestMistakesInHTTP3(t *testing.T) {
	for want, cfg := range map[string]*origin.Config{
		"origin: Config.HTTP3 and Config.Plain are both set: QUIC is never without TLS":                                         {HTTP3: &origin.HTTP3{}, Plain: true},
		"origin: Config.HTTP3: AltSvc.MaxAge: 1.5s is not whole seconds":                                                        {HTTP3: &origin.HTTP3{AltSvc: origin.AltSvc{MaxAge: 1500 * time.Millisecond}}},
		"origin: Config.HTTP3: AltSvc: Clear and Absent are both set":                                                           {HTTP3: &origin.HTTP3{AltSvc: origin.AltSvc{Clear: true, Absent: true}}},
		"origin: Config.HTTP3: Config.TLS.MaxVersion is TLS 1.2: QUIC needs TLS 1.3":                                            {HTTP3: &origin.HTTP3{}, TLS: &tls.Config{MaxVersion: tls.VersionTLS12}},
		"origin: Config.HTTP3: QUIC.InitialPacketSize: 1000 is below 1200, the least that QUIC may send (RFC 9000, section 14)": {HTTP3: &origin.HTTP3{QUIC: &quic.Config{InitialPacketSize: 1000}}},
		"origin: Config.Port: 70000: must be from 0 to 65535":                                                                   {Port: 70000},
	} {
		_, err := origin.Start(cfg)
		assert.EqualError(t, err, want)
	}
}

func TestLargePacketsAreRefusedInMemory(t *testing.T) {
	large := &quic.Config{InitialPacketSize: 1350}
	h3.Bubble(t, nil, func(t *testing.T) {
		network := linkdelay.NewNetwork(t, linkdelay.RTT(time.Millisecond))
		_, err := origin.Start(&origin.Config{Net: network.Host("origin.test"), HTTP3: &origin.HTTP3{QUIC: large}})
		assert.EqualError(t, err, "origin: Config.HTTP3: h3: InitialPacketSize 1350: in memory no more than 1280, quic-go's default, can be told when a path has a hole")

		s := origin.New(t, &origin.Config{Net: network.Host("other.test"), Handler: hello, HTTP3: &origin.HTTP3{}})
		tr := s.HTTP3Transport(network.Host("pc.test"))
		tr.QUICConfig = large
		_, err = (&http.Client{Transport: tr}).Get(s.URL)
		assert.ErrorContains(t, err, "InitialPacketSize 1350: in memory no more than 1280")
	})
	s := origin.New(t, &origin.Config{Handler: hello, HTTP3: &origin.HTTP3{QUIC: large}})
	get(t, &http.Client{Transport: s.HTTP3Transport(nil)}, s.URL)
}

// Both ends count the same bytes.
func TestBothEndsOfHTTP3CountTheSame(t *testing.T) {
	eachWorld(t, linkdelay.RTT(time.Millisecond), func(t *testing.T, network *linkdelay.Network) {
		s := origin.New(t, &origin.Config{Net: network.Host("origin.test"), HTTP3: &origin.HTTP3{}, Handler: origin.Trailers(http.Header{"Sum": {"1"}}, sizedAnswer(50_000))})
		log := netlog.New(t)
		rec := log.Open(netlog.Connection{Host: s.Addr})
		conn, err := h3.Browser(s.HTTP3Transport(network.Host("pc.test")))(t.Context(), s.Addr, s.Addr, rec)
		require.NoError(t, err)
		for range 3 {
			req := must(http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/x", nil))
			resp, err := conn.RoundTrip(req, nil)
			require.NoError(t, err)
			n, err := io.Copy(io.Discard, resp.Body)
			require.NoError(t, err)
			assert.EqualValues(t, 50_000, n)
		}
		awaitEnds(t, s)
		conn.Close()
		awaitClosed(s)
		here, there := log.Connections()[0], s.Log().Connections()[0]
		assert.Equal(t, 3, there.Requests)
		assert.Equal(t, here.Requests, there.Requests)
		assert.Equal(t, here.BytesUp, there.BytesUp, "bytes up")
		assert.Equal(t, here.BytesDown, there.BytesDown, "bytes down")
		assert.Equal(t, here.HeaderBytesUp, there.HeaderBytesUp, "header bytes up")
		assert.Equal(t, here.HeaderBytesDown, there.HeaderBytesDown, "header bytes down")
		assert.Equal(t, "closed by client: H3_NO_ERROR (0x100)", here.CloseReason)
		assert.Equal(t, "closed by client: H3_NO_ERROR (0x100)", there.CloseReason)
		for i, q := range log.Requests() {
			other := s.Log().Requests()[i]
			assert.Equal(t, [4]int64{q.HeaderBytesUp, q.HeaderBytesDown, q.BodyBytesUp, q.BodyBytesDown},
				[4]int64{other.HeaderBytesUp, other.HeaderBytesDown, other.BodyBytesUp, other.BodyBytesDown})
			assert.EqualValues(t, 50_000, q.BodyBytesDown)
			assert.Equal(t, q.Stream, other.Stream)
			assert.Equal(t, q.URL, other.URL)
			assert.Empty(t, q.Err+other.Err)
		}
	})
}

func TestResumptionAndEarlyDataOverHTTP3(t *testing.T) {
	h3.Bubble(t, nil, func(t *testing.T) {
		network := linkdelay.NewNetwork(t, linkdelay.RTT(100*time.Millisecond))
		s := origin.New(t, &origin.Config{Net: network.Host("origin.test"), Handler: hello, HTTP3: &origin.HTTP3{}})
		cache := tls.NewLRUClientSessionCache(0)
		visit := func(method string) time.Duration {
			tr := s.HTTP3Transport(network.Host("pc.test"))
			tr.TLSClientConfig.ClientSessionCache = cache
			start := time.Now()
			resp, err := tr.RoundTrip(must(http.NewRequestWithContext(t.Context(), method, s.URL, nil)))
			require.NoError(t, err)
			took := time.Since(start)
			io.Copy(io.Discard, resp.Body)
			time.Sleep(time.Second) // the session ticket comes behind the handshake
			require.NoError(t, tr.Close())
			time.Sleep(time.Second)
			return took
		}
		near := func(want, got time.Duration) { assert.InDelta(t, want.Seconds(), got.Seconds(), 0.002) }
		near(200*time.Millisecond, visit(http.MethodGet))
		near(200*time.Millisecond, visit(http.MethodGet)) // resumed, but waits for the handshake
		near(100*time.Millisecond, visit(http3.MethodGet0RTT))
		s.RotateTickets()
		tr := s.HTTP3Transport(network.Host("pc.test"))
		tr.TLSClientConfig.ClientSessionCache = cache
		_, err := tr.RoundTrip(must(http.NewRequestWithContext(t.Context(), http3.MethodGet0RTT, s.URL, nil)))
		assert.ErrorIs(t, err, quic.Err0RTTRejected, "http3 does not send again what was refused in 0-RTT")
		all := s.Log().Connections()
		require.Len(t, all, 4)
		for i, want := range []struct{ resumed, early bool }{{false, false}, {true, true}, {true, true}} {
			assert.Equal(t, want.resumed, all[i].Resumed, "visit %d resumed", i)
			assert.Equal(t, want.early, all[i].EarlyData, "visit %d in 0-RTT", i) // http3 offers it, also where it then waits
			assert.Equal(t, "wiretest origin CA", all[i].Issuer)
			assert.Equal(t, "closed by client: code 0x0", all[i].CloseReason)
		}
	})
}

// quic-go's own client, by its own sockets, says the same as the ledger. It waits for
// the handshake: a request that is sent ahead of it while the server's answer comes
// is a data race within quic-go.
func TestQUICGoClientAgreesWithTheLedger(t *testing.T) {
	leavesNothing(t)
	s := origin.New(t, &origin.Config{HTTP3: &origin.HTTP3{}, Page: smallPage()})
	cfg := s.CA().ClientTLS()
	cfg.ClientSessionCache = tls.NewLRUClientSessionCache(0)
	for visit := range 2 {
		var conn *quic.Conn
		tr := &http3.Transport{TLSClientConfig: cfg, Dial: func(ctx context.Context, addr string, cfg *tls.Config, q *quic.Config) (_ *quic.Conn, err error) {
			conn, err = quic.DialAddr(ctx, addr, cfg, q)
			return conn, err
		}}
		for _, url := range s.Assets() {
			resp, err := tr.RoundTrip(must(http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)))
			require.NoError(t, err)
			_, err = io.Copy(io.Discard, resp.Body)
			require.NoError(t, err)
		}
		state, local := conn.ConnectionState(), conn.LocalAddr().(*net.UDPAddr)
		for cached := range 1000 { // the ticket is behind the handshake
			if _, cached := cfg.ClientSessionCache.Get("127.0.0.1"); cached {
				break
			}
			require.Less(t, cached, 999, "no session ticket")
			time.Sleep(10 * time.Millisecond)
		}
		require.NoError(t, tr.Close())
		c := s.Log().Connections()[visit]
		assert.Equal(t, visit > 0, state.TLS.DidResume, "visit %d", visit)
		assert.Equal(t, state.TLS.DidResume, c.Resumed)
		assert.Equal(t, state.Used0RTT, c.EarlyData)
		assert.Equal(t, state.TLS.NegotiatedProtocol, c.ALPN)
		assert.Equal(t, state.TLS.Version, c.TLSVersion)
		assert.Contains(t, c.Remote, fmt.Sprintf(":%d", local.Port))
		assert.Equal(t, len(s.Assets()), c.Requests)
	}
}

func TestHandshakesThatFailOverQUIC(t *testing.T) {
	leavesNothing(t)
	s := origin.New(t, &origin.Config{HTTP3: &origin.HTTP3{}, Handler: hello})
	tr := s.HTTP3Transport(nil)
	tr.TLSClientConfig = &tls.Config{} // trusts nobody of ours
	_, err := (&http.Client{Transport: tr}).Get(s.URL)
	assert.ErrorContains(t, err, "certificate")
	awaitClosed(s)
	c := s.Log().Connections()[0]
	assert.Contains(t, c.CloseReason, "QUIC handshake: closed by client: CRYPTO_ERROR")
	assert.True(t, c.Handshaken.IsZero())
	assert.Equal(t, []string{"h3"}, c.Offered)
}

// awaitClosed waits until the first connection is over for the origin too.
func awaitClosed(s *origin.Server) {
	for s.Log().Connections()[0].Closed.IsZero() {
		<-time.After(time.Millisecond)
	}
}

// awaitEnds waits until every answer has ended for the origin too. quic-go lets FIN go
// before it notes that the stream is at its end: what closes the connection in between
// ends the answer.
func awaitEnds(t *testing.T, s *origin.Server) {
	t.Helper()
	require.Eventually(t, func() bool {
		return !slices.ContainsFunc(s.Log().Requests(), func(q netlog.Request) bool { return q.End.IsZero() })
	}, time.Minute, time.Millisecond, "answers that do not end")
}

// sizedAnswer is n bytes.
func sizedAnswer(n int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, strings.Repeat("x", n)) })
}
