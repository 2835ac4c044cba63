package chrome

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/alpn"
	"example.com/wiretest/netlog"
)

// TestDowngradeInABrowser is the story.
func TestDowngradeInABrowser(t *testing.T) {
	needed(t)
	visits := make([]*visit, len(modes()))
	for _, i := range []int{1, 2, 0} { // the first browser starts cold, which may not cost the one that is the measure
		visits[i] = modes()[i].load(t)
		visits[i].checkNetLog(t)
		visits[i].checkLedger(t)
		visits[i].checkReport(t)
	}
	direct, h1, h2 := visits[0], visits[1], visits[2]
	assert.GreaterOrEqual(t, h1.report.Done, h1.sharedBySix(), "what the downgrade costs")
	assert.Less(t, direct.report.Done, h1.report.Done, "without it")
	assert.Less(t, h2.report.Done, h1.report.Done, "h2 on the client's leg is a way out")
	assert.Empty(t, direct.browser.Stalls())
	assert.Greater(t, len(h1.browser.Stalls()), 100)
	keepPictures(t, visits)
	t.Logf("171 requests in %s, real time\n%s", direct.version, table(visits...))
	for _, v := range visits {
		for _, found := range v.browser.Findings() {
			t.Logf("%s: %v", v.name, found)
		}
	}
}

// sharedBySix is the least time that the page's think times take on six
// connections.
func (v *visit) sharedBySix() (least time.Duration) {
	for _, q := range page(v.browser.Requests())[1:] {
		least += v.thinkTime(q.URL) / 6
	}
	return least
}

// checkNetLog is about what a user's NetLog alone would show.
func (v *visit) checkNetLog(t *testing.T) {
	t.Helper()
	assert.Empty(t, v.browser.Damage(), v.name)
	netlog.RequireConnections(t, v.browser, v.connections, v.protocol, netlog.Used()) // Chromium may dial one ahead in vain
	for _, c := range v.browser.Connections() {
		assert.Equal(t, v.issuer, c.Issuer, v.name)
	}
	require.Len(t, page(v.browser.Requests(netlog.Status(200))), 171, v.name)
	for _, q := range page(v.browser.Requests())[1:] {
		assert.GreaterOrEqual(t, q.TimeToFirstByte()+netLogPrecision, v.thinkTime(q.URL), "the answer to %s, %s", q.URL, v.name)
	}
	kind := netlog.StalledMaxSocketsPerGroup
	if v.protocol == alpn.H2 {
		kind = netlog.StalledMaxStreams
	}
	for _, s := range v.browser.Stalls() {
		require.Equal(t, kind, s.Kind, v.name)
	}
	var kinds []string
	for _, found := range v.browser.Findings() {
		kinds = append(kinds, found.Kind)
	}
	assert.ElementsMatch(t, v.expected(), kinds, "%s: %v", v.name, v.browser.Findings())
}

// expected is without the limit of streams where no request met it: a browser on
// a busy machine asks so slowly that 100 are never in flight.
func (v *visit) expected() []string {
	if len(v.browser.Stalls()) > 0 {
		return v.findings
	}
	return slices.DeleteFunc(slices.Clone(v.findings), func(kind string) bool { return kind == netlog.FoundStreamLimit })
}
