package origin_test

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/alpn"
	"example.com/wiretest/ca"
	"example.com/wiretest/netlog"
	"example.com/wiretest/origin"
)

var whoami = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	io.WriteString(w, r.TLS.PeerCertificates[0].EmailAddresses[0])
})

func TestClientCertificates(t *testing.T) {
	leavesNothing(t)
	for _, proto := range []string{alpn.H2, alpn.HTTP11} {
		authority := ca.New(t, nil)
		s := origin.New(t, &origin.Config{
			CA: authority, Handler: whoami, ALPN: alpn.Only(proto),
			TLS: &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: authority.Pool()},
		})
		resp, err := s.Client().Get(s.URL)
		if err == nil {
			resp.Body.Close()
			t.Errorf("%s: let in without a certificate", proto)
		}
		tr := s.Transport(nil)
		tr.TLSClientConfig = authority.ClientTLS("alice@example.com")
		name, _ := get(t, &http.Client{Transport: tr}, s.URL)
		assert.Equal(t, "alice@example.com", name, proto)
		netlog.RequireConnections(t, s.Log(), 1, proto, netlog.Used())
	}
}

func TestOwnCertificate(t *testing.T) {
	authority := ca.New(t, &ca.Config{Name: "somebody else"})
	leaf := authority.Issue("127.0.0.1").Certificate
	for how, cfg := range map[string]*tls.Config{
		"Certificates":   {Certificates: []tls.Certificate{leaf}},
		"GetCertificate": {GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &leaf, nil }},
		"GetConfigForClient": {GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			return &tls.Config{Certificates: []tls.Certificate{leaf}}, nil
		}},
	} {
		s := origin.New(t, &origin.Config{Handler: hello, TLS: cfg})
		tr := s.Transport(nil)
		tr.TLSClientConfig = authority.ClientTLS()
		_, resp := get(t, &http.Client{Transport: tr}, s.URL)
		assert.Equal(t, "somebody else", resp.TLS.PeerCertificates[0].Issuer.CommonName, how)
		assert.Equal(t, "somebody else", s.Log().Connections()[0].Issuer, how)
		alpn.RequireProtocol(t, resp, alpn.H2)
	}
}

func TestOwnConfigForClientWithoutCertificateGetsALeaf(t *testing.T) {
	s := origin.New(t, &origin.Config{Handler: hello, TLS: &tls.Config{
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			return &tls.Config{MaxVersion: tls.VersionTLS12}, nil
		},
	}})
	_, resp := get(t, s.Client(), s.URL)
	assert.Equal(t, uint16(tls.VersionTLS12), resp.TLS.Version)
	assert.Equal(t, "wiretest origin CA", resp.TLS.PeerCertificates[0].Issuer.CommonName)
	alpn.RequireProtocol(t, resp, alpn.H2)
}

func TestLeafIsForTheNameAskedFor(t *testing.T) {
	s := origin.New(t, &origin.Config{Handler: hello})
	for _, c := range []struct{ name, host string }{
		{"shop.example", "shop.example"}, {"127.0.0.1", "127.0.0.1"},
	} {
		cfg := s.CA().ClientTLS()
		cfg.ServerName = c.name
		conn, err := tls.Dial("tcp", s.Addr, cfg)
		require.NoError(t, err, c.name)
		conn.Close()
	}
	require.NoError(t, s.Close())
	_, port, _ := net.SplitHostPort(s.Addr)
	all := s.Log().Connections()
	assert.Equal(t, "shop.example:"+port, all[0].Host)
	assert.Equal(t, "shop.example", all[0].ServerName)
	assert.Equal(t, s.Addr, all[1].Host)
	assert.Empty(t, all[1].ServerName)
}

func TestSessionsAreResumed(t *testing.T) {
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		s := origin.New(t, &origin.Config{Handler: hello, TLS: &tls.Config{MaxVersion: version}})
		cache := tls.NewLRUClientSessionCache(1)
		for range 3 {
			tr := s.Transport(nil)
			tr.TLSClientConfig.ClientSessionCache = cache
			get(t, &http.Client{Transport: tr}, s.URL)
		}
		var resumed []bool
		for _, c := range s.Log().Connections() {
			resumed = append(resumed, c.Resumed)
		}
		assert.Equal(t, []bool{false, true, true}, resumed, "resumed, %s", tls.VersionName(version))
	}
}

func TestSessionsAreNotResumedWhereTicketsAreOff(t *testing.T) {
	s := origin.New(t, &origin.Config{Handler: hello, TLS: &tls.Config{SessionTicketsDisabled: true}})
	cache := tls.NewLRUClientSessionCache(1)
	for range 2 {
		tr := s.Transport(nil)
		tr.TLSClientConfig.ClientSessionCache = cache
		get(t, &http.Client{Transport: tr}, s.URL)
	}
	netlog.RequireConnections(t, s.Log(), 2, alpn.H2)
	assert.False(t, s.Log().Connections()[1].Resumed)
}
