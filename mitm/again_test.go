package mitm_test

import (
	"crypto/tls"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"

	"example.com/wiretest/alpn"
	"example.com/wiretest/linkdelay"
	"example.com/wiretest/mitm"
	"example.com/wiretest/netlog"
)

// eachDown runs body for both protocols of the client and in both worlds.
func eachDown(t *testing.T, up string, serve func(*side), body func(*testing.T, *rawStage)) {
	t.Helper()
	for _, down := range []string{alpn.HTTP11, alpn.H2} {
		t.Run(strings.ReplaceAll(down, "/", ""), func(t *testing.T) {
			inWorldsOf(t, down, up, linkdelay.Link{}, func(t *testing.T, network *linkdelay.Network) {
				body(t, newRawStage(t, network, mitm.Config{}, down, up, serve))
			})
		})
	}
}

// A connection that was used before may end just when it is given the next
// request. Idempotent ones are then sent again, on a new connection (RFC 9112,
// section 9.3.1); others are not.
func TestStaleConnection(t *testing.T) {
	large := strings.Repeat("x", 70_000)
	for _, c := range []struct {
		method, body string
		again        bool
	}{
		{"GET", "", true},
		{"DELETE", "", true},
		{"PUT", "a body", true},
		{"PUT", large, false}, // more than is kept
		{"POST", "", false},
		{"POST", "a body", false},
	} {
		for _, up := range []string{alpn.HTTP11, alpn.H2} {
			t.Run(fmt.Sprintf("%s of %d to %s", c.method, len(c.body), strings.ReplaceAll(up, "/", "")), func(t *testing.T) {
				staleConnection(t, up, c.method, c.body, c.again)
			})
		}
	}
}

func staleConnection(t *testing.T, up, method, body string, again bool) {
	size := int64(len(body))
	if body == "" {
		size = nothing
	}
	var conns atomic.Int32
	eachDown(t, up, func(o *side) {
		switch e := o.next(); e.start {
		case "GET /first":
			o.wantEnd()
			conns.Add(1)
			o.head("200", 0)
		case method + " /second":
			o.wantData(body)
			o.wantEnd()
			if conns.CompareAndSwap(1, 2) {
				hangUp(o)
				return
			}
			o.head("200", 0)
		}
	}, func(t *testing.T, s *rawStage) {
		conns.Store(0)
		client := s.client()
		c := client.call()
		c.head("GET /first", nothing)
		c.wantHead("200")
		c.wantEnd()
		c = client.call()
		c.head(method+" /second", size)
		c.data(body)
		if body != "" {
			finish(c)
		}
		asked := func() netlog.Requests { return s.proxy.Log().Requests(mitm.Upstream) }
		synctestSettle(t, func() bool { return len(asked()) > 1 })
		if givenUp(t, asked(), up) {
			c.wantHead("502") // for the connection that ended was a fresh one
			t.Skip(tooBusy)
		}
		if !again {
			c.wantHead("502")
			assert.Contains(t, c.next().data, "the origin closed the connection before it answered")
			netlog.RequireConnections(t, s.proxy.Log(), 1, up, mitm.Upstream)
			return
		}
		c.wantHead("200")
		c.wantEnd()
		log := s.proxy.Log()
		netlog.RequireConnections(t, log, 2, up, mitm.Upstream)
		pairs := log.Pairs()
		require.Len(t, pairs, 3, "\n%v", pairs)
		assert.Contains(t, pairs[1].Origin.Err, "; sent again by the proxy: stale connection")
		assert.Equal(t, pairs[1].Client.ID, pairs[2].Client.ID)
		assert.Equal(t, pairs[2].Origin.ID, pairs[2].Client.Pair)
		assert.EqualValues(t, len(body), pairs[2].Origin.BodyBytesUp)
		assert.Contains(t, log.Connections(mitm.Upstream)[1].OpenReason, "connection 2 ")
	})
}

// hangUp closes a connection as an idle one.
func hangUp(s *side) {
	switch call := s.call.(type) {
	case *rawH1Call:
		call.conn.conn.Close()
	case *rawH2Call:
		call.conn.conn.Close()
	}
}

// A connection that was not used before is not stale: what breaks it is news for
// the client.
func TestFreshConnectionThatBreaks(t *testing.T) {
	for _, up := range []string{alpn.HTTP11, alpn.H2} {
		eachDown(t, up, func(o *side) {
			o.next()
			hangUp(o)
		}, func(t *testing.T, s *rawStage) {
			c := s.call()
			c.head("GET /", nothing)
			c.wantHead("502")
			netlog.RequireConnections(t, s.proxy.Log(), 1, "", mitm.Upstream)
		})
	}
}

