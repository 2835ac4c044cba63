package origin_test

import (
	"crypto/tls"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"example.com/wiretest/alpn"
	"example.com/wiretest/linkdelay"
	"example.com/wiretest/netlog"
	"example.com/wiretest/origin"
)

// lie is a mistaken server, what clients that offer both protocols say of it,
// and what the ledger has.
type lie struct {
	cfg      origin.Config
	netHTTP  string // matches
	curl     []int  // exit codes
	alpn     string
	spoken   string
	handling string // of the handshake: how it ended; "" is well
}

func lies() map[string]lie {
	tls12 := &tls.Config{MaxVersion: tls.VersionTLS12}
	garbled := "frame header looked like an HTTP/1.1 header"
	malformed := `malformed HTTP response "\\x00\\x00`
	return map[string]lie{
		"not offered": {
			origin.Config{WrongALPN: &origin.WrongALPN{Select: "spdy/3"}},
			"tls: server selected unadvertised ALPN protocol", []int{35}, netlog.Unknown, netlog.Unknown, "TLS handshake: ",
		},
		"not offered, TLS 1.2": {
			origin.Config{WrongALPN: &origin.WrongALPN{Select: "spdy/3"}, TLS: tls12},
			"tls: server selected unadvertised ALPN protocol", []int{35}, netlog.Unknown, netlog.Unknown, "TLS handshake: ",
		},
		"h2 agreed, http/1.1 spoken": {
			origin.Config{WrongALPN: &origin.WrongALPN{Speak: alpn.HTTP11}},
			garbled, []int{52, 55, 16, 56, 92}, alpn.H2, alpn.HTTP11, "",
		},
		"http/1.1 agreed, h2 spoken": {
			origin.Config{WrongALPN: &origin.WrongALPN{Select: alpn.HTTP11, Speak: alpn.H2}},
			malformed, []int{1, 56}, alpn.HTTP11, netlog.Unknown, "",
		},
		"no ALPN, h2 spoken": {
			origin.Config{ALPN: alpn.None(), WrongALPN: &origin.WrongALPN{Speak: alpn.H2}},
			malformed, []int{1, 56}, netlog.NoALPN, netlog.Unknown, "",
		},
	}
}

// offersBoth is a client of net/http that offers h2 and http/1.1, whatever the
// origin has.
func offersBoth(tr *http.Transport) *http.Client {
	tr.Protocols = new(http.Protocols)
	tr.Protocols.SetHTTP1(true)
	tr.Protocols.SetHTTP2(true)
	tr.TLSClientConfig.NextProtos = []string{alpn.H2, alpn.HTTP11}
	return &http.Client{Transport: tr}
}

func TestWhatNetHTTPMakesOfWrongALPN(t *testing.T) {
	for name, c := range lies() {
		synctest.Test(t, func(t *testing.T) {
			network := linkdelay.NewNetwork(t, linkdelay.RTT(10*time.Millisecond)) // so that the request is on its way before the answer
			cfg := c.cfg
			cfg.Net, cfg.Handler = network.Host("origin.test"), hello
			s := origin.New(t, &cfg)
			client := offersBoth(s.Transport(network.Host("pc.test")))
			assert.Regexp(t, c.netHTTP, ask(client, must(http.NewRequest("GET", s.URL, nil))), name)
			s.Close()
			assertLie(t, name, s, c)
		})
	}
}

func TestWhatCurlMakesOfWrongALPN(t *testing.T) {
	curl := tool(t, "curl", "curl")
	leavesNothing(t)
	for name, c := range lies() {
		cfg := c.cfg
		cfg.Handler = hello
		s := origin.New(t, &cfg)
		out, code := curlOut(t, curl, "-sS", "-m", "60", "--http2", "--noproxy", "*", "--cacert", caFile(t, s.CA()), s.URL)
		assert.Contains(t, c.curl, code, "%s: %s", name, out)
		s.Close()
		assertLie(t, name, s, c)
	}
}

func assertLie(t *testing.T, name string, s *origin.Server, want lie) {
	t.Helper()
	assert.Empty(t, s.Log().Requests(), "%s: requests that were served", name)
	all := s.Log().Connections()
	if !assert.Len(t, all, 1, name) {
		return
	}
	assert.Equal(t, []string{alpn.H2, alpn.HTTP11}, all[0].Offered, "%s: the true offer", name)
	assert.Equal(t, want.alpn, all[0].ALPN, name)
	assert.Equal(t, want.spoken, all[0].Protocol, "%s: spoken", name)
	assert.Contains(t, all[0].CloseReason, want.handling, name)
}

// Where the client has offered nothing there is no place for a lie.
func TestWrongALPNWithoutAnOffer(t *testing.T) {
	s := origin.New(t, &origin.Config{Handler: hello, WrongALPN: &origin.WrongALPN{Select: "spdy/3"}})
	tr := s.Transport(nil)
	tr.Protocols.SetHTTP2(false)
	tr.TLSClientConfig.NextProtos = nil
	body, resp := get(t, &http.Client{Transport: tr}, s.URL)
	assert.Equal(t, "hello", body)
	assert.Empty(t, resp.TLS.NegotiatedProtocol)
	assert.Equal(t, netlog.NoALPN, s.Log().Connections()[0].ALPN)
}

// It joins what the caller's own callback says, and leaves that as it is.
func TestWrongALPNWithOwnConfig(t *testing.T) {
	own := &tls.Config{MaxVersion: tls.VersionTLS12}
	s := origin.New(t, &origin.Config{
		Handler:   hello,
		WrongALPN: &origin.WrongALPN{Select: alpn.HTTP11},
		TLS:       &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return own, nil }},
	})
	_, resp := get(t, offersBoth(s.Transport(nil)), s.URL)
	assert.EqualValues(t, tls.VersionTLS12, resp.TLS.Version)
	alpn.RequireProtocol(t, resp, alpn.HTTP11)
	assert.Nil(t, own.NextProtos)
}

func TestMistakenWrongALPN(t *testing.T) {
	for want, cfg := range map[string]*origin.Config{
		"origin: Config.WrongALPN: neither Select nor Speak is set: nothing would go wrong":    {WrongALPN: &origin.WrongALPN{}},
		`origin: Config.WrongALPN: Speak: "h3" is neither "h2" nor "http/1.1"`:                 {WrongALPN: &origin.WrongALPN{Speak: "h3"}},
		"origin: Config.WrongALPN: Select: 256 bytes; at most 255 fit (RFC 7301, section 3.1)": {WrongALPN: &origin.WrongALPN{Select: string(make([]byte, 256))}},
		"origin: Config.WrongALPN and Config.Plain are both set: without TLS there is no ALPN": {WrongALPN: &origin.WrongALPN{Speak: "h2"}, Plain: true},
	} {
		_, err := origin.Start(cfg)
		assert.EqualError(t, err, want)
	}
}
