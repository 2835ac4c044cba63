package mitm_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/alpn"
	"example.com/wiretest/linkdelay"
	"example.com/wiretest/mitm"
	"example.com/wiretest/netlog"
	"example.com/wiretest/netlog/h3"
	"example.com/wiretest/origin"
	"example.com/wiretest/origin/pageload"
)

const advertised = `h3=":443"; ma=2592000`

func TestAltSvcIsKeptUnlessItIsToBeStripped(t *testing.T) {
	for _, strip := range []bool{false, true} {
		s := setting{
			origin: origin.Config{
				Handler: origin.EarlyHints(0, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.Write([]byte("hello")) }), "</a>; rel=preload"),
				HTTP3:   &origin.HTTP3{AltSvc: origin.AltSvc{Port: 443}},
			},
			proxy: mitm.Config{StripAltSvc: strip},
		}
		eachPair(t, s, func(t *testing.T, s *stage) {
			resp, _ := s.get(t, "/page?a=1")
			if !strip {
				assert.Equal(t, []string{advertised}, resp.Header["Alt-Svc"])
				assert.Empty(t, s.proxy.Log().Notes(mitm.AltSvcNote))
				return
			}
			assert.NotContains(t, resp.Header, "Alt-Svc")
			notes := s.proxy.Log().Notes(mitm.AltSvcNote)
			require.Len(t, notes, 2, "one of the 103, one of the answer")
			for _, n := range notes {
				assert.Equal(t, s.site.Addr+"/page?a=1", n.Params["of"])
				assert.Equal(t, []string{advertised}, n.Params["values"])
			}
		})
	}
}

// What is advertised leads past the proxy, where a client with a CONNECT proxy
// does not go: the ledgers show TCP alone, whether Alt-Svc was seen or not.
func TestConnectProxyCarriesNoQUIC(t *testing.T) {
	for _, strip := range []bool{false, true} {
		linkdelay.EachWorld(t, linkdelay.RTT(5*time.Millisecond), func(t *testing.T, network *linkdelay.Network) {
			s := setUp(t, network, setting{
				origin: origin.Config{Page: &origin.Page{Images: 10}, HTTP3: &origin.HTTP3{}},
				proxy:  mitm.Config{StripAltSvc: strip},
			})
			pc := network.Host("pc.test")
			known := new(pageload.Alternatives)
			for range 2 {
				page, err := pageload.Load(t.Context(), &pageload.Config{
					URL: s.site.URL, Transport: s.proxy.Transport(pc), Alternatives: known,
					HTTP3: h3.Browser(s.site.HTTP3Transport(pc)),
				})
				require.NoError(t, err)
				netlog.RequireConnections(t, page.Log, 1, alpn.H2)
				if passed := page.Log.Notes(pageload.AlternativeNote); strip {
					assert.Empty(t, passed)
				} else if assert.NotEmpty(t, passed) {
					assert.Equal(t, "the requests go through a proxy", passed[len(passed)-1].Params["reason"])
				}
			}
			assert.Len(t, known.Services(), map[bool]int{true: 0, false: 1}[strip], "alternatives that the client has learned of")
			for _, log := range []*netlog.Log{s.proxy.Log(), s.site.Log()} {
				for _, c := range log.Connections() {
					assert.Equal(t, "tcp", c.Network)
				}
			}
			netlog.RequireConnections(t, s.site.Log(), 1, alpn.H2)
		})
	}
}
