package latency

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"example.com/wiretest/linkdelay"
	"example.com/wiretest/netlog"
)

const rtt = 100 * time.Millisecond

// TestRoundTrips is the story in virtual time: what takes no time next door
// takes an exact number of round trips from afar.
func TestRoundTrips(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near := linkdelay.NewNetwork(t, linkdelay.Link{})
		far := linkdelay.NewNetwork(t, linkdelay.RTT(rtt))
		var rows [][]any
		for _, m := range modes() {
			local, batch, page := m.load(t, near, false), m.loadFar(t, far, false), m.loadFar(t, far, true)
			assert.Zero(t, local.Duration.Truncate(time.Millisecond), m.name)
			assert.Equal(t, m.batch*rtt, batch.Duration.Truncate(time.Millisecond), m.name)
			assert.Equal(t, m.page*rtt, page.Duration.Truncate(time.Millisecond), m.name)
			rows = append(rows, []any{
				m.name, local.Duration.Round(time.Millisecond), batch.Duration.Round(time.Millisecond), int(m.batch),
				page.Duration.Round(time.Millisecond), int(m.page), len(batch.Log.Connections(netlog.Used())), handshakes(batch.Log, false), streams(batch.Log),
			})
		}
		t.Logf("50 answers, virtual time\n%s", table(
			"mode\tno delay\tRTT 100 ms\tin RTT\tthe document first\tin RTT\tTCP\tTLS handshakes\tstreams", rows...))
	})
}

// TestRoundTripsOnSockets is the same on loopback: counts exactly, and times
// never under their limit.
func TestRoundTripsOnSockets(t *testing.T) {
	t.Parallel()
	near := linkdelay.NewLoopback(t, linkdelay.Link{})
	far := linkdelay.NewLoopback(t, linkdelay.RTT(rtt))
	var rows [][]any
	for _, m := range modes() {
		local, batch := m.load(t, near, false), m.loadFar(t, far, false)
		assert.GreaterOrEqual(t, batch.Duration, m.batch*rtt, m.name)
		rows = append(rows, []any{
			m.name, local.Duration.Round(100 * time.Microsecond), batch.Duration.Round(time.Millisecond),
			len(batch.Log.Connections(netlog.Used())), handshakes(batch.Log, false), streams(batch.Log),
		})
	}
	t.Logf("50 answers on loopback sockets, real time\n%s", table(
		"mode\tno delay\tRTT 100 ms\tTCP\tTLS handshakes\tstreams", rows...))
}