// Requests that come before the origin's SETTINGS may exceed its limit. Those
// that it then refuses are sent again, with their bodies, as its limit allows.
func TestColdBurstBeyondTheLimit(t *testing.T) {
	const n, limit = 20, 4
	for _, down := range []string{alpn.HTTP11, alpn.H2} {
		t.Run(strings.ReplaceAll(down, "/", ""), func(t *testing.T) {
			linkdelay.EachWorld(t, linkdelay.Link{}, func(t *testing.T, network *linkdelay.Network) {
				all, settings := make(chan struct{}), make(chan struct{})
				var arrived, inside, most atomic.Int32
				s := newRawStage(t, network, mitm.Config{}, down, alpn.H2, func(o *side) {
					o.wantHead("POST /")
					if arrived.Add(1) == n {
						close(all)
					}
					o.await(settings)
					if id := o.call.(*rawH2Call).id; id >= 2*limit && id < 2*n {
						o.reset(http2.ErrCodeRefusedStream)
						return
					}
					inside.Add(1)
					o.wantData("body")
					o.wantEnd()
					most.Store(max(most.Load(), inside.Load()))
					inside.Add(-1)
					o.head("200", 0)
				})
				s.addr = accepting(t, network.Host("origin.test"), afterHandshake(s.authority, alpn.Only(alpn.H2), func(conn *tls.Conn) {
					c := newRawH2(t, conn, func(call *rawH2Call) {
						s.server.serve(&side{call: call, t: t, name: "origin", proto: alpn.H2})
					})
					c.mute = true
					c.settings = []http2.Setting{{ID: http2.SettingMaxConcurrentStreams, Val: limit}}
					var wg sync.WaitGroup
					wg.Go(func() {
						<-all
						c.state()
						close(settings)
					})
					defer wg.Wait()
					if c.takePreface() == nil {
						c.run()
					}
				}))
				var wg sync.WaitGroup
				clients := make([]*rawClient, n)
				clients[0] = s.client()
				for i := range n {
					client := clients[0]
					if down == alpn.HTTP11 && i > 0 {
						client = s.client()
					}
					c := client.call()
					c.client = false // it runs beside the test's goroutine
					wg.Go(func() {
						c.head("POST /", unknown)
						c.data("body")
						c.end()
						c.wantHead("200")
						c.wantEnd()
					})
				}
				wg.Wait()
				netlog.RequireConnections(t, s.proxy.Log(), 1, alpn.H2, mitm.Upstream)
				again := 0
				for _, p := range s.proxy.Log().Pairs() {
					if strings.HasSuffix(p.Origin.Err, "REFUSED_STREAM sent by server; sent again by the proxy: sent before the origin's SETTINGS") {
						again++
					}
				}
				assert.Equal(t, n-limit, again, "\n%v", s.proxy.Log().Pairs())
				assert.LessOrEqual(t, most.Load(), int32(limit))
			})
		})
	}
}

// What a GOAWAY leaves out is sent again elsewhere, whatever its method; what it
// does not is answered (RFC 9113, section 6.8).
func TestGoAwayWithRequestsInFlight(t *testing.T) {
	eachDown(t, alpn.H2, func(o *side) {
		call := o.call.(*rawH2Call)
		e := o.next()
		switch {
		case e.start == "POST /served":
			o.wantData("body")
			o.wantEnd()
			call.conn.wait(func() bool { return call.conn.goingAway })
			o.head("200", 0)
		case e.start == "GET /":
			o.wantEnd()
			o.head("200", 0)
		case call.id == 1: // on the second connection
			o.wantData("body")
			o.wantEnd()
			o.head("200", 0)
		default:
			call.conn.write(func() { call.conn.framer.WriteGoAway(3, http2.ErrCodeNo, nil) })
			call.conn.change(func() { call.conn.goingAway = true })
		}
	}, func(t *testing.T, s *rawStage) {
		one, two, three := s.client(), s.client(), s.client()
		first := one.call()
		first.head("GET /", nothing)
		first.wantHead("200")
		first.wantEnd()
		served := two.call()
		served.head("POST /served", 4)
		served.data("body")
		finish(served)
		synctestSettle(t, func() bool { return len(s.proxy.Log().Requests(mitm.Upstream)) == 2 })
		refused := three.call()
		refused.head("POST /refused", 4)
		refused.data("body")
		finish(refused)
		for _, c := range []*side{served, refused} {
			c.wantHead("200")
			c.wantEnd()
		}
		log := s.proxy.Log()
		netlog.RequireConnections(t, log, 2, alpn.H2, mitm.Upstream)
		ups := log.Requests(mitm.Upstream)
		require.Len(t, ups, 4)
		assert.Equal(t, "refused by GOAWAY NO_ERROR last stream 3; sent again by the proxy: GOAWAY", ups[2].Err)
		assert.Contains(t, log.Connections(mitm.Upstream)[1].OpenReason, "takes no more: GOAWAY NO_ERROR last stream 3, received")
	})
}

// An origin that sends everybody away is not asked for ever.
func TestGoAwayForEver(t *testing.T) {
	eachDown(t, alpn.H2, func(o *side) {
		call := o.call.(*rawH2Call)
		o.next()
		call.conn.write(func() { call.conn.framer.WriteGoAway(0, http2.ErrCodeNo, nil) })
	}, func(t *testing.T, s *rawStage) {
		c := s.call()
		c.head("GET /", nothing)
		c.wantHead("502")
		assert.Contains(t, c.next().data, "GOAWAY")
		netlog.RequireConnections(t, s.proxy.Log(), 8, alpn.H2, mitm.Upstream)
	})
}

// Nor is the client waited for to say that its request has ended; and that it was
// interrupted is no news for it.
func TestConnectionThatEndsBeforeTheRequestDoes(t *testing.T) {
	large := strings.Repeat("x", 70_000) // more than is kept
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			s := newRawStage(t, linkdelay.NewNetwork(t, linkdelay.Link{}), mitm.Config{}, alpn.H2, alpn.HTTP11, func(o *side) {
				o.wantHead("PUT /")
				o.wantData(large)
				hangUp(o)
			})
			c := s.call()
			c.head("PUT /", int64(len(large)))
			c.data(large)
			c.wantHead("502")
			assert.Contains(t, c.next().data, "the origin closed the connection before it answered")
		})
	}
}
