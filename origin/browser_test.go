package origin_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/alpn"
	"example.com/wiretest/ca"
	"example.com/wiretest/netlog"
	"example.com/wiretest/origin"
)

// The program itself: the one in PATH is a script that starts it, and that
// would die alone.
const chromium = "/usr/lib/chromium/chromium-headless-shell"

// TestBrowserLoadsThePage shows that a browser fetches each subresource once,
// the preloaded ones too, and that its report agrees with the ledger.
func TestBrowserLoadsThePage(t *testing.T) {
	tool(t, "chromium-headless-shell", "chromium-headless-shell")
	for proto, conns := range map[string]int{alpn.H2: 1, alpn.HTTP11: 6} {
		t.Run(proto, func(t *testing.T) {
			leavesNothing(t)
			cert := ca.New(t, nil).Issue("127.0.0.1")
			s := origin.New(t, &origin.Config{
				ALPN: alpn.Only(proto),
				TLS:  &tls.Config{Certificates: []tls.Certificate{cert.Certificate}},
			})
			open(t, s.URL+"/", cert.SPKIHash())
			report, err := s.Report(t.Context())
			require.NoError(t, err)

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
			assert.GreaterOrEqual(t, report.Done, 398*time.Millisecond)
			assert.Contains(t, report.UserAgent, "Chrome/")
			netlog.RequireConnections(t, s.Log(), conns, proto, netlog.Used())
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

// open opens url in a browser that trusts the key and runs as long as the test.
func open(t *testing.T, url, spkiHash string) {
	ctx, cancel := context.WithCancel(t.Context())
	cmd := exec.CommandContext(ctx, chromium,
		"--no-sandbox", "--disable-gpu", "--no-proxy-server", "--user-data-dir="+t.TempDir(),
		"--ignore-certificate-errors-spki-list="+spkiHash, "--remote-debugging-port=0", url)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // killed, it would leave its children
	cmd.WaitDelay = 5 * time.Second
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		cancel()
		cmd.Wait() // it was interrupted
		if t.Failed() {
			t.Logf("the browser wrote:\n%s", stderr.String())
		}
	})
}
