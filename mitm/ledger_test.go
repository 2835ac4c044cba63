package mitm_test

import (
	"io"
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
	"example.com/wiretest/netlog"
)

func TestLedgerPairsTheLegs(t *testing.T) {
	eachPair(t, serving(func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusCreated)
		io.WriteString(w, strings.Repeat("x", int(n)*2))
	}), func(t *testing.T, s *stage) {
		for range 3 {
			text(t, s.do(t, s.request(t, http.MethodPut, "/thing?x=1", strings.NewReader("body"))))
		}
		log := s.proxy.Log()
		requireInTurn(t, log, s.down, mitm.Downstream)
		requireInTurn(t, log, s.up, mitm.Upstream)
		synctestSettle(t, func() bool { return !log.Requests(mitm.Downstream)[2].End.IsZero() })
		downs, ups := log.Requests(mitm.Downstream), log.Requests(mitm.Upstream)
		require.Len(t, downs, 3)
		require.Len(t, ups, 3)
		for i := range downs {
			assert.Equal(t, ups[i].ID, downs[i].Pair)
			assert.Equal(t, downs[i].ID, ups[i].Pair)
			for _, q := range []netlog.Request{downs[i], ups[i]} {
				assert.Equal(t, "PUT", q.Method)
				assert.Equal(t, s.site.URL+"/thing?x=1", q.URL)
				assert.Equal(t, 201, q.Status)
				assert.EqualValues(t, 4, q.BodyBytesUp)
				assert.EqualValues(t, 8, q.BodyBytesDown)
				assert.Empty(t, q.Err)
			}
			assert.Equal(t, s.down, downs[i].Protocol)
			assert.Equal(t, s.up, ups[i].Protocol)
		}
		down, up := downs[0].Connection, ups[0].Connection
		carried := 0
		for _, c := range log.Connections(mitm.Downstream) {
			carried += c.Requests
		}
		assert.Equal(t, 3, carried, "CONNECT is none")
		assert.Equal(t, s.site.Addr, down.Host)
		assert.Equal(t, s.site.Addr, up.Host)
		assert.Equal(t, "origin.test", down.ServerName)
		assert.Equal(t, "origin.test", up.ServerName)
		assert.Equal(t, "wiretest mitm CA", down.Issuer)
		assert.Equal(t, "wiretest origin CA", up.Issuer)
		assert.Equal(t, []string{alpn.H2, alpn.HTTP11}, down.Offered)
		if s.up == alpn.H3 {
			assert.Equal(t, []string{alpn.H3}, up.Offered)
			return
		}
		assert.Equal(t, []string{alpn.H2, alpn.HTTP11}, up.Offered)
	})
}

