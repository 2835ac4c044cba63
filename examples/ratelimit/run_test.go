package ratelimit

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/wiretest/alpn"
	"example.com/wiretest/examples/internal/shown"
	"example.com/wiretest/netlog"
	"example.com/wiretest/origin"
)

// run is one reading of the backlog.
type run struct {
	limit, proto string
	workers      int

	conns   int // from the ledger
	outside int // from the kernel; -1 where it cannot be asked
	took    time.Duration
	refused int
}

// read reads the backlog from a server of its own.
func read(t *testing.T, l limit, proto string, workers int, work time.Duration, server, client origin.Net) *run {
	t.Helper()
	site := origin.New(t, &origin.Config{Net: server, ALPN: alpn.Only(proto), Handler: l.site(work)})
	return readBy(t, transport(site, client, workers), site, l, proto, workers)
}

// transport has as many connections as there are workers. net/http's own would
// keep two of them between two answers, and on sockets now and then open one
// more than it then needs.
func transport(site *origin.Server, from origin.Net, workers int) *http.Transport {
	tr := site.Transport(from)
	tr.MaxConnsPerHost, tr.MaxIdleConnsPerHost = workers, workers
	return tr
}

func readBy(t *testing.T, by http.RoundTripper, site *origin.Server, l limit, proto string, workers int) *run {
	t.Helper()
	f := &follower{http: &http.Client{Transport: by}, url: site.URL, workers: workers}
	start := time.Now()
	require.NoError(t, f.read(t.Context()))
	r := &run{
		limit: l.name, proto: proto, workers: workers,
		took:    time.Since(start).Truncate(time.Millisecond), // of the nanoseconds between the workers
		refused: int(f.refused.Load()),
		conns:   len(site.Log().Connections(netlog.Used())),
		outside: -1,
	}
	require.EqualValues(t, backlog, f.entries.Load())
	require.Len(t, site.Log().Requests(netlog.Status(http.StatusOK)), 1+requests)
	require.Len(t, site.Log().Requests(netlog.Status(http.StatusTooManyRequests)), r.refused)
	return r
}

// rate is the outcome.
func (r *run) rate() string { return fmt.Sprintf("%.1f", backlog/r.took.Seconds()) }

func table(runs []*run) string {
	var rows [][]any
	for _, r := range runs {
		outside := "–"
		if r.outside >= 0 {
			outside = fmt.Sprint(r.outside)
		}
		rows = append(rows, []any{r.limit, r.proto, r.workers, r.conns, outside, r.took, r.rate(), r.refused})
	}
	return shown.Table("limit\tprotocol\tat a time\tconnections\tby the kernel\ttime\tentries/s\tanswers of 429", rows...)
}
