package h3_test

import (
	"crypto/tls"
	"testing"

	"github.com/quic-go/quic-go"
	"github.com/stretchr/testify/assert"

	"example.com/wiretest/alpn"
	"example.com/wiretest/linkdelay"
	"example.com/wiretest/mitm"
	"example.com/wiretest/mitm/h3"
	recording "example.com/wiretest/netlog/h3"
	"example.com/wiretest/origin"
)

func TestMistakesOfTheUpstreamLeg(t *testing.T) {
	leg := func(edit func(*mitm.Leg)) mitm.Config {
		cfg := mitm.Config{Mode: mitm.Reverse, Origin: "https://a.test", Upstream: mitm.Leg{HTTP3: h3.Upstream(nil)}}
		edit(&cfg.Upstream)
		return cfg
	}
	with := func(edit func(*mitm.Config)) mitm.Config {
		cfg := leg(func(*mitm.Leg) {})
		edit(&cfg)
		return cfg
	}
	rule := func(r mitm.Rule) mitm.Config {
		r.Host = "*"
		return with(func(c *mitm.Config) { c.Rules = []mitm.Rule{r} })
	}
	for want, cfg := range map[string]mitm.Config{
		`mitm: upstream leg: HTTP3: Speak is for TLS over TCP, and is "h2"`:                                                 leg(func(l *mitm.Leg) { l.Speak = alpn.H2 }),
		"mitm: upstream leg: HTTP3: ConnectionFaults are for TLS over TCP":                                                  leg(func(l *mitm.Leg) { l.ConnectionFaults = []mitm.ConnectionFault{{HandshakeDelay: 1}} }),
		"mitm: upstream leg: HTTP3: MaxConns is for http/1.1 and 6, but ALPN says of nothing that it may be tried over TCP": leg(func(l *mitm.Leg) { l.MaxConns = 6 }),
		"mitm: upstream leg: HTTP3: TLS.MaxVersion is TLS 1.2: QUIC needs TLS 1.3":                                          leg(func(l *mitm.Leg) { l.TLS = &tls.Config{MaxVersion: tls.VersionTLS12} }),
		"mitm: upstream leg: HTTP3: Mirror asks over TCP":                                                                   with(func(c *mitm.Config) { c.Downstream.Mirror = true }),
		"mitm: upstream leg: HTTP3: Config.Via is for TCP":                                                                  with(func(c *mitm.Config) { c.Via = "http://b.test" }),
		"mitm: upstream leg: HTTP3: Config.Dial is for TCP":                                                                 with(func(c *mitm.Config) { c.Dial = linkdelay.NewLoopback(t, linkdelay.Link{}).Host("a.test").DialContext }),
		`mitm: upstream leg: HTTP3: Config.Origin is "http://a.test": QUIC is never without TLS`:                            with(func(c *mitm.Config) { c.Origin = "http://a.test" }),
		`mitm: Config.Rules[0] for "*": upstream leg: HTTP3: OriginFirst asks over TCP`:                                     rule(mitm.Rule{OriginFirst: true}),
		`mitm: Config.Rules[0] for "*": upstream leg: HTTP3: Speak is for TLS over TCP, and is "h2"`:                        rule(mitm.Rule{Upstream: mitm.Leg{Speak: alpn.H2}}),
		"mitm: downstream leg: HTTP3 is for the upstream leg; with clients it is Config.HTTP3":                              {Downstream: mitm.Leg{HTTP3: h3.Upstream(nil)}},
	} {
		_, err := mitm.Start(&cfg)
		assert.EqualError(t, err, want)
	}
}

// A Rule can have HTTP/3 for its hosts alone, and a packet size that memory does not
// take is the reason of a 502.
func TestRuleWithHTTP3(t *testing.T) {
	for want, q := range map[string]*quic.Config{
		"hello": nil,
		"InitialPacketSize 1350: in memory no more than 1280": {InitialPacketSize: 1350},
	} {
		recording.Bubble(t, nil, func(t *testing.T) {
			network := linkdelay.NewNetwork(t, linkdelay.Link{})
			site := origin.New(t, &origin.Config{Net: network.Host("origin.test"), HTTP3: new(origin.HTTP3), Handler: answer("hello")})
			proxy := mitm.New(t, &mitm.Config{
				Mode: mitm.Reverse, Origin: site.URL, Net: network.Host("proxy.test"), RootCAs: site.CA().Pool(),
				Rules: []mitm.Rule{{Host: "origin.test", Upstream: mitm.Leg{HTTP3: h3.Upstream(q)}}},
			})
			s := &stage{proxy: proxy, url: proxy.URL, client: clientOf(t, network, proxy, alpn.H2)}
			_, body := s.do(t, t.Context(), "GET", "/", nil)
			assert.Contains(t, body, want)
			assert.Equal(t, "origin.test", proxy.Log().Connections(mitm.Upstream)[0].Rule)
		})
	}
}
