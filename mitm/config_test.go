package mitm_test

import (
	"crypto/tls"
	"math"
	"net"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/alpn"
	"example.com/wiretest/ca"
	"example.com/wiretest/linkdelay"
	"example.com/wiretest/mitm"
	"example.com/wiretest/netlog"
	"example.com/wiretest/origin"
)

// origin.Net and mitm.Net are one type.
var _ origin.Net = mitm.Net(nil)

func TestMistakesAreNamedAtStart(t *testing.T) {
	for _, c := range []struct {
		cfg  mitm.Config
		want string
	}{
		{mitm.Config{Net: (*linkdelay.Host)(nil)}, "mitm: Config.Net: typed nil *linkdelay.Host"},
		{mitm.Config{Upstream: mitm.Leg{Mirror: true}}, "mitm: upstream leg: Mirror is for the downstream leg"},
		{
			mitm.Config{Downstream: mitm.Leg{Mirror: true, ALPN: alpn.Only("h2")}},
			`mitm: downstream leg: Mirror and ALPN Only("h2") are both set: Mirror leaves the choice to the origin`,
		},
		{mitm.Config{Downstream: mitm.Leg{ALPN: alpn.Only()}}, "mitm: downstream leg: ALPN: alpn: Only(): no protocol; None() is the policy without one"},
		{mitm.Config{Upstream: mitm.Leg{ALPN: alpn.Only("http/1.0")}}, `mitm: upstream leg: ALPN: Only("http/1.0"): the proxy does not speak "http/1.0", only ["h2" "http/1.1"]`},
		{mitm.Config{Downstream: mitm.Leg{TLS: &tls.Config{NextProtos: []string{"h2"}}}}, `mitm: downstream leg: TLS.NextProtos: ["h2"]: must be empty, ALPN rules`},
		{
			mitm.Config{Downstream: mitm.Leg{TLS: &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return nil, nil }}}},
			"mitm: downstream leg: TLS.GetConfigForClient: the proxy decides by CONNECT target and ALPN; set the other fields",
		},
		{mitm.Config{Downstream: mitm.Leg{MaxConcurrentStreams: -1}}, "mitm: downstream leg: MaxConcurrentStreams: -1: must be from 0 to 2147483647"},
		{mitm.Config{Upstream: mitm.Leg{ConnWindow: 65_534}}, "mitm: upstream leg: ConnWindow: 65534: must be 0 or at least 65535 (RFC 9113, section 6.9.2)"},
		{mitm.Config{Upstream: mitm.Leg{MaxConcurrentStreams: math.MaxInt32 + 1}}, "mitm: upstream leg: MaxConcurrentStreams: 2147483648: must be from 0 to 2147483647"},
		{
			mitm.Config{RootCAs: ca.New(t, nil).Pool(), Upstream: mitm.Leg{TLS: ca.New(t, nil).ClientTLS()}},
			"mitm: upstream leg: TLS.RootCAs and Config.RootCAs are both set: only one can count",
		},
		{mitm.Config{Passthrough: []string{"ok.test", ""}}, `mitm: Config.Passthrough[1]: "": no host`},
		{mitm.Config{Passthrough: []string{"https://x.test"}}, `mitm: Config.Passthrough[0]: "https://x.test": a URL or a path: want host or host:port`},
		{mitm.Config{Passthrough: []string{"a.*.test"}}, `mitm: Config.Passthrough[0]: "a.*.test": "*" may only stand in front, as in "*.example.com"`},
		{mitm.Config{Passthrough: []string{"*"}}, `mitm: Config.Passthrough[0]: "*": "*" may only stand in front, as in "*.example.com"`},
		{mitm.Config{Passthrough: []string{"x.test:0"}}, `mitm: Config.Passthrough[0]: "x.test:0": port "0": must be from 1 to 65535`},
		{mitm.Config{Passthrough: []string{"x.test:https"}}, `mitm: Config.Passthrough[0]: "x.test:https": port "https": must be from 1 to 65535`},
		{mitm.Config{Passthrough: []string{"2001:db8::1:zz"}}, `mitm: Config.Passthrough[0]: "2001:db8::1:zz": want host or host:port, with an IPv6 address in brackets`},
	} {
		p, err := mitm.Start(&c.cfg)
		if assert.EqualError(t, err, c.want) {
			assert.Nil(t, p)
		}
	}
}

func TestConfigIsNotModified(t *testing.T) {
	cfg := mitm.Config{Downstream: mitm.Leg{TLS: &tls.Config{}}, Upstream: mitm.Leg{TLS: &tls.Config{}}}
	mitm.New(t, &cfg)
	assert.Nil(t, cfg.CA)
	assert.Nil(t, cfg.Log)
	assert.True(t, cfg.Downstream.ALPN.IsZero())
	assert.Zero(t, cfg.Downstream.MaxConcurrentStreams)
	assert.Nil(t, cfg.Downstream.TLS.GetCertificate)
	assert.Nil(t, cfg.Downstream.TLS.NextProtos)
}

