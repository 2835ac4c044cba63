package origin_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/alpn"
	"example.com/wiretest/linkdelay"
	"example.com/wiretest/netlog"
	"example.com/wiretest/origin"
)

// load gets the document and then, in its order, all that it names at once.
func load(t *testing.T, client *http.Client, base string) {
	t.Helper()
	document, _ := get(t, client, base)
	var all sync.WaitGroup
	for _, path := range linksOf(document) {
		all.Go(func() {
			resp, err := client.Get(base + path)
			if !assert.NoError(t, err) {
				return
			}
			defer resp.Body.Close()
			_, err = io.Copy(io.Discard, resp.Body)
			assert.NoError(t, err, path)
			assert.Equal(t, http.StatusOK, resp.StatusCode, path)
		})
		<-time.After(1) // in virtual time this is what orders them
	}
	all.Wait()
}

func TestPageLoadInBothWorlds(t *testing.T) {
	for proto, conns := range map[string]int{alpn.H2: 1, alpn.HTTP11: 6} {
		t.Run(proto, func(t *testing.T) {
			linkdelay.EachWorld(t, linkdelay.RTT(10*time.Millisecond), func(t *testing.T, network *linkdelay.Network) {
				s := origin.New(t, &origin.Config{Net: network.Host("origin.test"), ALPN: alpn.Only(proto), Page: smallDelays()})
				tr := s.Transport(network.Host("pc.test"))
				tr.MaxConnsPerHost = 6
				client, log := recorded(t, tr)
				load(t, client, s.URL)
				require.NoError(t, s.Close())
				requireAtOnce(t, conns, proto, log, s)
				requests := s.Log().Requests(netlog.Status(http.StatusOK))
				require.Len(t, requests, 171)
				page := smallDelays()
				for _, q := range requests {
					assert.GreaterOrEqual(t, q.TimeToFirstByte(), page.Delay(pathOf(q.URL)), q.URL)
					assert.Equal(t, "origin.test", q.Connection.ServerName)
					assert.Equal(t, s.Addr, q.Connection.Host)
				}
				streams := s.Log().Connections(netlog.Used())[0].MaxStreams
				if proto == alpn.HTTP11 {
					assert.Equal(t, 1, streams)
				}
			})
		})
	}
}

// smallDelays is the published page, twenty times as fast.
func smallDelays() *origin.Page {
	return &origin.Page{Scripts: 50, Images: 60, API: 60, DelayMin: 5 * time.Millisecond, DelayMax: 20 * time.Millisecond}
}

func TestPublishedPageTakesWhatArithmeticSays(t *testing.T) {
	for _, c := range []struct {
		proto string
		want  time.Duration
	}{{alpn.H2, 398 * time.Millisecond}, {alpn.HTTP11, 7238 * time.Millisecond}} {
		synctest.Test(t, func(t *testing.T) {
			network := linkdelay.NewNetwork(t, linkdelay.Link{})
			s := origin.New(t, &origin.Config{Net: network.Host("origin.test"), ALPN: alpn.Only(c.proto)})
			tr := s.Transport(network.Host("pc.test"))
			tr.MaxConnsPerHost = 6
			start := time.Now()
			load(t, &http.Client{Transport: tr}, s.URL)
			assert.Equal(t, c.want, time.Since(start).Truncate(time.Millisecond), c.proto)
			if c.proto == alpn.H2 {
				assert.Equal(t, 170, s.Log().Connections(netlog.Used())[0].MaxStreams)
			}
		})
	}
}

func TestStreamLimitIsStatedAndKept(t *testing.T) {
	for _, c := range []struct{ limit, stated, requests int }{{0, 256, 300}, {7, 7, 30}} {
		synctest.Test(t, func(t *testing.T) {
			network := linkdelay.NewNetwork(t, linkdelay.Link{})
			s := origin.New(t, &origin.Config{
				Net: network.Host("origin.test"), Page: &origin.Page{API: c.requests, DelayMin: time.Second, DelayMax: time.Second},
				MaxConcurrentStreams: c.limit,
			})
			load(t, &http.Client{Transport: s.Transport(network.Host("pc.test"))}, s.URL)
			for _, conn := range s.Log().Connections(netlog.Used()) {
				assert.Equal(t, c.stated, conn.StreamLimit, "connection %d", conn.ID)
				assert.LessOrEqual(t, conn.MaxStreams, c.stated, "connection %d", conn.ID)
			}
		})
	}
}

