package h3_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"example.com/wiretest/alpn"
	"example.com/wiretest/linkdelay"
	"example.com/wiretest/mitm"
	"example.com/wiretest/mitm/h3"
	"example.com/wiretest/netlog"
	recording "example.com/wiretest/netlog/h3"
	"example.com/wiretest/origin"
)

// However clients come to the proxy, but for mode Reverse, which all other tests have,
// it goes on by HTTP/3, and where UDP is blocked by what ALPN has for TCP. Transparent
// leads to port 443.
func TestHTTP3UpstreamInEveryMode(t *testing.T) {
	h1, h2 := mitm.Leg{ALPN: alpn.Only(alpn.HTTP11)}, mitm.Leg{ALPN: alpn.Only(alpn.H2)}
	for name, cfg := range map[string]mitm.Config{
		"explicit":                {},
		"explicit over TLS by h1": {Mode: mitm.ExplicitTLS, Outer: h1},
		"explicit over TLS by h2": {Mode: mitm.ExplicitTLS, Outer: h2},
		"SOCKS5":                  {Mode: mitm.SOCKS5},
		"transparent":             {Mode: mitm.Transparent},
	} {
		for _, down := range []string{alpn.HTTP11, alpn.H2} {
			t.Run(name+", client of "+strings.ReplaceAll(down, "/", ""), func(t *testing.T) {
				cfg.Downstream.ALPN, cfg.Upstream.ALPN = alpn.Only(down), alpn.Only(alpn.H2)
				recording.Bubble(t, nil, func(t *testing.T) {
					asksTwice(t, at443(t, linkdelay.NewNetwork(t, linkdelay.Link{}), cfg), down, alpn.H3)
				})
				recording.Bubble(t, nil, func(t *testing.T) {
					network := linkdelay.NewNetwork(t, linkdelay.Link{})
					network.Wire("proxy.test", "origin.test").BlockUDP()
					asksTwice(t, at443(t, network, cfg), down, alpn.H2)
				})
			})
		}
	}
}

// Config.Via is for TCP, but the proxy that it names has a leg of its own.
func TestHTTP3UpstreamBehindAnotherProxy(t *testing.T) {
	recording.Bubble(t, nil, func(t *testing.T) {
		s := at443(t, linkdelay.NewNetwork(t, linkdelay.Link{}), mitm.Config{})
		near := mitm.New(t, &mitm.Config{Net: s.network.Host("near.test"), Via: s.proxy.URL, RootCAs: s.proxy.CA().Pool()})
		s.client = clientOf(t, s.network, near, alpn.H2)
		asksTwice(t, s, alpn.H2, alpn.H3)
		netlog.RequireConnections(t, near.Log(), 1, alpn.H2, mitm.Upstream)
	})
}

// at443 is an origin that every mode leads to, and a client of h2 or http/1.1.
func at443(t *testing.T, network *linkdelay.Network, cfg mitm.Config) *stage {
	t.Helper()
	site := origin.New(t, &origin.Config{
		Net: network.Host("origin.test"), Port: 443, HTTP3: new(origin.HTTP3),
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprintf(w, "%s over %s by %s", r.Host, r.Proto, r.TLS.ServerName)
		}),
	})
	cfg.Net, cfg.RootCAs, cfg.Upstream.HTTP3 = network.Host("proxy.test"), site.CA().Pool(), h3.Upstream(nil)
	proxy := mitm.New(t, &cfg)
	return &stage{network: network, site: site, proxy: proxy, client: clientOf(t, network, proxy, alpn.H2), url: "https://origin.test"}
}

// asksTwice has two requests go by one connection of each protocol.
func asksTwice(t *testing.T, s *stage, down, up string) {
	t.Helper()
	for range 2 {
		_, body := s.do(t, t.Context(), "GET", "/", nil)
		assert.Equal(t, map[string]string{alpn.H2: "origin.test over HTTP/2.0 by origin.test", alpn.H3: "origin.test over HTTP/3.0 by origin.test"}[up], body)
	}
	netlog.RequireConnections(t, s.proxy.Log(), 1, down, mitm.Downstream, netlog.Used())
	netlog.RequireConnections(t, s.proxy.Log(), 1, up, mitm.Upstream, netlog.Used())
	assert.Len(t, s.proxy.Log().Pairs(), 2)
}