func TestClientSaysWhyItCannotReach(t *testing.T) {
	linkdelay.EachWorld(t, linkdelay.Link{}, func(t *testing.T, network *linkdelay.Network) {
		proxy := mitm.New(t, &mitm.Config{Net: network.Host("proxy.test")})
		assert.Same(t, proxy.Client(), proxy.Client())
		_, err := proxy.Client().Get("https://x.test/")
		assert.ErrorContains(t, err, "mitm: Client: "+proxy.Addr+" is a name in Config.Net, which a plain dialer cannot reach: use Transport(host)")
		_, err = proxy.DialContext(t.Context(), "tcp", "x.test:443")
		assert.EqualError(t, err, "mitm: DialContext: "+proxy.Addr+" is a name in Config.Net, which a plain dialer cannot reach: use Tunnel(host)")
		_, err = proxy.Tunnel((*linkdelay.Host)(nil))(t.Context(), "tcp", "x.test:443")
		assert.ErrorContains(t, err, "mitm: Tunnel: typed nil *linkdelay.Host")
		_, err = proxy.Tunnel(network.Host("pc.test"))(t.Context(), "udp", "x.test:443")
		assert.EqualError(t, err, `mitm: CONNECT x.test:443: network "udp": want tcp`)
	})
}

func TestDialerSaysWhatItDialledFor(t *testing.T) {
	for mode, what := range map[mitm.Mode]string{
		mitm.Explicit: "CONNECT", mitm.ExplicitTLS: "CONNECT", mitm.SOCKS5: "SOCKS5", mitm.Transparent: "dial",
	} {
		proxy := mitm.New(t, &mitm.Config{Mode: mode})
		require.NoError(t, proxy.Close())
		_, err := proxy.DialContext(t.Context(), "tcp", "x.test:443")
		assert.ErrorContains(t, err, "mitm: "+what+" x.test:443: dial tcp "+proxy.Addr+": ")
		assert.ErrorAs(t, err, new(*net.OpError))
	}
}

func TestLoopbackListensOnBothFamilies(t *testing.T) {
	site := origin.New(t, &origin.Config{Handler: hello})
	proxy := mitm.New(t, &mitm.Config{RootCAs: site.CA().Pool()})
	u, err := proxy.ProxyURL(nil)
	require.NoError(t, err)
	assert.Equal(t, proxy.URL, u.String())
	assert.Equal(t, "127.0.0.1", u.Hostname())
	six := *u
	six.Host = "[::1]:" + u.Port()
	tr := proxy.Transport(nil)
	tr.Proxy = http.ProxyURL(&six)
	resp, err := (&http.Client{Transport: tr}).Get(site.URL)
	if err != nil {
		t.Skip("no IPv6 loopback here:", err)
	}
	assert.Equal(t, "hello", text(t, resp))
}

// Client trusts both authorities, so that one client serves for what is
// intercepted and what is not.
func TestClientTrustsWhatPassesThrough(t *testing.T) {
	a := origin.New(t, &origin.Config{Handler: hello})
	proxy := mitm.New(t, &mitm.Config{RootCAs: a.CA().Pool(), Passthrough: []string{"localhost"}})
	for url, issuer := range map[string]string{
		a.URL:                           "wiretest mitm CA",
		replaceHost(a.URL, "localhost"): "wiretest origin CA",
	} {
		resp, err := proxy.Client().Get(url)
		require.NoError(t, err)
		text(t, resp)
		assert.Equal(t, issuer, resp.TLS.PeerCertificates[0].Issuer.CommonName)
	}
}

func TestTLSOfTheLegs(t *testing.T) {
	linkdelay.EachWorld(t, linkdelay.Link{}, func(t *testing.T, network *linkdelay.Network) {
		authority, own := ca.New(t, nil), ca.New(t, &ca.Config{Name: "another CA"})
		s := serving(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Who", r.TLS.PeerCertificates[0].EmailAddresses[0])
		})
		s.origin.CA = authority
		s.origin.TLS = &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: authority.Pool()}
		s.proxy.Upstream.TLS = &tls.Config{Certificates: authority.ClientTLS("proxy@example.com").Certificates}
		s.proxy.Downstream.TLS = &tls.Config{MaxVersion: tls.VersionTLS12, Certificates: own.ServerTLS("origin.test").Certificates}
		st := setUp(t, network, s)
		st.tr.TLSClientConfig.RootCAs = own.Pool()
		resp, _ := st.get(t, "/")
		assert.Equal(t, "proxy@example.com", resp.Header.Get("Who"))
		down := st.proxy.Log().Connections(mitm.Downstream)[0]
		assert.EqualValues(t, tls.VersionTLS12, down.TLSVersion)
		assert.Equal(t, "another CA", down.Issuer)
		assert.EqualValues(t, tls.VersionTLS13, st.proxy.Log().Connections(mitm.Upstream)[0].TLSVersion)
	})
}

func TestSessionsResume(t *testing.T) {
	for _, mirror := range []bool{false, true} {
		s := serving(hello)
		s.proxy.Downstream.Mirror = mirror
		s.proxy.Upstream.TLS = &tls.Config{ClientSessionCache: tls.NewLRUClientSessionCache(4)}
		s.up = alpn.HTTP11
		linkdelay.EachWorld(t, linkdelay.Link{}, func(t *testing.T, network *linkdelay.Network) {
			st := setUp(t, network, s)
			st.tr.TLSClientConfig.ClientSessionCache = tls.NewLRUClientSessionCache(4)
			for range 2 {
				st.get(t, "/")
				st.tr.CloseIdleConnections()
			}
			all := st.proxy.Log().Connections(mitm.Downstream, netlog.Used())
			require.Len(t, all, 2)
			assert.False(t, all[0].Resumed)
			assert.True(t, all[1].Resumed)
		})
	}
}
