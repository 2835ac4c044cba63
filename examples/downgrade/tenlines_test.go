package downgrade

import (
	"regexp"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/alpn"
	"example.com/wiretest/examples/internal/shown"
	"example.com/wiretest/linkdelay"
	"example.com/wiretest/mitm"
	"example.com/wiretest/netlog"
	"example.com/wiretest/origin"
	"example.com/wiretest/origin/pageload"
)

// TestWhatTheTenLinesSay runs the README's ten-line test against a proxy that
// downgrades. It must fail, and what it says must be enough for somebody who
// has seen neither the test nor the proxy.
func TestWhatTheTenLinesSay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := linkdelay.NewNetwork(t, linkdelay.Link{})
		site := origin.New(t, &origin.Config{Net: network.Host("origin.test")})
		proxy := mitm.New(t, &mitm.Config{Net: network.Host("proxy.test"), RootCAs: site.CA().Pool(), Downstream: mitm.Leg{ALPN: alpn.Only(alpn.HTTP11)}})
		tr := proxy.Transport(network.Host("pc.test"))
		_, err := pageload.Load(t.Context(), &pageload.Config{URL: site.URL, Transport: tr}) // in the place of an application
		require.NoError(t, err)
		synctest.Wait() // until the proxy, too, has seen the ends of connections

		said := shown.Failure(t, func(tb testing.TB) {
			netlog.RequireConnections(tb, proxy.Log(), 1, alpn.H2, mitm.Downstream, netlog.Used())
		})
		t.Log(said)
		assert.True(t, strings.HasPrefix(said, "want 1 connection over h2, got 6 over http/1.1"), said)
		rows := regexp.MustCompile(`(?m)^.*downstream.*http/1\.1.*wiretest mitm CA.*$`).FindAllString(said, -1)
		assert.GreaterOrEqual(t, len(rows), 6, "a line for each of the six connections:\n%s", said)
		verdict, _, _ := strings.Cut(said, "the whole ledger")
		shown.InReadme(t, *update, "the ten lines fail", verdict, "")
	})
}
