package downgrade

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/alpn"
	"example.com/wiretest/examples/internal/shown"
	"example.com/wiretest/linkdelay"
	"example.com/wiretest/netlog"
	"example.com/wiretest/origin"
)

// want is what one mode must show.
type want struct {
	done        time.Duration
	connections int
	protocol    string
	stalled     int    // requests that a limit made wait
	kind        string // of those stalls
	issuer      string
}

// TestDowngrade is the story: three modes, and the figures that were published,
// as arithmetic has them.
func TestDowngrade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := setUp(t, linkdelay.NewNetwork(t, linkdelay.Link{}), nil)
		wants := []want{
			{398 * time.Millisecond, 1, alpn.H2, 0, "", "wiretest origin CA"},
			{7238 * time.Millisecond, 6, alpn.HTTP11, 164, netlog.StalledMaxSocketsPerGroup, "wiretest mitm CA"},
			{682 * time.Millisecond, 1, alpn.H2, 70, netlog.StalledMaxStreams, "wiretest mitm CA"},
		}
		var visits []*visit
		for i, route := range s.routes() {
			v := route.load(t, s.site.URL)
			wants[i].check(t, v)
			visits = append(visits, v)
		}
		checkOriginConnections(t, s)
		text := table(visits...)
		t.Logf("171 requests, no delay on the way, virtual time\n%s", text)
		shown.InReadme(t, *update, "downgrade, no delay", text, "")
	})
}

func (w want) check(t *testing.T, v *visit) {
	t.Helper()
	assert.Equal(t, w.done, v.Duration.Truncate(time.Millisecond), v.name)
	netlog.RequireConnections(t, v.Log, w.connections, w.protocol)
	netlog.RequireConnections(t, v.Log, w.connections, w.protocol, netlog.Used())
	assert.Len(t, v.Log.Requests(netlog.Status(200)), 171, v.name)
	assert.Len(t, v.Log.Stalls(), w.stalled, v.name)
	for _, s := range v.Log.Stalls() {
		require.Equal(t, w.kind, s.Kind, v.name)
	}
	assert.Equal(t, w.issuer, v.used()[0].Issuer, v.name)
}

// checkOriginConnections: whatever the client's leg does, each proxy has one
// connection to the origin, and the direct client had one.
func checkOriginConnections(t *testing.T, s *situation) {
	t.Helper()
	netlog.RequireConnections(t, s.site.Log(), 3, alpn.H2)
	assert.Len(t, s.site.Log().Requests(netlog.Status(200)), 3*171)
}

// TestAgainstScheduler compares other pages and other limits with a scheduler
// that serves first come first served.
func TestAgainstScheduler(t *testing.T) {
	for _, c := range []struct {
		name           string
		page           *origin.Page
		jobs           []time.Duration
		perHost, limit int
	}{
		{"published page, 5 connections", nil, published(), 5, 100},
		{"published page, 7 connections", nil, published(), 7, 100},
		{"few and slow", &origin.Page{Scripts: 5, Images: 10, API: 3, DelayMin: time.Second, DelayMax: 3 * time.Second}, thinkTimes(5, 10, 3, 1000, 3000), 6, 100},
		{"many and quick", &origin.Page{Scripts: 200, Images: 120, API: 80, DelayMin: time.Millisecond, DelayMax: 50 * time.Millisecond}, thinkTimes(200, 120, 80, 1, 50), 6, 100},
		{"images alone", &origin.Page{Images: 333, DelayMin: 20 * time.Millisecond, DelayMax: 700 * time.Millisecond}, thinkTimes(0, 333, 0, 20, 700), 6, 100},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := setUp(t, linkdelay.NewNetwork(t, linkdelay.Link{}), c.page)
				for i, slots := range []int{256, c.perHost, c.limit} {
					v := s.routes()[i].loadOver(t, s.site.URL, c.perHost)
					done, waits := schedule(free(slots, 0), c.jobs, 0)
					assert.Equal(t, done, v.Duration.Truncate(time.Millisecond), v.name)
					assert.Len(t, v.Log.Stalls(), waiting(waits), v.name)
				}
			})
		})
	}
}

// TestWithDelay puts 20 ms of round trip on each leg: directly there is one
// leg, through a proxy there are two.
//
// Before the first subresource is asked for: TCP, TLS and the document make 60
// ms directly. Through a proxy TCP, CONNECT and TLS make 60 ms, the document
// crosses both legs in 40, and the proxy first opens its own connection to the
// origin, TCP and TLS, in another 40: 140 ms.
//
// Then the connection that brought the document is free at once. On HTTP/1.1
// the other five are dialled at that moment, and TCP, CONNECT and TLS make them
// ready 60 ms later; the origin's side needs no other connection.
func TestWithDelay(t *testing.T) {
	const ms = time.Millisecond
	synctest.Test(t, func(t *testing.T) {
		s := setUp(t, linkdelay.NewNetwork(t, linkdelay.RTT(20*ms)), nil)
		six := append(free(1, 0), free(5, 60*ms)...)
		var visits []*visit
		for i, c := range []struct {
			document, travel time.Duration
			slots            []time.Duration
			done             time.Duration
		}{
			{60 * ms, 20 * ms, free(256, 0), 478 * ms},
			{140 * ms, 40 * ms, six, 8593 * ms},
			{140 * ms, 40 * ms, free(100, 0), 910 * ms},
		} {
			v := s.routes()[i].load(t, s.site.URL)
			visits = append(visits, v)
			batch, _ := schedule(c.slots, published(), c.travel)
			assert.Equal(t, c.done, c.document+batch, "the arithmetic itself")
			assert.Equal(t, c.done, v.Duration.Truncate(ms), v.name)
		}
		checkOriginConnections(t, s)
		text := table(visits...)
		t.Logf("171 requests, 20 ms of round trip on each leg, virtual time\n%s", text)
		shown.InReadme(t, *update, "downgrade, 20 ms on each leg", text, "")
	})
}
