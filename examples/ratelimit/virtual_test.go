package ratelimit

import (
	"flag"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/alpn"
	"example.com/wiretest/examples/internal/shown"
	"example.com/wiretest/linkdelay"
	"example.com/wiretest/origin"
)

var update = flag.Bool("update", false, "write the table in the README anew")

const work = 1500 * time.Millisecond

func virtual(t *testing.T, l limit, proto string, workers int) (r *run) {
	synctest.Test(t, func(t *testing.T) {
		network := linkdelay.NewNetwork(t, linkdelay.Link{})
		r = read(t, l, proto, workers, work, network.Host("ct.test"), network.Host("monitor.test"))
	})
	return r
}

// expected is what a limit gives with one, three and six requests at a time.
//
// The backlog takes 78 requests of 1.5 s. One after the other that is 117 s;
// shared among three connections 26 × 1.5 = 39 s, among six 13 × 1.5 = 19.5 s.
//
// Behind the limit per client there is a token each 1.5 s, and whoever has just
// been answered takes the next: one worker reads on, piece after piece, while the
// others are told 429. When nothing is left for it to take, another takes over.
// Retry-After is in full seconds, so that one may wake half a second late: three
// workers lose that once (78 s, the end of the first worker's four pieces, is one
// of the second's even instants; the third is late), six at each of five changes,
// 117 + 5 × 0.5 = 119.5 s.
var expected = []struct {
	workers int
	took    map[string][3]time.Duration // by protocol: in the order of limits
}{
	{1, map[string][3]time.Duration{alpn.H2: {117e9, 117e9, 117e9}, alpn.HTTP11: {117e9, 117e9, 117e9}}},
	{3, map[string][3]time.Duration{alpn.H2: {117e9, 117.5e9, 117e9}, alpn.HTTP11: {39e9, 117.5e9, 117e9}}},
	{6, map[string][3]time.Duration{alpn.H2: {117e9, 119.5e9, 117e9}, alpn.HTTP11: {19.5e9, 119.5e9, 117e9}}},
}

func TestThreeLimits(t *testing.T) {
	var all []*run
	for i, l := range limits() {
		for _, e := range expected {
			for _, proto := range []string{alpn.H2, alpn.HTTP11} {
				r := virtual(t, l, proto, e.workers)
				all = append(all, r)
				assert.Equal(t, connections(i, proto, e.workers), r.conns, "connections: %s, %s, %d at a time", l.name, proto, e.workers)
				assert.Equal(t, e.took[proto][i], r.took, "%s, %s, %d at a time", l.name, proto, e.workers)
			}
		}
	}
	text := table(all)
	t.Log("\n" + text)
	shown.InReadme(t, *update, "ratelimit, three limits", text, "")
}

// connections is how many there are behind a limit. 429 is an answer at once,
// and leaves its connection to whoever asks next: there are two, one with a
// request that is served and one for those that are not.
func connections(limit int, proto string, workers int) int {
	switch {
	case proto == alpn.H2:
		return 1
	case limit == 1:
		return min(workers, 2)
	}
	return workers
}

// What made the difference is found by changing it alone: HTTP/2 on three
// connections takes the 39 s of HTTP/1.1 on three.
func TestHTTP2OnThreeConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network, l := linkdelay.NewNetwork(t, linkdelay.Link{}), limits()[0]
		site := origin.New(t, &origin.Config{Net: network.Host("ct.test"), ALPN: alpn.Only(alpn.H2), Handler: l.site(work)})
		var spread inTurn
		for range 3 {
			spread.over = append(spread.over, site.Transport(network.Host("monitor.test")))
		}
		r := readBy(t, &spread, site, l, alpn.H2, 3)
		assert.Equal(t, 3, r.conns)
		assert.Equal(t, 39*time.Second, r.took)
	})
}

// inTurn gives each request to the next of several transports.
type inTurn struct {
	over []http.RoundTripper
	n    atomic.Int64
}

func (s *inTurn) RoundTrip(r *http.Request) (*http.Response, error) {
	return s.over[int(s.n.Add(1))%len(s.over)].RoundTrip(r)
}

// TestRunsGiveOneValue repeats what must not vary; -count repeats it further.
func TestRunsGiveOneValue(t *testing.T) {
	for i, l := range limits() {
		for range 5 {
			r := virtual(t, l, alpn.HTTP11, 3)
			require.Equal(t, expected[1].took[alpn.HTTP11][i], r.took, l.name)
			require.Equal(t, connections(i, alpn.HTTP11, 3), r.conns, l.name)
		}
	}
}
