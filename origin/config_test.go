package origin_test

import (
	"crypto/tls"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/alpn"
	"example.com/wiretest/origin"
)

// place is a Net that is only good for being nil.
type place struct{ origin.Net }

func TestMistakenConfigNamesFieldAndValue(t *testing.T) {
	for _, c := range []struct {
		cfg  origin.Config
		want string
	}{
		{origin.Config{Net: (*place)(nil)}, "origin: Config.Net: typed nil *origin_test.place"},
		{origin.Config{Handler: http.HandlerFunc(nil)}, "origin: Config.Handler: typed nil http.HandlerFunc"},
		{origin.Config{Handler: hello, Page: &origin.Page{}}, "origin: Config.Handler and Config.Page are both set: only one can answer"},
		{origin.Config{Page: &origin.Page{Scripts: -1}}, "origin: Config.Page: Scripts: -1 is negative"},
		{origin.Config{Page: &origin.Page{Images: -2}}, "origin: Config.Page: Images: -2 is negative"},
		{origin.Config{Page: &origin.Page{API: -3}}, "origin: Config.Page: API: -3 is negative"},
		{origin.Config{Page: &origin.Page{DelayMin: -time.Second}}, "origin: Config.Page: DelayMin: -1s is negative"},
		{origin.Config{Page: &origin.Page{DelayMin: time.Second}}, "origin: Config.Page: DelayMin 1s is above DelayMax 0s"},
		{origin.Config{MaxConcurrentStreams: -1}, "origin: Config.MaxConcurrentStreams: -1: must be from 0 to 2147483647"},
		{origin.Config{MaxConcurrentStreams: 1 << 31}, "origin: Config.MaxConcurrentStreams: 2147483648: must be from 0 to 2147483647"},
		{origin.Config{ALPN: alpn.Only()}, "origin: Config.ALPN: alpn: Only(): no protocol; None() is the policy without one"},
		{origin.Config{ALPN: alpn.Only(alpn.H3)}, `origin: Config.ALPN: alpn: Only("h3"): "h3" runs over QUIC; a policy rules TLS over TCP only`},
		{origin.Config{ALPN: alpn.Only("spdy/3")}, `origin: Config.ALPN: Only("spdy/3"): the origin does not speak "spdy/3", only ["h2" "http/1.1" "http/1.0"]`},
		{
			origin.Config{TLS: &tls.Config{NextProtos: []string{"http/1.1"}}},
			`origin: Config.TLS.NextProtos: ["http/1.1"] contradicts Config.ALPN Prefer("h2", "http/1.1"): leave it empty, ALPN rules`,
		},
	} {
		s, err := origin.Start(&c.cfg)
		if assert.EqualError(t, err, c.want) {
			assert.Nil(t, s)
			continue
		}
		if s != nil {
			s.Close()
		}
	}
}

func TestNewFailsItsTestOnAMistakenConfig(t *testing.T) {
	r := &recorder{TB: t}
	done := make(chan struct{})
	go func() { // Fatal ends it
		defer close(done)
		origin.New(r, &origin.Config{MaxConcurrentStreams: -1})
	}()
	<-done
	assert.Equal(t, "origin: Config.MaxConcurrentStreams: -1: must be from 0 to 2147483647", r.errors.String())
}

func TestConfigIsNotModified(t *testing.T) {
	cfg := &origin.Config{TLS: &tls.Config{}, Page: smallPage()}
	s := origin.New(t, cfg)
	get(t, s.Client(), s.URL)
	require.NoError(t, s.Close())
	assert.Equal(t, &origin.Config{TLS: cfg.TLS, Page: smallPage()}, cfg)
	assert.Nil(t, cfg.TLS.NextProtos)
	assert.Nil(t, cfg.TLS.GetCertificate)
	assert.Nil(t, cfg.TLS.GetConfigForClient)
}

func TestNextProtosThatAgreeAreFine(t *testing.T) {
	s := origin.New(t, &origin.Config{
		Handler: hello,
		ALPN:    alpn.Only(alpn.H2),
		TLS:     &tls.Config{NextProtos: []string{"h2"}},
	})
	_, resp := get(t, s.Client(), s.URL)
	alpn.RequireProtocol(t, resp, alpn.H2)
}
