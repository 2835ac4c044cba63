package downgrade

import (
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/alpn"
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

		said := &spoken{TB: t}
		said.run(func() {
			netlog.RequireConnections(said, proxy.Log(), 1, alpn.H2, mitm.Downstream, netlog.Used())
		})
		t.Log(said.text)
		assert.True(t, strings.HasPrefix(said.text, "want 1 connection over h2, got 6 over http/1.1"), said.text)
		rows := regexp.MustCompile(`(?m)^.*downstream.*http/1\.1.*wiretest mitm CA.*$`).FindAllString(said.text, -1)
		assert.GreaterOrEqual(t, len(rows), 6, "a line for each of the six connections:\n%s", said.text)
	})
}

// getAll is an application that gets the page and then, all at once, what is
// on it.
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
	}
	for range site.Assets() {
		require.NoError(t, <-errs)
	}
}

// spoken is a testing.TB that keeps what a failure says.
type spoken struct {
	testing.TB
	text string
}

func (s *spoken) Helper() {}

func (s *spoken) Fatalf(format string, args ...any) {
	s.text = fmt.Sprintf(format, args...)
	panic(s)
}

// run lets fail end where it fails, as a test would.
func (s *spoken) run(fail func()) {
	defer func() {
		if r := recover(); r != nil && r != any(s) {
			panic(r)
		}
	}()
	fail()
}
