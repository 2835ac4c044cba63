package origin_test

import (
	"context"
	"crypto/x509"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/alpn"
	"example.com/wiretest/netlog"
	"example.com/wiretest/netlog/chrome"
	"example.com/wiretest/origin"
)

// TestBrowserLoadsThePage shows that a browser fetches each subresource once,
// the preloaded ones too, and that its report agrees with the ledger. Over HTTP/1.1
// the published page takes more than 7 s.
func TestBrowserLoadsThePage(t *testing.T) {
	browser(t)
	for proto, c := range map[string]struct {
		page  *origin.Page
		conns int
		least time.Duration
	}{
		alpn.H2:     {nil, 1, 398 * time.Millisecond},
		alpn.HTTP11: {smallDelays(), 6, 350 * time.Millisecond},
	} {
		t.Run(proto, func(t *testing.T) {
			leavesNothing(t)
			s := origin.New(t, &origin.Config{ALPN: alpn.Only(proto), Page: c.page})
			report := reported(t, s)

			var told []string
			for _, e := range report.Entries {
				told = append(told, e.URL)
				assert.Equal(t, proto, e.Protocol, e.URL)
				assert.NotZero(t, e.ResponseEnd, e.URL)
				assert.NotZero(t, e.TransferSize, e.URL)
			}
			slices.Sort(told)
			recorded := pageRequests(s)
			assert.Equal(t, recorded, told, "what the browser says it loaded, against the ledger")
			assert.Len(t, recorded, 171)
			assert.Empty(t, report.Failed)
			assert.GreaterOrEqual(t, report.Done, c.least)
			assert.Contains(t, report.UserAgent, "Chrome/")
			netlog.RequireConnections(t, s.Log(), c.conns, proto, netlog.Used())
		})
	}
}

// pageRequests are the URLs of the requests that the page is made of, sorted.
func pageRequests(s *origin.Server) (urls []string) {
	for _, q := range s.Log().Requests() {
		if !strings.HasSuffix(q.URL, origin.ReportPath) {
			urls = append(urls, q.URL)
		}
	}
	slices.Sort(urls)
	return urls
}

// browser skips the test where there is none, as tool does.
func browser(t *testing.T) {
	t.Helper()
	if _, err := chrome.Find(); err != nil {
		if os.Getenv("WIRETEST_REQUIRE_TOOLS") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
}

// reported loads the page in a browser and returns the browser's own report.
func reported(t *testing.T, s *origin.Server) (report *origin.Report) {
	t.Helper()
	leaf, err := s.CA().Leaf()
	require.NoError(t, err)
	_, err = chrome.Run(t.Context(), s.URL+"/", &chrome.Config{
		Trust: []*x509.Certificate{leaf.Leaf},
		Done: func(ctx context.Context) (err error) {
			report, err = s.Report(ctx)
			return err
		},
	})
	require.NoError(t, err)
	return report
}
