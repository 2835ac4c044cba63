package latency

import (
	"crypto/tls"
	"fmt"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/wiretest/alpn"
	"example.com/wiretest/linkdelay"
	"example.com/wiretest/netlog"
	"example.com/wiretest/origin"
	"example.com/wiretest/origin/pageload"
)

// mode is a protocol, and how many connections it may have.
type mode struct {
	name    string
	proto   string
	perHost int
	batch   time.Duration // round trips of fifty assets at once
	page    time.Duration // of the document and then 49 assets
	conns   int           // in a batch
	streams int           // HTTP/2 streams
}

func modes() []mode {
	return []mode{
		{"http/1.1, 1 connection", alpn.HTTP11, 1, 52, 52, 1, 0},
		{"http/1.1, 6 connections", alpn.HTTP11, 6, 11, 13, 6, 0},
		{"h2, 1 connection", alpn.H2, 6, 3, 4, 1, 50},
	}
}

// visit is one load, and what it took.
type visit struct {
	mode
	*pageload.Result
}

// load loads fifty answers that cost the server nothing: assets in one cold
// batch, or the document and then 49 of them.
func (m mode) load(t *testing.T, network *linkdelay.Network, withDocument bool) *visit {
	t.Helper()
	site := origin.New(t, &origin.Config{Net: network.Host(m.host()), ALPN: alpn.Only(m.proto), Page: &origin.Page{Images: 50 - btoi(withDocument)}})
	cfg := &pageload.Config{Transport: site.Transport(network.Host("pc.test")), PerHost: m.perHost, URLs: site.Assets()}
	if withDocument {
		cfg.URL, cfg.URLs = site.URL, nil
	}
	page, err := pageload.Load(t.Context(), cfg)
	require.NoError(t, err)
	return &visit{m, page}
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

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
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
		n += btoi(q.Stream > 0)
	}
	return n
}

func table(columns string, rows ...[]any) string {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, columns)
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = fmt.Sprint(cell)
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	w.Flush()
	return text.String()
}
