package latency

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"example.com/wiretest/examples/internal/shown"
	"example.com/wiretest/linkdelay"
)

// TestOneLostSegment loses one segment of the first connection: the one that
// begins the first answers. Behind it HTTP/2 has the rest of all fifty, so that
// the segments that follow tell the sender of the gap within a round trip, but
// nothing can be read before it is filled. On HTTP/1.1 it is one answer of six
// in flight, alone on its connection: nothing follows that could tell, and only
// the timeout helps (the round trip and 200 ms); meanwhile the other five
// connections go on, and the page is done no later.
func TestOneLostSegment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var rows [][]any
		for _, c := range []struct {
			mode
			inFlight, held int
			late, page     time.Duration
		}{
			{modes()[1], 6, 1, 300 * time.Millisecond, 1100 * time.Millisecond},
			{modes()[2], 50, 50, 100 * time.Millisecond, 400 * time.Millisecond},
		} {
			clean := c.loadFar(t, linkdelay.NewNetwork(t, withoutWindow()), false)
			lossy := c.loadFar(t, linkdelay.NewNetwork(t, losing(firstAnswers)), false)
			held, late := heldBack(clean, lossy)
			assert.Equal(t, c.held, held, c.name)
			assert.Equal(t, c.late, late, c.name)
			assert.Equal(t, c.page, lossy.Duration.Truncate(time.Millisecond), c.name)
			rows = append(rows, []any{c.name, c.inFlight, held, late, clean.Duration.Round(time.Millisecond), lossy.Duration.Round(time.Millisecond)})
		}
		text := shown.Table("mode\tin flight\theld back\tby\tnothing lost\tone segment lost", rows...)
		t.Logf("one lost segment, 50 answers 100 ms away, virtual time\n%s", text)
		shown.InReadme(t, *update, "latency, one lost segment", text, "")
	})
}

// firstAnswers is when the server sends them: after two round trips of the
// client for the connection, half of one for the request.
const firstAnswers = rtt/2 + 2*rtt

// losing is a link that loses, of what the first connection brings down at one
// instant, the segment that follows the first 1,460 bytes: the server's
// handshake ended within those.
func losing(at time.Duration) linkdelay.Link {
	link := withoutWindow()
	link.Down.Drop = func(p linkdelay.Packet) bool {
		return p.Connection == 1 && p.Index == 2 && p.Attempt == 0 && p.Sent.Truncate(time.Millisecond) == at
	}
	return link
}

// withoutWindow sends what is there, so that loss is all that differs.
func withoutWindow() linkdelay.Link {
	link := linkdelay.RTT(rtt)
	link.Down.Congestion = linkdelay.NoWindow
	return link
}

// heldBack is how many answers took longer than without loss, and by how much
// at most.
func heldBack(clean, lossy *visit) (n int, late time.Duration) {
	before, after := clean.Log.Requests(), lossy.Log.Requests()
	for i := range before {
		more := after[i].End.Sub(after[i].Sent) - before[i].End.Sub(before[i].Sent)
		if more > time.Millisecond {
			n++
			late = max(late, more.Truncate(time.Millisecond))
		}
	}
	return n, late
}
