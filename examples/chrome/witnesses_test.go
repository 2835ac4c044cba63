package chrome

import (
	"cmp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/alpn"
	"example.com/wiretest/netlog"
	"example.com/wiretest/origin"
)

// netLogPrecision is what times of a NetLog are rounded to; a duration is from
// one to another.
const netLogPrecision = time.Millisecond

// thinkTime is how long the origin takes for that subresource.
func (v *visit) thinkTime(url string) time.Duration {
	return (*origin.Page)(nil).Delay(strings.TrimPrefix(url, v.site.URL))
}

// told is one request as either end of its connection tells it.
type told struct {
	URL, Method, Protocol string
	Status                int
	Stream                int64
	ClientPort            string // which names the connection at both ends
}

// toldConnection is one connection as either end tells it.
type toldConnection struct {
	ClientPort             string
	Host, ServerName       string
	ALPN, Protocol, Issuer string
	TLSVersion             uint16
	Resumed                bool
	StreamLimit            int
	Requests               int // without the one that brings the report
}

// checkLedger: the two ends of the browser's connections recorded the same.
func (v *visit) checkLedger(t *testing.T) {
	t.Helper()
	here, there := v.browser.Requests(), v.ledger.Requests(v.client()...)
	assert.Equal(t, requestsTold(there, remote), requestsTold(here, local), "%s: requests of the ledger, and of the NetLog", v.name)
	assert.Equal(t,
		connectionsTold(v.ledger.Connections(append(v.client(), netlog.Used())...), there, remote),
		connectionsTold(v.browser.Connections(netlog.Used()), here, local),
		"%s: connections of the ledger, and of the NetLog", v.name)
	netlog.RequireConnections(t, v.site.Log(), 1, alpn.H2, netlog.Used()) // the proxy's own, whatever it speaks to the client
}

func local(c *netlog.Connection) string  { return portOf(c.Local) }
func remote(c *netlog.Connection) string { return portOf(c.Remote) }

func portOf(address string) string { return address[strings.LastIndex(address, ":")+1:] }

func requestsTold(all netlog.Requests, client func(*netlog.Connection) string) (list []told) {
	for _, q := range page(all) {
		one := told{q.URL, q.Method, q.Protocol, q.Status, q.Stream, ""}
		if q.Connection != nil {
			one.ClientPort = client(q.Connection)
		}
		list = append(list, one)
	}
	slices.SortFunc(list, func(a, b told) int { return strings.Compare(a.URL, b.URL) })
	return list
}

func connectionsTold(all netlog.Connections, requests netlog.Requests, client func(*netlog.Connection) string) (list []toldConnection) {
	carried := make(map[int64]int)
	for _, q := range page(requests) {
		if q.Connection != nil {
			carried[q.Connection.ID]++
		}
	}
	for _, c := range all {
		list = append(list, toldConnection{
			client(&c), c.Host, c.ServerName, c.ALPN, c.Protocol, c.Issuer, c.TLSVersion, c.Resumed, c.StreamLimit, carried[c.ID],
		})
	}
	slices.SortFunc(list, func(a, b toldConnection) int { return cmp.Compare(a.ClientPort, b.ClientPort) })
	return list
}

// checkReport: the page saw the same requests, by the same protocol.
func (v *visit) checkReport(t *testing.T) {
	t.Helper()
	assert.Empty(t, v.report.Failed, v.name)
	var seen, recorded []string
	for _, e := range v.report.Entries {
		seen = append(seen, e.URL)
		require.Equal(t, v.protocol, e.Protocol, "nextHopProtocol of %s, %s", e.URL, v.name)
	}
	for _, q := range page(v.browser.Requests()) {
		recorded = append(recorded, q.URL)
	}
	slices.Sort(seen)
	slices.Sort(recorded)
	assert.Equal(t, recorded, seen, "%s: requests of the NetLog, and of Resource Timing", v.name)
}
