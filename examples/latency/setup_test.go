package latency

import (
	"crypto/tls"
	"flag"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/alpn"
	"example.com/wiretest/linkdelay"
	"example.com/wiretest/netlog"
	"example.com/wiretest/netlog/h3"
	"example.com/wiretest/origin"
	"example.com/wiretest/origin/pageload"
)

var update = flag.Bool("update", false, "write the tables in the README anew")

// mode is a protocol, and how many connections it may have.
type mode struct {
	name    string
	proto   string
	perHost int
	batch   time.Duration // round trips of fifty assets at once
	page    time.Duration // of the document and then 49 assets
	conns   int           // in a batch
	streams int           // of HTTP/2 or HTTP/3
}

func modes() []mode {
	return []mode{
		{"http/1.1, 1 connection", alpn.HTTP11, 1, 52, 52, 1, 0},
		{"http/1.1, 6 connections", alpn.HTTP11, 6, 11, 13, 6, 0},
		{"h2, 1 connection", alpn.H2, 6, 3, 4, 1, 50},
		{"h3, 1 connection", alpn.H3, 6, 2, 3, 1, 50},
	}
}

// spread is how far a time of HTTP/3 may be from what arithmetic says, where all
// fits the first window.
const spread = 2 * time.Millisecond

// visit is one load, and what it took.
type visit struct {
	mode
	*pageload.Result
}

// load loads fifty answers that cost the server nothing: assets in one cold
// batch, or the document and then 49 of them.
func (m mode) load(t *testing.T, network *linkdelay.Network, withDocument bool) *visit {
	t.Helper()
	images := 50
	if withDocument {
		images = 49
	}
	site := m.site(t, network, &origin.Config{Page: &origin.Page{Images: images}})
	cfg := m.browser(t, network, site)
	if withDocument {
		cfg.URL = site.URL
	} else {
		cfg.URLs = site.Assets()
	}
	page, err := pageload.Load(t.Context(), cfg)
	require.NoError(t, err)
	return &visit{m, page}
}

// site is an origin that speaks the mode's protocol; HTTP/3 beside the others.
func (m mode) site(t *testing.T, network *linkdelay.Network, cfg *origin.Config) *origin.Server {
	t.Helper()
	cfg.Net = network.Host(m.host())
	if m.proto == alpn.H3 {
		cfg.HTTP3 = &origin.HTTP3{}
	} else {
		cfg.ALPN = alpn.Only(m.proto)
	}
	return origin.New(t, cfg)
}

// browser is one that has no connection open. That of HTTP/3 has been on the site
// before, by TCP, and so knows that it has HTTP/3.
func (m mode) browser(t *testing.T, network *linkdelay.Network, site *origin.Server) *pageload.Config {
	t.Helper()
	cfg := &pageload.Config{Transport: site.Transport(network.Host("pc.test")), PerHost: m.perHost}
	if m.proto != alpn.H3 {
		return cfg
	}
	cfg.HTTP3, cfg.Alternatives = h3.Browser(site.HTTP3Transport(network.Host("pc.test"))), new(pageload.Alternatives)
	before := *cfg
	before.URLs = []string{site.URL}
	_, err := pageload.Load(t.Context(), &before)
	require.NoError(t, err)
	require.Len(t, cfg.Alternatives.Services(), 1)
	return cfg
}

// took asserts a time in virtual time: to the millisecond or, for HTTP/3, as
// exact as that is.
func (m mode) took(t *testing.T, want, got time.Duration) {
	t.Helper()
	if m.proto != alpn.H3 {
		assert.Equal(t, want, got.Truncate(time.Millisecond), m.name)
		return
	}
	assert.InDelta(t, want.Seconds(), got.Seconds(), spread.Seconds(), "%s: want %v, took %v", m.name, want, got)
}

// loadFar is load over a link whose round trip is long enough for every
// connection of the mode to be needed: next door the first may have brought all
// before the others are there.
func (m mode) loadFar(t *testing.T, network *linkdelay.Network, withDocument bool) *visit {
	t.Helper()
	v := m.load(t, network, withDocument)
	netlog.RequireConnections(t, v.Log, m.conns, m.proto)
	netlog.RequireConnections(t, v.Log, m.conns, m.proto, netlog.Used())
	require.Equal(t, m.conns, handshakes(v.Log, false))
	require.Equal(t, m.streams, streams(v.Log))
	return v
}

// host gives each mode a server of its own.
func (m mode) host() string {
	return strings.NewReplacer("/", "", ".", "", ",", "", " ", "-").Replace(m.name) + ".test"
}

// handshakes counts those of TLS that were resumed, or those that were not.
func handshakes(log *netlog.Log, resumed bool) (n int) {
	for _, c := range log.Connections() {
		if c.TLSVersion >= tls.VersionTLS12 && c.Resumed == resumed {
			n++
		}
	}
	return n
}

func streams(log *netlog.Log) (n int) {
	for _, q := range log.Requests() {
		if q.Stream > 0 || q.Protocol == alpn.H3 { // whose first stream has the number 0
			n++
		}
	}
	return n
}

// connections counts those of a network, "tcp" or "udp", that were used.
func connections(log *netlog.Log, network string) (n int) {
	for _, c := range log.Connections(netlog.Used()) {
		if c.Network == network {
			n++
		}
	}
	return n
}
