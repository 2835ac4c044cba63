package latency

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
	"example.com/wiretest/examples/internal/shown"
	"example.com/wiretest/linkdelay"
	"example.com/wiretest/netlog/h3"
	"example.com/wiretest/origin"
	"example.com/wiretest/origin/pageload"
)

// inReadme is how many seeds the README has.
const inReadme = 50

var h3Seeds = flag.Int("h3-seeds", 4, "over how many seeds HTTP/3 is loaded under loss; 50 make a picture")

// TestUnderLoss loads fifty answers of 16 kB over links that lose segments at
// random, on many seeds. A little loss costs HTTP/2 nothing at the median and much
// in the tail; more of it ruins the one connection, whose window every loss
// cuts, while six connections have six windows. HTTP/3 spares the streams that
// lost nothing, but has one window, too.
func TestUnderLoss(t *testing.T) {
	t.Parallel()
	var rows [][]any
	medians := make(map[string]time.Duration)
	for _, loss := range []float64{0.01, 0.05} {
		for _, m := range modes()[1:] {
			var done []time.Duration
			n := seeds
			if m.proto == alpn.H3 {
				n = *h3Seeds
			}
			for seed := range uint64(n) {
				done = append(done, m.underLoss(t, loss, seed))
			}
			slices.Sort(done)
			key := fmt.Sprintf("%s, %g %%", m.name, 100*loss)
			medians[key] = quantile(done, 50)
			rows = append(rows, []any{key, n, quantile(done, 10), quantile(done, 50), quantile(done, 90)})
		}
	}
	text := shown.Table("mode, loss\tseeds\tp10\tp50\tp90", rows...)
	t.Logf("50 answers of 16 kB, 100 ms away, virtual time\n%s", text)
	if seeds == inReadme {
		shown.InReadme(t, *update, "latency, under loss", text, alpn.H3)
	}
	assert.Greater(t, medians["h2, 1 connection, 5 %"], 2*medians["http/1.1, 6 connections, 5 %"])
	assert.Greater(t, medians["h2, 1 connection, 5 %"], 3*medians["h2, 1 connection, 1 %"])
	assert.Greater(t, medians["h3, 1 connection, 5 %"], medians["h3, 1 connection, 1 %"]) // of a few seeds, and no two runs are alike
}

// TestOneSeedOneFigure: what a seed gives, it gives again.
func TestOneSeedOneFigure(t *testing.T) {
	for _, m := range modes()[1:3] { // of HTTP/3 it gives the same losses, and nearly the same time
		for _, loss := range []float64{0.01, 0.05} {
			first := m.underLoss(t, loss, 7)
			for range 5 {
				require.Equal(t, first, m.underLoss(t, loss, 7), "%s, %g", m.name, loss)
			}
		}
	}
}

// underLoss is the time of one load on one seed.
func (m mode) underLoss(t *testing.T, loss float64, seed uint64) (done time.Duration) {
	h3.Bubble(t, nil, func(t *testing.T) {
		link := linkdelay.RTT(rtt)
		network := linkdelay.NewNetwork(t, link)
		site := m.site(t, network, &origin.Config{Handler: sixteenK()})
		cfg := m.browser(t, network, site)
		cfg.URLs = fifty(site.URL)
		link.Seed, link.Up.Loss, link.Down.Loss = seed, loss, loss
		network.SetLink("pc.test", m.host(), link)
		page, err := pageload.Load(t.Context(), cfg)
		require.NoError(t, err)
		done = page.Duration.Round(time.Millisecond)
	})
	return done
}

func sixteenK() http.Handler {
	body := make([]byte, 16<<10)
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write(body) })
}

func fifty(site string) (urls []string) {
	for i := range 50 {
		urls = append(urls, fmt.Sprintf("%s/%d", site, i))
	}
	return urls
}

// quantile is of a sorted list, in percent.
func quantile(sorted []time.Duration, percent int) time.Duration {
	return sorted[len(sorted)*percent/100]
}