func TestCloseNamesWhatHangs(t *testing.T) {
	for _, proto := range []string{alpn.H2, alpn.HTTP11} {
		synctest.Test(t, func(t *testing.T) {
			network := linkdelay.NewNetwork(t, linkdelay.RTT(100*time.Millisecond))
			r := &recorder{TB: t}
			entered, free := make(chan struct{}), make(chan struct{})
			s := origin.New(r, &origin.Config{
				Net: network.Host("origin.test"), ALPN: alpn.Only(proto),
				Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { close(entered); <-free }),
			})
			client := &http.Client{Transport: s.Transport(network.Host("pc.test"))}
			go client.Get(s.URL + "/slow") // ends with the bubble
			<-entered
			start := time.Now()
			err := s.Close()
			assert.Equal(t, 5*time.Second, time.Since(start))
			assert.EqualError(t, err, "origin: close: still running: GET /slow (5.0s)")
			assert.Equal(t, err, s.Close(), "second Close")
			close(free)
			synctest.Wait()
			r.finish()
			assert.Contains(t, r.errors.String(), err.Error())
		})
	}
}

// What a server that closes says to its clients is on its way for 5 ms here, and
// for ever on a dead link: what ends their connections at once is that Close
// knows the Transports.
func TestCloseEndsIdleConnectionsOfTransports(t *testing.T) {
	for _, proto := range []string{alpn.H2, alpn.HTTP11} {
		synctest.Test(t, func(t *testing.T) {
			network := linkdelay.NewNetwork(t, linkdelay.RTT(10*time.Millisecond))
			s := origin.New(t, &origin.Config{Net: network.Host("origin.test"), ALPN: alpn.Only(proto), Handler: hello})
			pc := &counting{Net: network.Host("pc.test")}
			get(t, &http.Client{Transport: s.Transport(pc)}, s.URL)
			assert.Equal(t, int32(1), pc.open.Load(), proto)
			require.NoError(t, s.Close())
			synctest.Wait()
			assert.Zero(t, pc.open.Load(), "%s: open connections of the client", proto)
		})
	}
}

// counting is a Net that counts the open connections that it dialled.
type counting struct {
	origin.Net
	open atomic.Int32
}

func (n *counting) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := n.Net.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	n.open.Add(1)
	return &counted{Conn: conn, end: sync.OnceFunc(func() { n.open.Add(-1) })}, nil
}

type counted struct {
	net.Conn
	end func()
}

func (c *counted) Close() error {
	c.end()
	return c.Conn.Close()
}

// A client whose link dies in the middle of the handshake holds a connection
// for the bound of a handshake, and no longer.
func TestHandshakeIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := linkdelay.NewNetwork(t, linkdelay.RTT(10*time.Millisecond))
		s := origin.New(t, &origin.Config{Net: network.Host("origin.test"), Handler: hello})
		conn, err := network.Host("pc.test").DialContext(t.Context(), "tcp", s.Addr)
		require.NoError(t, err)
		defer conn.Close()
		time.Sleep(time.Minute)
		c := s.Log().Connections()[0]
		assert.Equal(t, 30*time.Second, c.Closed.Sub(c.Opened).Round(time.Second))
		assert.NotEmpty(t, c.CloseReason)
	})
}

func TestClientLeavesDelayedRequestEarly(t *testing.T) {
	for _, proto := range []string{alpn.H2, alpn.HTTP11} {
		synctest.Test(t, func(t *testing.T) {
			network := linkdelay.NewNetwork(t, linkdelay.RTT(10*time.Millisecond))
			s := origin.New(t, &origin.Config{
				Net: network.Host("origin.test"), ALPN: alpn.Only(proto),
				Page: &origin.Page{API: 1, DelayMin: time.Hour, DelayMax: time.Hour},
			})
			client := &http.Client{Transport: s.Transport(network.Host("pc.test")), Timeout: time.Second}
			_, err := client.Get(s.URL + "/api/001")
			assert.Error(t, err)
			time.Sleep(time.Second)
			q := s.Log().Requests()[0]
			assert.False(t, q.End.IsZero(), "%s: the request runs on in the ledger", proto)
			assert.NotEmpty(t, q.Err, proto)
			assert.Zero(t, q.Status, proto)
		})
	}
}

func pathOf(raw string) string { return must(url.Parse(raw)).Path }
