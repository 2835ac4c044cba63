package mitm_test

import (
	"context"
	"crypto/x509"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/alpn"
	"example.com/wiretest/ca"
	"example.com/wiretest/mitm"
	"example.com/wiretest/netlog"
	"example.com/wiretest/netlog/chrome"
	"example.com/wiretest/origin"
)

// A browser loads the page of 171 requests in each mode, and what it tells of
// its connections is what the ledger says.
func TestChromiumInEveryMode(t *testing.T) {
	if raceDetector {
		t.Skip("a browser is no faster for it, and races no more than other clients do")
	}
	if _, err := chrome.Find(); err != nil {
		if os.Getenv("WIRETEST_REQUIRE_TOOLS") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	authority := ca.New(t, nil)
	quick := &origin.Page{Scripts: 50, Images: 60, API: 60, DelayMin: 5 * time.Millisecond, DelayMax: 20 * time.Millisecond}
	h1, h2 := mitm.Leg{ALPN: alpn.Only(alpn.HTTP11)}, mitm.Leg{ALPN: alpn.Only(alpn.H2)}
	for _, c := range []struct {
		name   string
		cfg    mitm.Config
		mirror bool
		conns  int
		proto  string
	}{
		{"https by h2, h2 within", mitm.Config{Mode: mitm.ExplicitTLS, Outer: h2}, false, 1, alpn.H2},
		{"https by h2, http/1.1 within", mitm.Config{Mode: mitm.ExplicitTLS, Outer: h2}, false, 6, alpn.HTTP11},
		{"https by http/1.1", mitm.Config{Mode: mitm.ExplicitTLS, Outer: h1}, true, 1, alpn.H2},
		{"socks5", mitm.Config{Mode: mitm.SOCKS5}, true, 1, alpn.H2},
		{"transparent", mitm.Config{Mode: mitm.Transparent}, true, 6, alpn.HTTP11},
		{"reverse", mitm.Config{Mode: mitm.Reverse}, false, 1, alpn.H2},
	} {
		t.Run(c.name, func(t *testing.T) {
			up := alpn.H2
			if c.mirror {
				up = c.proto
			}
			site := origin.New(t, &origin.Config{CA: authority, ALPN: alpn.Only(up), Page: quick})
			proxy := startFor(t, authority, c.cfg, site, c.proto, c.mirror)
			name, leafFor := site.URL, "127.0.0.1"
			cfg := chrome.Config{}
			switch c.cfg.Mode {
			case mitm.Transparent:
				name, leafFor = "https://origin.test", "origin.test"
				cfg.HostRules = []string{"MAP origin.test:443 " + proxy.Addr}
			case mitm.Reverse:
				name = proxy.URL
			default:
				cfg.Proxy = proxy.URL
			}
			leaf, err := authority.Leaf(leafFor)
			require.NoError(t, err)
			cfg.Trust = []*x509.Certificate{leaf.Leaf}
			cfg.Done = func(ctx context.Context) error {
				_, err := site.Report(ctx)
				return err
			}
			result, err := chrome.Run(t.Context(), name+"/", &cfg)
			require.NoError(t, err, "%s", proxy.Log())

			statuses := make(map[int]int)
			for _, q := range page(carried(proxy.Log(), mitm.Downstream)) {
				statuses[q.Status]++
			}
			assert.Equal(t, map[int]int{http.StatusOK: 171}, statuses)
			netlog.RequireConnections(t, proxy.Log(), c.conns, c.proto, mitm.Downstream, netlog.Used())
			assert.Len(t, page(result.Log.Requests()), 171, "%s", result.Log)
		})
	}
}

// page is all requests but the one that brings the report.
func page(all netlog.Requests) netlog.Requests {
	return slices.DeleteFunc(all, func(q netlog.Request) bool { return strings.HasSuffix(q.URL, origin.ReportPath) })
}
