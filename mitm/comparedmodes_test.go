package mitm_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/linkdelay"
	"example.com/wiretest/mitm"
	"example.com/wiretest/netlog"
	"example.com/wiretest/origin"
)

// What a rule's Host and an entry of Passthrough are compared with. ORIGIN and
// PLAIN stand for the addresses of two origins, with TLS and without.
func TestWhatHostsAreComparedWith(t *testing.T) {
	const https, http = "https://ORIGIN/", "http://PLAIN/"
	for _, c := range []struct {
		mode        mitm.Mode
		origin, url string
		with        string // alone
		passes      bool   // if it is in Passthrough
	}{
		{mode: mitm.Explicit, url: https, with: "ORIGIN", passes: true},
		{mode: mitm.Explicit, url: http, with: "PLAIN"},
		{mode: mitm.ExplicitTLS, url: https, with: "ORIGIN", passes: true},
		{mode: mitm.SOCKS5, url: https, with: "ORIGIN", passes: true},
		{mode: mitm.SOCKS5, url: http, with: "PLAIN", passes: true},
		{mode: mitm.Transparent, url: https, with: "origin.test:443", passes: true},
		{mode: mitm.Transparent, url: http, with: "PLAIN"},
		{mode: mitm.Transparent, url: "http://plain.test/", with: "plain.test:80"},
		{mode: mitm.Reverse, origin: https, url: "https://other.test/", with: "ORIGIN", passes: true},
		{mode: mitm.Reverse, origin: http, url: "http://other.test/", with: "PLAIN"},
	} {
		t.Run(c.mode.String()+" "+c.url, func(t *testing.T) {
			linkdelay.EachWorld(t, linkdelay.Link{}, func(t *testing.T, network *linkdelay.Network) {
				site := origin.New(t, &origin.Config{Net: network.Host("origin.test"), Handler: hello})
				plain := origin.New(t, &origin.Config{Net: network.Host("plain.test"), Handler: hello, Plain: true})
				at := strings.NewReplacer("ORIGIN", site.Addr, "PLAIN", plain.Addr).Replace
				cfg := mitm.Config{Mode: c.mode, Origin: strings.TrimSuffix(at(c.origin), "/"), Net: network.Host("proxy.test"), RootCAs: site.CA().Pool()}
				if c.mode == mitm.Transparent {
					addr := site.Addr
					if strings.HasPrefix(c.url, "http:") {
						addr = plain.Addr
					}
					cfg.Dial = leading(network, addr, make(chan string, 2))
				}
				cfg.Rules = []mitm.Rule{{Host: at(c.with)}}
				ruled, issuer := asks(t, network, cfg, at(c.url))
				assert.Equal(t, at(c.with), ruled.Log().Connections(mitm.Upstream)[0].Rule)
				assert.NotEqual(t, "wiretest origin CA", issuer)
				cfg.Rules, cfg.Passthrough = nil, []string{at(c.with)}
				passing, issuer := asks(t, network, cfg, at(c.url))
				assert.Equal(t, c.passes && strings.HasPrefix(c.url, "https:"), issuer == "wiretest origin CA", issuer)
				for _, leg := range []netlog.Leg{mitm.Downstream, mitm.Upstream} {
					all := passing.Log().Connections(leg)
					assert.Equal(t, c.passes, all[len(all)-1].Tunnel, leg)
				}
			})
		})
	}
}

// asks is a proxy that url was got through, and the issuer that was seen; "" is none.
func asks(t *testing.T, network *linkdelay.Network, cfg mitm.Config, url string) (_ *mitm.Proxy, issuer string) {
	t.Helper()
	proxy := mitm.New(t, &cfg)
	resp, err := (&http.Client{Transport: proxy.Transport(network.Host("pc.test"))}).Get(url)
	require.NoError(t, err)
	assert.Equal(t, "hello", text(t, resp))
	if resp.TLS != nil {
		issuer = resp.TLS.PeerCertificates[0].Issuer.CommonName
	}
	return proxy, issuer
}
