package mitm_test

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/alpn"
	"example.com/wiretest/linkdelay"
	"example.com/wiretest/mitm"
	"example.com/wiretest/netlog"
)

func TestMirrorGivesTheClientWhatTheOriginChose(t *testing.T) {
	h2, h1, both := alpn.Only(alpn.H2), alpn.Only(alpn.HTTP11), alpn.Prefer(alpn.H2, alpn.HTTP11)
	noCommon := "TLS with ADDR: remote error: tls: no application protocol"
	for _, c := range []struct {
		name     string
		origin   alpn.Policy
		upstream alpn.Policy
		offer    []string
		offered  []string // to the origin
		chosen   string   // by the proxy, for the client
		fails    string   // the reason in the 502; "" is none
	}{
		{name: "both and both", origin: both, offer: []string{"h2", "http/1.1"}, offered: []string{"h2", "http/1.1"}, chosen: "h2"},
		{name: "both and h1", origin: both, offer: []string{"http/1.1"}, offered: []string{"http/1.1"}, chosen: "http/1.1"},
		{name: "both and h2", origin: both, offer: []string{"h2"}, offered: []string{"h2"}, chosen: "h2"},
		{name: "both and none", origin: both, chosen: netlog.NoALPN},
		{name: "h1 and both", origin: h1, offer: []string{"h2", "http/1.1"}, offered: []string{"h2", "http/1.1"}, chosen: "http/1.1"},
		{name: "h1 and h1", origin: h1, offer: []string{"http/1.1"}, offered: []string{"http/1.1"}, chosen: "http/1.1"},
		{name: "h1 and none", origin: h1, chosen: netlog.NoALPN},
		{name: "h2 and both", origin: h2, offer: []string{"h2", "http/1.1"}, offered: []string{"h2", "http/1.1"}, chosen: "h2"},
		{name: "h2 and h1", origin: h2, offer: []string{"http/1.1"}, offered: []string{"http/1.1"}, chosen: "http/1.1", fails: noCommon},
		{name: "h1 and h2", origin: h1, offer: []string{"h2"}, offered: []string{"h2"}, chosen: "h2", fails: noCommon},
		{name: "none and both", origin: alpn.None(), offer: []string{"h2", "http/1.1"}, offered: []string{"h2", "http/1.1"}, chosen: netlog.NoALPN},
		{name: "unknown names", origin: both, offer: []string{"acme-tls/1", "http/1.1", "h3"}, offered: []string{"http/1.1"}, chosen: "http/1.1"},
		{name: "client's order", origin: both, offer: []string{"http/1.1", "h2"}, offered: []string{"http/1.1", "h2"}, chosen: "h2"},
		{name: "upstream narrows", origin: both, upstream: alpn.Prefer(alpn.HTTP11), offer: []string{"h2", "http/1.1"}, offered: []string{"http/1.1"}, chosen: "http/1.1"},
		{name: "upstream without", origin: both, upstream: alpn.None(), offer: []string{"h2", "http/1.1"}, chosen: netlog.NoALPN},
		{
			name: "upstream insists", origin: alpn.None(), upstream: h2, offer: []string{"h2", "http/1.1"}, offered: []string{"h2"}, chosen: "h2",
			fails: `TLS with ADDR: alpn: Only("h2"): refused: server chose no ALPN`,
		},
		{
			name: "upstream excludes", origin: both, upstream: h2, offer: []string{"http/1.1"}, chosen: "http/1.1",
			fails: `TLS with ADDR: no common protocol: the client offers http/1.1, and Upstream.ALPN is Only("h2")`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := serving(hello)
			s.origin.ALPN = c.origin
			s.proxy.Downstream.Mirror, s.proxy.Upstream.ALPN = true, c.upstream
			eachWorld(t, s, func(t *testing.T, s *stage) {
				s.offerExactly(t, c.offer)
				resp, body := s.get(t, "/")
				if c.fails != "" {
					assert.Contains(t, body, "mitm: upstream leg: "+replaceAddr(c.fails, s.site.Addr))
				} else {
					assert.Equal(t, http.StatusOK, resp.StatusCode, body)
				}
				down := s.proxy.Log().Connections(mitm.Downstream)[0]
				assert.Equal(t, c.offer, down.Offered)
				assert.Equal(t, c.chosen, down.ALPN)
				ups := s.proxy.Log().Connections(mitm.Upstream)
				if strings.Contains(c.fails, "Upstream.ALPN") {
					assert.Empty(t, ups)
					return
				}
				require.Len(t, ups, 1, "no probe, no second try:\n%s", s.proxy.Log())
				assert.Equal(t, c.offered, ups[0].Offered)
				if c.fails == "" {
					assert.Equal(t, 1, ups[0].Requests)
				}
			})
		})
	}
}

