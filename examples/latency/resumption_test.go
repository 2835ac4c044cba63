package latency

import (
	"crypto/tls"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/alpn"
	"example.com/wiretest/examples/internal/shown"
	"example.com/wiretest/linkdelay"
	"example.com/wiretest/netlog"
	"example.com/wiretest/netlog/h3"
	"example.com/wiretest/origin"
	"example.com/wiretest/origin/pageload"
)

// TestResumption loads one asset twice. TLS 1.2 saves a round trip when it
// resumes a session; TLS 1.3 saves none, because its handshake takes only one
// to begin with (what it saves is the certificates).
func TestResumption(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := linkdelay.NewNetwork(t, linkdelay.RTT(rtt))
		site := origin.New(t, &origin.Config{Net: network.Host("origin.test"), Page: &origin.Page{Images: 1}})
		var rows [][]any
		for _, c := range []struct {
			name          string
			version       uint16
			remember      bool
			first, second time.Duration // round trips
			resumed       int
		}{
			{"TLS 1.3, sessions kept", tls.VersionTLS13, true, 3, 3, 1},
			{"TLS 1.3, sessions forgotten", tls.VersionTLS13, false, 3, 3, 0},
			{"TLS 1.2, sessions kept", tls.VersionTLS12, true, 4, 3, 1},
			{"TLS 1.2, sessions forgotten", tls.VersionTLS12, false, 4, 4, 0},
		} {
			tr := site.Transport(network.Host("pc.test"))
			tr.TLSClientConfig.MaxVersion = c.version
			if c.remember {
				tr.TLSClientConfig.ClientSessionCache = tls.NewLRUClientSessionCache(0)
			}
			first, second := loadOne(t, site, tr), loadOne(t, site, tr)
			assert.Equal(t, c.first*rtt, first.Duration.Truncate(time.Millisecond), c.name)
			assert.Equal(t, c.second*rtt, second.Duration.Truncate(time.Millisecond), c.name)
			assert.Zero(t, handshakes(first.Log, true), c.name)
			assert.Equal(t, c.resumed, handshakes(second.Log, true), c.name)
			rows = append(rows, []any{c.name, first.Duration.Round(time.Millisecond), second.Duration.Round(time.Millisecond), handshakes(second.Log, true)})
		}
		t.Logf("one asset, twice, 100 ms away\n%s", shown.Table("sessions\tfirst\tsecond\tresumed", rows...))
	})
}

func loadOne(t *testing.T, site *origin.Server, tr *http.Transport) *pageload.Result {
	t.Helper()
	page, err := pageload.Load(t.Context(), &pageload.Config{URLs: site.Assets(), Transport: tr})
	require.NoError(t, err)
	netlog.RequireConnections(t, page.Log, 1, "")
	return page
}

// TestResumptionOverQUIC loads one asset twice over HTTP/3. The handshake takes
// one round trip, resumed or not; with a session of the first visit the second
// sends its request along with it, in 0-RTT, and waits for the answer alone.
func TestResumptionOverQUIC(t *testing.T) {
	h3.Bubble(t, nil, func(t *testing.T) {
		var rows [][]any
		for _, c := range []struct {
			name          string
			remember      bool
			first, second time.Duration // round trips
			resumed       int
		}{
			{"QUIC, sessions kept", true, 2, 1, 1},
			{"QUIC, sessions forgotten", false, 2, 2, 0},
		} {
			network := linkdelay.NewNetwork(t, linkdelay.RTT(rtt))
			m := modes()[3]
			site := m.site(t, network, &origin.Config{Page: &origin.Page{Images: 1}})
			cfg := m.browser(t, network, site)
			cfg.URLs = site.Assets()
			tr := site.HTTP3Transport(network.Host("pc.test"))
			if c.remember {
				tr.TLSClientConfig.ClientSessionCache = tls.NewLRUClientSessionCache(0)
			}
			cfg.HTTP3 = h3.Browser(tr)
			var visits []*pageload.Result
			for range 2 {
				page, err := pageload.Load(t.Context(), cfg)
				require.NoError(t, err)
				netlog.RequireConnections(t, page.Log, 1, alpn.H3)
				visits = append(visits, page)
			}
			first, second := visits[0], visits[1]
			m.took(t, c.first*rtt, first.Duration)
			m.took(t, c.second*rtt, second.Duration)
			assert.Equal(t, c.resumed, handshakes(second.Log, true), c.name)
			assert.Equal(t, c.remember, second.Log.Connections()[0].EarlyData, c.name)
			rows = append(rows, []any{c.name, first.Duration.Round(time.Millisecond), second.Duration.Round(time.Millisecond), handshakes(second.Log, true)})
		}
		t.Logf("one asset, twice, 100 ms away\n%s", shown.Table("sessions\tfirst\tsecond\tresumed", rows...))
	})
}
