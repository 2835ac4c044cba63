package downgrade

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"example.com/wiretest/alpn"
	"example.com/wiretest/ca"
	"example.com/wiretest/examples/internal/shown"
	"example.com/wiretest/linkdelay"
	"example.com/wiretest/mitm"
	"example.com/wiretest/netlog"
	"example.com/wiretest/origin"
)

// TestWaysOut is what can be done about it while the proxy speaks HTTP/1.1 to
// its clients: do not decrypt this host, ask for less, or spread the page over
// more hosts.
func TestWaysOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := linkdelay.NewNetwork(t, linkdelay.Link{})
		text := table(
			passedThrough(t, network),
			fewerRequests(t, network),
			sharded(t, network, 2),
			sharded(t, network, 4),
		)
		t.Logf("ways out of it, virtual time\n%s", text)
		shown.InReadme(t, *update, "downgrade, ways out", text, "")
	})
}

// passedThrough: the proxy does not decrypt this host, so the client sees the
// origin's own certificate, and HTTP/2.
func passedThrough(t *testing.T, network *linkdelay.Network) *visit {
	site := origin.New(t, &origin.Config{Net: network.Host("bypassed.test")})
	proxy := mitm.New(t, &mitm.Config{
		Net: network.Host("bypass.test"), RootCAs: site.CA().Pool(),
		Downstream:  mitm.Leg{ALPN: alpn.Only(alpn.HTTP11)},
		Passthrough: []string{"bypassed.test"},
	})
	v := route{"not decrypted", proxy.Transport(network.Host("pc.test"))}.load(t, site.URL)
	want{398 * time.Millisecond, 1, alpn.H2, 0, "", "wiretest origin CA"}.check(t, v)
	return v
}

// fewerRequests: the same work in 30 requests.
func fewerRequests(t *testing.T, network *linkdelay.Network) *visit {
	site := origin.New(t, &origin.Config{Net: network.Host("bundled.test"), Page: &origin.Page{
		Scripts: 10, Images: 10, API: 10, DelayMin: 100 * time.Millisecond, DelayMax: 400 * time.Millisecond,
	}})
	v := throughH1(t, network, "30 requests instead of 170", site)
	done, _ := schedule(free(6, 0), thinkTimes(10, 10, 10, 100, 400), 0)
	assert.Equal(t, done, v.Duration.Truncate(time.Millisecond), v.name)
	netlog.RequireConnections(t, v.Log, 6, alpn.HTTP11, netlog.Used())
	return v
}

// sharded: the subresources come from n hosts by turns, each with six
// connections of its own.
func sharded(t *testing.T, network *linkdelay.Network, n int) *visit {
	var shards []*origin.Server
	for i := range n {
		shards = append(shards, origin.New(t, &origin.Config{Net: network.Host(fmt.Sprintf("shard%d-of-%d.test", i+1, n)), CA: firstCA(shards)}))
	}
	site := origin.New(t, &origin.Config{Net: network.Host(fmt.Sprintf("sharded%d.test", n)), CA: firstCA(shards), Handler: shardedPage(shards)})
	v := throughH1(t, network, fmt.Sprintf("%d hosts", n), site)

	var done time.Duration
	for _, jobs := range dealt(published(), n) {
		last, _ := schedule(free(6, 0), jobs, 0)
		done = max(done, last)
	}
	assert.Equal(t, done, v.Duration.Truncate(time.Millisecond), v.name)
	netlog.RequireConnections(t, v.Log, 1+6*n, alpn.HTTP11, netlog.Used())
	return v
}

func throughH1(t *testing.T, network *linkdelay.Network, name string, site *origin.Server) *visit {
	proxy := mitm.New(t, &mitm.Config{
		Net: network.Host("h1.test"), RootCAs: site.CA().Pool(),
		Downstream: mitm.Leg{ALPN: alpn.Only(alpn.HTTP11)},
	})
	return route{name, proxy.Transport(network.Host("pc.test"))}.load(t, site.URL)
}

func firstCA(shards []*origin.Server) *ca.Authority {
	if len(shards) == 0 {
		return nil
	}
	return shards[0].CA()
}

// shardedPage is a document that names the page's subresources on the shards by
// turns.
func shardedPage(shards []*origin.Server) http.Handler {
	var page strings.Builder
	for i := range shards[0].Assets() {
		fmt.Fprintf(&page, "<img src=%q>\n", shards[i%len(shards)].Assets()[i])
	}
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, page.String())
	})
}

// dealt deals jobs by turns.
func dealt(jobs []time.Duration, n int) [][]time.Duration {
	hands := make([][]time.Duration, n)
	for i, job := range jobs {
		hands[i%n] = append(hands[i%n], job)
	}
	return hands
}