// synctestSettle waits until the other side, which may still be at the end of
// a request that the client has in full, is so far.
func synctestSettle(t *testing.T, settled func() bool) {
	t.Helper()
	for range patience / time.Millisecond {
		if settled() {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatalf("not settled after %v", patience)
}

func TestSixClientsShareOneConnectionToTheOrigin(t *testing.T) {
	const n = 6
	inside := make(chan struct{}, n)
	release := make(chan struct{})
	s := serving(func(w http.ResponseWriter, r *http.Request) {
		inside <- struct{}{}
		<-release
	})
	s.up, s.down = alpn.H2, alpn.HTTP11
	linkdelay.EachWorld(t, linkdelay.Link{}, func(t *testing.T, network *linkdelay.Network) {
		inside, release = make(chan struct{}, n), make(chan struct{})
		st := setUp(t, network, s)
		var wg sync.WaitGroup
		for range n {
			wg.Go(func() { // clients that share nothing
				tr := st.proxy.Transport(network.Host("pc.test"))
				resp, err := tr.RoundTrip(st.request(t, http.MethodGet, "/", nil))
				if assert.NoError(t, err) {
					resp.Body.Close()
				}
			})
		}
		for range n {
			<-inside
		}
		close(release)
		wg.Wait()
		netlog.RequireConnections(t, st.proxy.Log(), n, alpn.HTTP11, mitm.Downstream)
		netlog.RequireConnections(t, st.proxy.Log(), 1, alpn.H2, mitm.Upstream)
		if c := st.proxy.Log().Connections(mitm.Upstream)[0]; c.Requests != n || c.MaxStreams != n {
			t.Errorf("%d requests, %d at once; want %d and %d", c.Requests, c.MaxStreams, n, n)
		}
	})
}

func TestAsManyConnectionsAsRequestsInFlight(t *testing.T) {
	const n = 5
	var inside, release chan struct{}
	s := serving(func(w http.ResponseWriter, r *http.Request) {
		inside <- struct{}{}
		<-release
	})
	s.up, s.down = alpn.HTTP11, alpn.H2
	eachWorld(t, s, func(t *testing.T, s *stage) {
		inside, release = make(chan struct{}, 2*n), make(chan struct{})
		for range 2 {
			var wg sync.WaitGroup
			for range n {
				wg.Go(func() { s.get(t, "/") })
			}
			for range n {
				<-inside
			}
			requireOpen(t, s.proxy.Log(), n, alpn.HTTP11, mitm.Upstream)
			for range n {
				release <- struct{}{}
			}
			wg.Wait()
		}
		netlog.RequireConnections(t, s.proxy.Log(), 1, alpn.H2, mitm.Downstream, netlog.Used())
	})
}

// Cold: TCP, CONNECT, TLS and the request on the one leg, TCP, TLS and the
// request on the other. Warm: the request on both.
func TestRoundTripsExactly(t *testing.T) {
	for _, down := range []string{alpn.HTTP11, alpn.H2} {
		for _, up := range []string{alpn.HTTP11, alpn.H2} {
			for _, mirror := range []bool{false, true} {
				synctest.Test(t, func(t *testing.T) {
					s := serving(hello)
					s.down, s.up = down, up
					if mirror {
						s.down, s.proxy.Downstream.Mirror = "", true
					}
					st := setUp(t, linkdelay.NewNetwork(t, linkdelay.RTT(20*time.Millisecond)), s)
					for _, want := range []time.Duration{140 * time.Millisecond, 40 * time.Millisecond} {
						start := time.Now()
						st.get(t, "/")
						if got := time.Since(start); got != want {
							t.Errorf("%s to %s, mirror %v: %v, want %v", down, up, mirror, got, want)
						}
					}
				})
			}
		}
	}
}

func TestStreamLimits(t *testing.T) {
	for name, c := range map[string]struct {
		proxy                mitm.Config
		stated               int // to the client
		downAtOnce, upAtOnce int
	}{
		"default":    {stated: 256, downAtOnce: 20, upAtOnce: 20},
		"downstream": {proxy: mitm.Config{Downstream: mitm.Leg{MaxConcurrentStreams: 7}}, stated: 7, downAtOnce: 7, upAtOnce: 20},
		"upstream":   {proxy: mitm.Config{Upstream: mitm.Leg{MaxConcurrentStreams: 5}}, stated: 256, downAtOnce: 20, upAtOnce: 5},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := serving(func(w http.ResponseWriter, r *http.Request) { time.Sleep(100 * time.Millisecond) })
				s.down, s.up, s.proxy = alpn.H2, alpn.H2, c.proxy
				st := setUp(t, linkdelay.NewNetwork(t, linkdelay.Link{}), s)
				st.get(t, "/first")
				var wg sync.WaitGroup
				for range 20 {
					wg.Go(func() { st.get(t, "/") })
					time.Sleep(time.Nanosecond)
				}
				wg.Wait()
				down := st.proxy.Log().Connections(mitm.Downstream)[0]
				assert.Equal(t, c.stated, down.StreamLimit)
				assert.Equal(t, c.downAtOnce, down.MaxStreams)
				netlog.RequireConnections(t, st.proxy.Log(), 1, alpn.H2, mitm.Upstream)
				assert.Equal(t, c.upAtOnce, st.proxy.Log().Connections(mitm.Upstream)[0].MaxStreams)
				stalls := st.proxy.Log().Stalls(mitm.Upstream)
				if c.upAtOnce < c.downAtOnce {
					require.Len(t, stalls, 15)
					assert.Equal(t, netlog.StalledMaxStreams, stalls[0].Kind)
					assert.Equal(t, 300*time.Millisecond, stalls.Max().Round(time.Millisecond))
				} else {
					assert.Empty(t, stalls)
				}
			})
		})
	}
}
