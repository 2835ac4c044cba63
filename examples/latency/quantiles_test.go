package latency

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/alpn"
	"example.com/wiretest/linkdelay"
	"example.com/wiretest/origin"
	"example.com/wiretest/origin/pageload"
)

// seeds is over how many seeds a table under loss is made: one is not a
// picture.
const seeds = 50

// TestUnderLoss loads fifty answers of 16 kB over links that lose segments at
// random, on 50 seeds. A little loss costs HTTP/2 nothing at the median and much
// in the tail; more of it ruins the one connection, whose window every loss
// cuts, while six connections have six windows.
func TestUnderLoss(t *testing.T) {
	t.Parallel()
	var rows [][]any
	medians := make(map[string]time.Duration)
	for _, loss := range []float64{0.01, 0.05} {
		for _, m := range modes()[1:] {
			var done []time.Duration
			for seed := range uint64(seeds) {
				done = append(done, m.underLoss(t, loss, seed))
			}
			slices.Sort(done)
			key := fmt.Sprintf("%s, %g %%", m.name, 100*loss)
			medians[key] = quantile(done, 50)
			rows = append(rows, []any{key, quantile(done, 10), quantile(done, 50), quantile(done, 90)})
		}
	}
	t.Logf("50 answers of 16 kB, 100 ms away, %d seeds, virtual time\n%s", seeds, table("mode, loss\tp10\tp50\tp90", rows...))
	assert.Greater(t, medians["h2, 1 connection, 5 %"], 2*medians["http/1.1, 6 connections, 5 %"])
	assert.Greater(t, medians["h2, 1 connection, 5 %"], 3*medians["h2, 1 connection, 1 %"])
}

// TestOneSeedOneFigure: what a seed gives, it gives again.
func TestOneSeedOneFigure(t *testing.T) {
	for _, m := range modes()[1:] {
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
	synctest.Test(t, func(t *testing.T) {
		link := linkdelay.RTT(rtt)
		link.Seed, link.Up.Loss, link.Down.Loss = seed, loss, loss
		network := linkdelay.NewNetwork(t, link)
		site := origin.New(t, &origin.Config{Net: network.Host("origin.test"), ALPN: alpn.Only(m.proto), Handler: sixteenK()})
		page, err := pageload.Load(t.Context(), &pageload.Config{
			URLs: fifty(site.URL), Transport: site.Transport(network.Host("pc.test")), PerHost: m.perHost,
		})
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
