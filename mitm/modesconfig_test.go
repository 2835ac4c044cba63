package mitm_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"example.com/wiretest/alpn"
	"example.com/wiretest/linkdelay"
	"example.com/wiretest/mitm"
)

func TestMistakenModesAreNamedAtStart(t *testing.T) {
	long := strings.Repeat("x", 256)
	for _, c := range []struct {
		cfg  mitm.Config
		want string
	}{
		{mitm.Config{Mode: 64}, "Config.Mode: Mode(64): there is no such mode"},
		{mitm.Config{Mode: mitm.Transparent | mitm.ExplicitTLS}, "Config.Mode: ExplicitTLS|Transparent: nothing tells TLS handshakes of ExplicitTLS and Transparent apart"},
		{mitm.Config{Mode: mitm.Transparent | mitm.Reverse, Origin: "https://x.test"}, "Config.Mode: Transparent|Reverse: nothing tells TLS handshakes of Transparent and Reverse apart"},
		{mitm.Config{Mode: mitm.Reverse}, "Config.Origin: Reverse needs one: a URL such as https://origin.test:8443"},
		{mitm.Config{Mode: mitm.Reverse, Origin: "origin.test"}, `Config.Origin: "origin.test": scheme must be one of http, https`},
		{mitm.Config{Mode: mitm.Reverse, Origin: "https://origin.test/path"}, `Config.Origin: "https://origin.test/path": must end behind host and port`},
		{mitm.Config{Mode: mitm.Reverse, Origin: "https://u:p@origin.test"}, `Config.Origin: "https://u:xxxxx@origin.test:443": credentials: the proxy would have to add them to requests`},
		{mitm.Config{Mode: mitm.Reverse, Origin: "https://"}, `Config.Origin: ":443": no host`},
		{mitm.Config{Mode: mitm.Reverse, Origin: "https://x.test:0"}, `Config.Origin: "x.test:0": port must be from 1 to 65535`},
		{mitm.Config{Origin: "https://x.test"}, `Config.Origin: "https://x.test": only Reverse has one, and Mode is Explicit`},
		{mitm.Config{Outer: mitm.Leg{ALPN: alpn.Only("h2")}}, "Config.Outer: only ExplicitTLS has it, and Mode is Explicit"},
		{mitm.Config{Mode: mitm.ExplicitTLS, Outer: mitm.Leg{Mirror: true}}, "outer leg: Mirror is for the downstream leg"},
		{mitm.Config{Mode: mitm.ExplicitTLS, Outer: mitm.Leg{ALPN: alpn.Only("h3")}}, `outer leg: ALPN: alpn: Only("h3"): `},
		{mitm.Config{Mode: mitm.ExplicitTLS, Outer: mitm.Leg{PerClient: true}}, "outer leg: only ALPN, TLS, MaxConcurrentStreams and the windows are for it; "},
		{mitm.Config{Mode: mitm.ExplicitTLS, Outer: mitm.Leg{MaxConcurrentStreams: -1}}, "outer leg: MaxConcurrentStreams: -1: must be from 0 to 2147483647"},
		{mitm.Config{Mode: mitm.Transparent, Auth: secret}, "Config.Auth: Mode is Transparent, in which clients know of no proxy"},
		{mitm.Config{Auth: url.User("user")}, "Config.Auth: want a user and a password, neither of them empty"},
		{mitm.Config{Auth: url.UserPassword("", "x")}, "Config.Auth: want a user and a password, neither of them empty"},
		{mitm.Config{Auth: url.UserPassword("a:b", "x")}, `Config.Auth: user: ":" ends it in Basic (RFC 7617, section 2)`},
		{mitm.Config{Auth: url.UserPassword(long, "x")}, "Config.Auth: user and password may have 255 bytes at most (RFC 1929)"},
		{mitm.Config{Via: "ftp://x.test"}, `Config.Via: "ftp://x.test": scheme must be one of http, https, socks5`},
		{mitm.Config{Via: "http://user@x.test"}, `Config.Via: "http://user@x.test:80": want a user and a password, neither of them empty`},
		{mitm.Config{Via: "http://user:secret@x.test/a"}, `Config.Via: "http://user:xxxxx@x.test/a": must end behind host and port`},
		{mitm.Config{Via: "http://user:secret@[x"}, "Config.Via: not a URL: "},
	} {
		_, err := mitm.Start(&c.cfg)
		if assert.ErrorContains(t, err, "mitm: "+c.want) {
			assert.NotContains(t, err.Error(), "secret")
		}
	}
}

// What a client is told, by mode, on loopback and under a name.
func TestURLsByMode(t *testing.T) {
	for _, c := range []struct {
		mode   mitm.Mode
		scheme string
		proxy  bool
	}{
		{0, "http", true},
		{mitm.Explicit, "http", true},
		{mitm.ExplicitTLS, "https", true},
		{mitm.SOCKS5, "socks5", true},
		{mitm.Transparent, "https", false},
		{mitm.Reverse, "http", false},
		{mitm.SOCKS5 | mitm.Reverse, "socks5", true},
	} {
		linkdelay.EachWorld(t, linkdelay.Link{}, func(t *testing.T, network *linkdelay.Network) {
			cfg := mitm.Config{Mode: c.mode, Net: network.Host("proxy.test")}
			if c.mode&mitm.Reverse != 0 {
				cfg.Origin = "http://origin.test"
			}
			p := mitm.New(t, &cfg)
			assert.Equal(t, c.scheme+"://"+p.Addr, p.URL, c.mode)
			u, err := p.ProxyURL(nil)
			assert.NoError(t, err)
			assert.Equal(t, c.proxy, u != nil, c.mode)
			if u != nil {
				assert.Equal(t, p.URL, u.String())
			}
		})
	}
	assert.Equal(t, "Mode(0)", mitm.Mode(0).String())
}
