package latency

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"example.com/wiretest/alpn"
	"example.com/wiretest/examples/internal/shown"
	"example.com/wiretest/linkdelay"
	"example.com/wiretest/netlog/h3"
)

const rtt = 100 * time.Millisecond

// TestRoundTrips is the story in virtual time: what takes no time next door
// takes an exact number of round trips from afar.
func TestRoundTrips(t *testing.T) {
	h3.Bubble(t, nil, func(t *testing.T) {
		near := linkdelay.NewNetwork(t, linkdelay.Link{})
		far := linkdelay.NewNetwork(t, linkdelay.RTT(rtt))
		var rows [][]any
		for _, m := range modes() {
			local, batch, page := m.load(t, near, false), m.loadFar(t, far, false), m.loadFar(t, far, true)
			m.took(t, 0, local.Duration)
			m.took(t, m.batch*rtt, batch.Duration)
			m.took(t, m.page*rtt, page.Duration)
			rows = append(rows, []any{
				m.name, local.Duration.Round(time.Millisecond), batch.Duration.Round(time.Millisecond), int(m.batch),
				page.Duration.Round(time.Millisecond), int(m.page), connections(batch.Log, "tcp"), connections(batch.Log, "udp"), handshakes(batch.Log, false), streams(batch.Log),
			})
		}
		text := shown.Table("mode\tno delay\tRTT 100 ms\tin RTT\tthe document first\tin RTT\tTCP\tQUIC\tTLS handshakes\tstreams", rows...)
		t.Logf("50 answers, virtual time\n%s", text)
		shown.InReadme(t, *update, "latency, round trips", text, alpn.H3)
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
			connections(batch.Log, "tcp"), connections(batch.Log, "udp"), handshakes(batch.Log, false), streams(batch.Log),
		})
	}
	t.Logf("50 answers on loopback sockets, real time\n%s", shown.Table(
		"mode\tno delay\tRTT 100 ms\tTCP\tQUIC\tTLS handshakes\tstreams", rows...))
}
