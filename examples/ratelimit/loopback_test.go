package ratelimit

import (
	"net/http"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/alpn"
	"example.com/wiretest/examples/internal/shown"
	"example.com/wiretest/netlog"
	"example.com/wiretest/origin"
)

// On sockets the kernel is a second witness of how many connections there are.
// Answers take 5 ms here, so that only the counts are the scenario's, and that
// nothing is faster than its arithmetic.
func TestOnSockets(t *testing.T) {
	const work = 5 * time.Millisecond
	var all []*run
	for i, l := range limits() {
		for _, proto := range []string{alpn.H2, alpn.HTTP11} {
			site := origin.New(t, &origin.Config{ALPN: alpn.Only(proto), Handler: l.site(work)})
			log := netlog.New(t)
			client := &http.Client{Transport: netlog.NewTransport(transport(site, nil, 3), log)}
			t.Cleanup(client.CloseIdleConnections)
			r := readBy(t, client.Transport, site, l, proto, 3)
			all = append(all, r)
			if runtime.GOOS == "linux" {
				var err error
				r.outside, err = site.SocketsTo(0)
				now := time.Now()
				require.NoError(t, err)
				assert.Equal(t, len(site.Log().Connections(netlog.Between(now, now))), r.outside, "the ledger's and the kernel's connections: %s, %s", l.name, proto)
			}
			if i != 1 { // there, by how fast a refusal comes back
				assert.Equal(t, connections(i, proto, 3), log.Connections(netlog.Used()).MostOpen(), "%s, %s\n%v", l.name, proto, log)
				netlog.RequireConnections(t, site.Log(), len(log.Connections(netlog.Used())), proto, netlog.Used())
			}
			serial := requests
			if i == 0 && proto == alpn.HTTP11 {
				serial = requests / 3
			}
			assert.GreaterOrEqual(t, r.took, time.Duration(serial)*work, "%s, %s", l.name, proto)
		}
	}
	t.Log("\n" + table(all))
}

// TestWhatTheTenLinesSay runs the test that the author of the client did not
// have. It must fail, and say what the comparison of protocols was one of.
func TestWhatTheTenLinesSay(t *testing.T) {
	site := origin.New(t, &origin.Config{
		ALPN:    alpn.Only(alpn.HTTP11),
		Handler: origin.PerConnection(1, origin.Work(5*time.Millisecond, certificates())),
	})
	f := &follower{http: &http.Client{Transport: transport(site, nil, 3)}, url: site.URL, workers: 3}
	require.NoError(t, f.read(t.Context()))
	said := shown.Failure(t, func(tb testing.TB) { netlog.RequireConnections(tb, site.Log(), 1, "", netlog.Used()) }) // as over HTTP/2
	t.Log(said)
	assert.Contains(t, said, "want 1 connection, got 3 over http/1.1")
}
