package latency

import (
	"crypto/tls"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/linkdelay"
	"example.com/wiretest/netlog"
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
		t.Logf("one asset, twice, 100 ms away\n%s", table("sessions\tfirst\tsecond\tresumed", rows...))
	})
}

func loadOne(t *testing.T, site *origin.Server, tr *http.Transport) *pageload.Result {
	t.Helper()
	page, err := pageload.Load(t.Context(), &pageload.Config{URLs: site.Assets(), Transport: tr})
	require.NoError(t, err)
	netlog.RequireConnections(t, page.Log, 1, "")
	return page
}
