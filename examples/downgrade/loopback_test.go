package downgrade

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"example.com/wiretest/alpn"
	"example.com/wiretest/linkdelay"
	"example.com/wiretest/netlog"
)

// TestDowngradeOnSockets is the story on real sockets and in real time, as any
// client would meet it: the counts are the same, exactly; the times are only
// bounded.
func TestDowngradeOnSockets(t *testing.T) {
	t.Parallel()
	s := setUp(t, linkdelay.NewLoopback(t, linkdelay.Link{}), nil)
	var visits []*visit
	for i, c := range []struct {
		connections int
		protocol    string
		stalled     int
	}{
		{1, alpn.H2, 0}, {6, alpn.HTTP11, 164}, {1, alpn.H2, 70},
	} {
		v := s.routes()[i].load(t, s.site.URL)
		visits = append(visits, v)
		netlog.RequireConnections(t, v.Log, c.connections, c.protocol)
		netlog.RequireConnections(t, v.Log, c.connections, c.protocol, netlog.Used())
		assert.Len(t, v.Log.Requests(netlog.Status(200)), 171, v.name)
		// How many wait depends on how long real time takes to ask for all.
		assert.LessOrEqual(t, len(v.Log.Stalls()), c.stalled, v.name)
	}
	checkOriginConnections(t, s)
	assert.GreaterOrEqual(t, visits[1].Duration, sum(published())/6, "six connections share the work, in whatever order")
	t.Logf("171 requests on loopback sockets, real time\n%s", table(visits...))
}

func sum(all []time.Duration) (sum time.Duration) {
	for _, d := range all {
		sum += d
	}
	return sum
}
