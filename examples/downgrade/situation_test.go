package downgrade

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/wiretest/alpn"
	"example.com/wiretest/linkdelay"
	"example.com/wiretest/mitm"
	"example.com/wiretest/netlog"
	"example.com/wiretest/origin"
	"example.com/wiretest/origin/pageload"
)

// situation is the site, and the proxy in the two forms that its owner may
// choose between.
type situation struct {
	site   *origin.Server
	h1, h2 *mitm.Proxy
	pc     *linkdelay.Host
}

func setUp(t *testing.T, network *linkdelay.Network, page *origin.Page) *situation {
	site := origin.New(t, &origin.Config{Net: network.Host("origin.test"), Page: page})
	proxy := func(host string, client mitm.Leg) *mitm.Proxy {
		return mitm.New(t, &mitm.Config{Net: network.Host(host), RootCAs: site.CA().Pool(), Downstream: client})
	}
	return &situation{
		site: site,
		h1:   proxy("h1.test", mitm.Leg{ALPN: alpn.Only(alpn.HTTP11)}),
		h2:   proxy("h2.test", mitm.Leg{MaxConcurrentStreams: 100}),
		pc:   network.Host("pc.test"),
	}
}

// routes are the three published modes.
func (s *situation) routes() []route {
	return []route{
		{"direct, h2", s.site.Transport(s.pc)},
		{"proxy, http/1.1 to the client", s.h1.Transport(s.pc)},
		{"proxy, h2 to the client", s.h2.Transport(s.pc)},
	}
}

// route is a way from the browser to the site.
type route struct {
	name      string
	transport *http.Transport
}

// load loads the page over the route as a browser with six connections to a
// host.
func (r route) load(t *testing.T, url string) *visit { return r.loadOver(t, url, 0) }

func (r route) loadOver(t *testing.T, url string, perHost int) *visit {
	t.Helper()
	page, err := pageload.Load(t.Context(), &pageload.Config{URL: url, Transport: r.transport, PerHost: perHost})
	require.NoError(t, err)
	return &visit{name: r.name, Result: page}
}

// visit is one load of the page and what was recorded of it.
type visit struct {
	name string
	*pageload.Result
}

func (v *visit) used() netlog.Connections { return v.Log.Connections(netlog.Used()) }
