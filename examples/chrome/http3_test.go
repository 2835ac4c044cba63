package chrome

import (
	"net"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/alpn"
	"example.com/wiretest/mitm"
	"example.com/wiretest/netlog"
	"example.com/wiretest/netlog/chrome"
	"example.com/wiretest/origin"
)

// TestHTTP3InABrowser forces the browser to HTTP/3, which is the only way to have
// it speak that with an authority of one's own: what Alt-Svc names it tries only
// where a root that it ships vouches for the host. It asks "localhost", of which
// it tries ::1 first and, where QUIC is forced, nothing after it.
func TestHTTP3InABrowser(t *testing.T) {
	needed(t)
	for host, sni := range map[string][]string{"127.0.0.1": nil, "localhost": {"localhost"}} {
		t.Run(host, func(t *testing.T) {
			site := origin.New(t, &origin.Config{HTTP3: &origin.HTTP3{}})
			_, port, err := net.SplitHostPort(site.Addr)
			require.NoError(t, err)
			site.URL = "https://" + net.JoinHostPort(host, port)
			v := &visit{
				mode: mode{name: "direct, h3, " + host, connections: 1, protocol: alpn.H3, issuer: "wiretest origin CA"},
				site: site, ledger: site.Log(),
			}
			presented, err := site.CA().Leaf(sni...)
			require.NoError(t, err)
			v.run(t, &chrome.Config{
				NetLog:    filepath.Join(t.ArtifactDir(), fileName(v.name)),
				ForceQUIC: []string{net.JoinHostPort(host, port)},
			}, presented)
			v.checkNetLog(t)
			v.checkReport(t)
			v.checkQUICLedger(t)
			require.Len(t, v.report.Entries, 171)
			t.Logf("171 requests over HTTP/3 in %s, real time\n%s", v.version, table(v))
		})
	}
}

// checkQUICLedger: the two ends of the one connection recorded the same. What a
// NetLog does not tell of QUIC is left out.
func (v *visit) checkQUICLedger(t *testing.T) {
	t.Helper()
	netlog.RequireConnections(t, v.ledger, 1, alpn.H3)
	here, there := v.browser.Requests(), v.ledger.Requests()
	assert.Equal(t, requestsTold(there, remote), requestsTold(here, local), "%s: requests of the ledger, and of the NetLog", v.name)
	told := func(log *netlog.Log, requests netlog.Requests, client func(*netlog.Connection) string) []toldConnection {
		list := connectionsTold(log.Connections(netlog.Used()), requests, client)
		for i := range list {
			list[i].StreamLimit, list[i].TLSVersion, list[i].ServerName = 0, 0, ""
		}
		return list
	}
	assert.Equal(t, told(v.ledger, there, remote), told(v.browser, here, local), "%s: connections of the ledger, and of the NetLog", v.name)
}

// TestConnectProxyAndHTTP3InABrowser: behind a CONNECT proxy the browser is told
// of HTTP/3 by every answer, may use it, and does not: all is TCP, on every leg.
// Where the proxy leaves Alt-Svc alone, the browser notes that HTTP/3 is not to
// be had there, and calls it broken.
func TestConnectProxyAndHTTP3InABrowser(t *testing.T) {
	needed(t)
	for name, strip := range map[string]bool{"kept": false, "stripped": true} {
		t.Run(name, func(t *testing.T) {
			findings := []string{netlog.FoundInterception}
			if !strip {
				findings = append(findings, netlog.FoundBrokenQUIC)
			}
			site := origin.New(t, &origin.Config{HTTP3: &origin.HTTP3{}})
			proxy := mitm.New(t, &mitm.Config{RootCAs: site.CA().Pool(), StripAltSvc: strip})
			v := &visit{
				mode: mode{name: "proxy, Alt-Svc " + name, client: &mitm.Leg{}, connections: 1, protocol: alpn.H2, issuer: "wiretest mitm CA",
					findings: findings},
				site: site, ledger: proxy.Log(),
			}
			presented, err := proxy.CA().Leaf("127.0.0.1")
			require.NoError(t, err)
			v.run(t, &chrome.Config{
				NetLog: filepath.Join(t.ArtifactDir(), fileName(v.name)),
				Proxy:  proxy.URL, QUIC: true,
			}, presented)
			v.checkNetLog(t)
			v.checkReport(t)
			v.checkLedger(t)
			for _, log := range []*netlog.Log{v.browser, v.ledger, site.Log()} {
				for _, c := range log.Connections() {
					assert.Equal(t, "tcp", c.Network, "%s: connection %d to %s", v.name, c.ID, c.Host)
				}
			}
			assert.Equal(t, strip, len(v.browser.AltServices()) == 0, "alternatives that the browser learned of: %v", v.browser.AltServices())
			for _, a := range v.browser.AltServices() {
				assert.Zero(t, a.Requests, "%v", a)
			}
		})
	}
}
