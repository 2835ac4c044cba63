package mitm_test

import (
	"context"
	"net"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"

	"example.com/wiretest/alpn"
	"example.com/wiretest/ca"
	"example.com/wiretest/linkdelay"
	"example.com/wiretest/mitm"
)

// inMode is a way to an origin that tests take.
type inMode struct {
	name  string
	cfg   mitm.Config
	brief bool // differs from another only in how it begins
}

var secret = url.UserPassword("user", "secret")

// eachMode are all ways, but for the one that all other tests take. A Via is
// made by newVia.
func eachMode() []inMode {
	h1, h2 := mitm.Leg{ALPN: alpn.Only(alpn.HTTP11)}, mitm.Leg{ALPN: alpn.Only(alpn.H2)}
	return []inMode{
		{"explicit with credentials", mitm.Config{Auth: secret}, true},
		{"explicit over TLS by h1", mitm.Config{Mode: mitm.ExplicitTLS, Outer: h1}, false},
		{"explicit over TLS by h2", mitm.Config{Mode: mitm.ExplicitTLS, Outer: h2}, true},
		{"explicit over TLS by h2 with credentials", mitm.Config{Mode: mitm.ExplicitTLS, Outer: h2, Auth: secret}, false},
		{"SOCKS5", mitm.Config{Mode: mitm.SOCKS5}, true},
		{"SOCKS5 with credentials", mitm.Config{Mode: mitm.SOCKS5, Auth: secret}, false},
		{"transparent", mitm.Config{Mode: mitm.Transparent}, false},
		{"reverse", mitm.Config{Mode: mitm.Reverse}, false},
		{"via http", mitm.Config{Via: "http://"}, true},
		{"via https with credentials", mitm.Config{Via: "https://user:secret@"}, false},
		{"via socks5 with credentials", mitm.Config{Via: "socks5://user:secret@"}, false},
	}
}

// newVia starts another proxy, on via.test or, where network is nil, on loopback.
// It passes everything through. What it returns is its URL, of which via is the
// beginning.
func newVia(t testing.TB, network *linkdelay.Network, authority *ca.Authority, via string) string {
	t.Helper()
	scheme, user, _ := strings.Cut(via, "://")
	cfg := mitm.Config{CA: authority, Passthrough: []string{"origin.test", "127.0.0.1", "localhost"}}
	if network != nil {
		cfg.Net = network.Host("via.test")
	}
	cfg.Mode = map[string]mitm.Mode{"http": mitm.Explicit, "https": mitm.ExplicitTLS, "socks5": mitm.SOCKS5}[scheme]
	if user != "" {
		cfg.Auth = secret
	}
	return via + mitm.New(t, &cfg).Addr
}

// inBubbles runs body for every pair of protocols in virtual time.
func inBubbles(t *testing.T, cfg mitm.Config, serve func(*side), body func(*testing.T, *rawStage)) {
	t.Helper()
	for _, down := range []string{alpn.HTTP11, alpn.H2} {
		for _, up := range []string{alpn.HTTP11, alpn.H2} {
			if raceDetector && up != down {
				continue // the pairs differ behind the modes, where others race them
			}
			t.Run(pairName(down, up), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					body(t, newRawStage(t, linkdelay.NewNetwork(t, linkdelay.Link{}), cfg, down, up, serve))
				})
			})
		}
	}
}

// TestMatrixInEveryMode has the race detector look at a third of the cells of a
// mode, and at others in the next one.
func TestMatrixInEveryMode(t *testing.T) {
	for nth, m := range eachMode() {
		if m.brief {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			for i, c := range append(cells(), moreCells()...) {
				if raceDetector && (c.isLargeHead() || (nth+i)%3 != 0) {
					continue
				}
				t.Run(c.name, func(t *testing.T) {
					serve, run := c.ends()
					inBubbles(t, m.cfg, serve, run)
				})
			}
		})
	}
}

// On sockets the first cells stand for all.
func TestModesOnSockets(t *testing.T) {
	for _, m := range eachMode() {
		t.Run(m.name, func(t *testing.T) {
			for _, c := range cells()[:4] {
				t.Run(c.name, func(t *testing.T) {
					serve, run := c.ends()
					network := linkdelay.NewLoopback(t, linkdelay.Link{})
					run(t, newRawStage(t, network, m.cfg, alpn.H2, alpn.H2, serve))
				})
			}
		})
	}
}

// leadTo completes a Config of eachMode, so that it leads to an origin.
func leadTo(t testing.TB, network *linkdelay.Network, authority *ca.Authority, cfg mitm.Config, addr string) mitm.Config {
	t.Helper()
	switch {
	case cfg.Mode == mitm.Reverse:
		cfg.Origin = "https://" + addr
	case cfg.Mode == mitm.Transparent:
		cfg.Dial = func(ctx context.Context, proto, _ string) (net.Conn, error) {
			return network.Host("proxy.test").DialContext(ctx, proto, addr)
		}
	case cfg.Via != "":
		cfg.Via = newVia(t, network, authority, cfg.Via)
	}
	return cfg
}

// onLoopback completes a Config of a proxy that has no network of its own.
func onLoopback(t testing.TB, authority *ca.Authority, cfg mitm.Config, addr string) *mitm.Config {
	t.Helper()
	switch {
	case cfg.Mode == mitm.Reverse:
		cfg.Origin = "https://" + addr
	case cfg.Mode == mitm.Transparent:
		cfg.Dial = func(ctx context.Context, proto, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, proto, addr)
		}
	case cfg.Via != "":
		cfg.Via = newVia(t, nil, authority, cfg.Via)
	}
	return &cfg
}
