package h3_test

import (
	"flag"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/alpn"
	"example.com/wiretest/linkdelay"
	"example.com/wiretest/netlog"
	"example.com/wiretest/netlog/h3"
	"example.com/wiretest/origin"
	"example.com/wiretest/origin/pageload"
)

var repeats = flag.Int("repeats", 5, "how often a page is loaded to see what is the same each time")

// Of a page over HTTP/3 counts are the same in every run, and so is the time to
// the millisecond where all fits the first window; otherwise it is to two percent.
// The limits are arithmetic: two round trips for fifty answers; three, and the
// slowest answer's 398 ms, for the published page with its document. Fifty answers
// of 16 kB are twenty of QUIC's first windows of 32 packets, which doubles.
func TestCountsAreExactAndTimesNearly(t *testing.T) {
	const rtt = 100 * time.Millisecond
	for _, c := range []struct {
		name     string
		page     *origin.Page // nil is the published one
		handler  http.Handler
		requests int
		limit    time.Duration
		spread   time.Duration
	}{
		{"50 assets in one batch", &origin.Page{Images: 50}, nil, 50, 2 * rtt, time.Millisecond},
		{"the published page", nil, nil, 171, 3*rtt + 398*time.Millisecond, time.Millisecond},
		{"50 answers of 16 kB", nil, origin.Body{Size: 16 << 10}, 50, 6 * rtt, 20 * time.Millisecond},
	} {
		var took []time.Duration
		for range *repeats {
			h3.Bubble(t, nil, func(t *testing.T) {
				site, page := load(t, linkdelay.NewNetwork(t, linkdelay.RTT(rtt)), c.page, c.handler)
				netlog.RequireConnections(t, page.Log, 1, alpn.H3)
				require.Equal(t, c.requests, page.Log.Connections()[0].Requests)
				require.Len(t, page.Log.Requests(netlog.Status(200)), c.requests)
				require.Len(t, site.Log().Requests(netlog.Protocol(alpn.H3), netlog.Status(200)), c.requests)
				took = append(took, page.Duration)
			})
		}
		slices.Sort(took)
		least, most := took[0], took[len(took)-1]
		t.Logf("%s, %d times: %v to %v, median %v; the limit is %v", c.name, len(took), least, most, took[len(took)/2], c.limit)
		assert.GreaterOrEqual(t, least.Round(time.Millisecond), c.limit, c.name)
		assert.LessOrEqual(t, most-least, c.spread, "%s: from %v to %v", c.name, least, most)
	}
}

// load loads the page, its assets alone, or fifty answers of the handler, with a
// browser that was told of HTTP/3 before.
func load(t *testing.T, network *linkdelay.Network, page *origin.Page, handler http.Handler) (*origin.Server, *pageload.Result) {
	t.Helper()
	site := origin.New(t, &origin.Config{Net: network.Host("origin.test"), Page: page, Handler: handler, HTTP3: &origin.HTTP3{}})
	pc := network.Host("pc.test")
	cfg := pageload.Config{
		URLs: []string{site.URL}, Transport: site.Transport(pc),
		HTTP3: h3.Browser(site.HTTP3Transport(pc)), Alternatives: new(pageload.Alternatives),
	}
	_, err := pageload.Load(t.Context(), &cfg)
	require.NoError(t, err)
	switch cfg.URLs = nil; {
	case handler != nil:
		for i := range 50 {
			cfg.URLs = append(cfg.URLs, fmt.Sprintf("%s/%d", site.URL, i))
		}
	case page != nil:
		cfg.URLs = site.Assets()
	default:
		cfg.URL = site.URL
	}
	result, err := pageload.Load(t.Context(), &cfg)
	require.NoError(t, err)
	return site, result
}
