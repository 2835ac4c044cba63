package chrome

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/wiretest/alpn"
	"example.com/wiretest/mitm"
	"example.com/wiretest/netlog"
	"example.com/wiretest/netlog/chrome"
	"example.com/wiretest/origin"
)

// mode is one of the published situations, and what it must show.
type mode struct {
	name        string
	published   string
	client      *mitm.Leg // of the proxy; nil is no proxy
	connections int
	protocol    string
	issuer      string
	findings    []string
}

func modes() []mode {
	return []mode{
		{"direct, h2", "491 ms", nil, 1, alpn.H2, "wiretest origin CA", nil},
		{"proxy, http/1.1 to the client", "7,374 ms", &mitm.Leg{ALPN: alpn.Only(alpn.HTTP11)}, 6, alpn.HTTP11, "wiretest mitm CA",
			[]string{netlog.FoundInterception, netlog.FoundConnectionLimit}},
		{"proxy, h2 to the client", "843 ms", &mitm.Leg{MaxConcurrentStreams: 100}, 1, alpn.H2, "wiretest mitm CA",
			[]string{netlog.FoundInterception, netlog.FoundStreamLimit}},
	}
}

// visit is one load of the page, as three witnesses saw it.
type visit struct {
	mode
	site    *origin.Server
	browser *netlog.Log    // what the browser's NetLog says
	ledger  *netlog.Log    // what the other end of its connections recorded
	report  *origin.Report // what the page says
	version string         // of the browser
}

// load loads the page in a browser of its own, from fixtures of their own.
func (m mode) load(t *testing.T) *visit {
	t.Helper()
	site := origin.New(t, nil)
	v := &visit{mode: m, site: site, ledger: site.Log()}
	authority, identities := site.CA(), []string(nil)
	cfg := &chrome.Config{NetLog: filepath.Join(t.ArtifactDir(), fileName(m.name))}
	if m.client != nil {
		proxy := mitm.New(t, &mitm.Config{RootCAs: site.CA().Pool(), Downstream: *m.client})
		v.ledger, cfg.Proxy = proxy.Log(), proxy.URL
		authority, identities = proxy.CA(), []string{"127.0.0.1"}
	}
	presented, err := authority.Leaf(identities...)
	require.NoError(t, err)
	v.run(t, cfg, presented)
	return v
}

func (v *visit) run(t *testing.T, cfg *chrome.Config, presented *tls.Certificate) {
	t.Helper()
	cfg.Trust = []*x509.Certificate{presented.Leaf}
	cfg.Done = func(ctx context.Context) (err error) {
		v.report, err = v.site.Report(ctx)
		return err
	}
	result, err := chrome.Run(t.Context(), v.site.URL+"/", cfg)
	require.NoError(t, err, v.name)
	v.browser, v.version = result.Log, result.Version
}

func fileName(name string) string {
	return strings.NewReplacer("/", "", ", ", "-", " ", "-").Replace(name) + ".json"
}

// client selects the end that the browser sees: of a proxy's legs one alone.
func (v *visit) client() []netlog.Filter {
	if v.mode.client == nil {
		return nil
	}
	return []netlog.Filter{mitm.Downstream}
}

// page is all requests but the one that brings the report.
func page(requests netlog.Requests) (page netlog.Requests) {
	for _, q := range requests {
		if !strings.HasSuffix(q.URL, origin.ReportPath) {
			page = append(page, q)
		}
	}
	return page
}

// needed skips the test where there is no browser, or fails it where
// WIRETEST_REQUIRE_TOOLS says that nothing may be skipped.
func needed(t *testing.T) {
	t.Helper()
	if _, err := chrome.Find(); err != nil {
		if os.Getenv("WIRETEST_REQUIRE_TOOLS") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
}
