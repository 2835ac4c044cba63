package downgrade

import (
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/alpn"
	"example.com/wiretest/examples/internal/shown"
	"example.com/wiretest/linkdelay"
	"example.com/wiretest/mitm"
	"example.com/wiretest/netlog"
	"example.com/wiretest/origin"
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
		tr.MaxConnsPerHost = 6 // as a browser; net/http alone would open one per request
		getAll(t, &http.Client{Transport: tr}, site)

		said := shown.Failure(t, func(tb testing.TB) {
			netlog.RequireConnections(tb, proxy.Log(), 1, alpn.H2, mitm.Downstream, netlog.Used())
		})
		t.Log(said)
		assert.True(t, strings.HasPrefix(said, "want 1 connection over h2, got 6 over http/1.1"), said)
		rows := regexp.MustCompile(`(?m)^.*downstream.*http/1\.1.*wiretest mitm CA.*$`).FindAllString(said, -1)
		assert.GreaterOrEqual(t, len(rows), 6, "a line for each of the six connections:\n%s", said)
		verdict, _, _ := strings.Cut(said, "the whole ledger")
		shown.InReadme(t, *update, "the ten lines fail", verdict)
	})
}

// getAll is an application that gets the page and then, all at once, what is
// on it, one nanosecond of virtual time apart: what is told of them is the same
// each time.
func getAll(t *testing.T, client *http.Client, site *origin.Server) {
	t.Helper()
	get := func(url string) error {
		resp, err := client.Get(url)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		_, err = io.Copy(io.Discard, resp.Body) // unread, it would cost the connection
		return err
	}
	require.NoError(t, get(site.URL))
	errs := make(chan error)
	for _, url := range site.Assets() {
		go func() { errs <- get(url) }() // received from below
		time.Sleep(time.Nanosecond)
	}
	for range site.Assets() {
		require.NoError(t, <-errs)
	}
}