// offerExactly makes the client offer these names and no others: net/http by
// itself adds and reorders.
func (s *stage) offerExactly(t *testing.T, names []string) {
	dial := s.proxy.Tunnel(s.network.Host("pc.test"))
	s.tr.Proxy = nil
	s.tr.DialTLSContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		cfg := s.proxy.CA().ClientTLS()
		cfg.ServerName, cfg.NextProtos = "origin.test", names
		secured := tls.Client(conn, cfg)
		return secured, secured.HandshakeContext(ctx)
	}
}

func TestMirrorSharesWhatItOpened(t *testing.T) {
	for _, up := range []string{alpn.HTTP11, alpn.H2} {
		t.Run(up, func(t *testing.T) {
			s := serving(hello)
			s.up, s.proxy.Downstream.Mirror = up, true
			eachWorld(t, s, func(t *testing.T, s *stage) {
				for range 3 { // clients one after the other
					s.tr = s.proxy.Transport(s.network.Host("pc.test"))
					s.client = &http.Client{Transport: s.tr}
					s.get(t, "/")
				}
				netlog.RequireConnections(t, s.proxy.Log(), 3, up, mitm.Downstream)
				requireInTurn(t, s.proxy.Log(), up, mitm.Upstream)
			})
		})
	}
}

// What failed once is tried again for the next request, not for the first.
func TestMirrorAsksAgain(t *testing.T) {
	linkdelay.EachWorld(t, linkdelay.Link{}, func(t *testing.T, network *linkdelay.Network) {
		proxy := mitm.New(t, &mitm.Config{Net: network.Host("proxy.test"), Downstream: mitm.Leg{Mirror: true}})
		client := &http.Client{Transport: proxy.Transport(network.Host("pc.test"))}
		for n := 1; n <= 3; n++ {
			req, _ := http.NewRequestWithContext(context.Background(), "GET", "https://origin.test:9/", nil)
			resp, err := client.Do(req)
			require.NoError(t, err)
			assert.Equal(t, "mitm: upstream leg: dial origin.test:9: no such host\n", short(text(t, resp)))
			netlog.RequireConnections(t, proxy.Log(), n, "", mitm.Upstream)
		}
		netlog.RequireConnections(t, proxy.Log(), 1, alpn.H2, mitm.Downstream, netlog.Used())
	})
}

// To know what an open h2 connection chose, nobody waits for a stream on it.
func TestMirrorDoesNotWaitForAStream(t *testing.T) {
	var inside chan struct{}
	s := serving(func(w http.ResponseWriter, r *http.Request) {
		inside <- struct{}{}
		<-r.Context().Done()
	})
	s.up, s.proxy.Downstream.Mirror, s.proxy.Upstream.MaxConcurrentStreams = alpn.H2, true, 1
	eachWorld(t, s, func(t *testing.T, s *stage) {
		inside = make(chan struct{}, 1)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			if resp, err := s.client.Do(s.request(t, "GET", "/", nil).WithContext(ctx)); err == nil {
				resp.Body.Close()
			}
		}()
		<-inside
		conn, err := s.proxy.Tunnel(s.network.Host("pc.test"))(t.Context(), "tcp", s.site.Addr)
		require.NoError(t, err)
		cfg := s.proxy.CA().ClientTLS()
		cfg.ServerName, cfg.NextProtos = "origin.test", []string{"h2", "http/1.1"}
		secured := tls.Client(conn, cfg)
		require.NoError(t, secured.Handshake())
		assert.Equal(t, "h2", secured.ConnectionState().NegotiatedProtocol)
		conn.Close()
		cancel()
		<-done
	})
}
