package alpn_test

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"example.com/wiretest/alpn"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// fakeTB keeps what a helper said, and does not stop.
type fakeTB struct {
	testing.TB
	failures []string
	helper   bool
}

func (f *fakeTB) Helper() { f.helper = true }

func (f *fakeTB) Fatalf(format string, args ...any) {
	f.failures = append(f.failures, fmt.Sprintf(format, args...))
}

// recorded is a body that knows the offer, as netlog.NewTransport's do.
type recorded struct {
	io.ReadCloser
	offered []string
}

func (r recorded) OfferedALPN() []string { return r.offered }

func offered(names ...string) io.ReadCloser { return recorded{http.NoBody, names} }

// answer is a response over TLS 1.3 that a proxy's authority certified.
func answer(proto, chosen string, body io.ReadCloser) *http.Response {
	resp := plainAnswer(proto)
	resp.Body = body
	resp.TLS = &tls.ConnectionState{
		Version: tls.VersionTLS13, NegotiatedProtocol: chosen,
		PeerCertificates: []*x509.Certificate{{Issuer: pkix.Name{CommonName: "Inspecting Proxy"}}},
	}
	return resp
}

func plainAnswer(proto string) *http.Response {
	resp := &http.Response{Proto: proto, Body: http.NoBody}
	resp.ProtoMajor, resp.ProtoMinor, _ = http.ParseHTTPVersion(proto)
	resp.Request = &http.Request{URL: &url.URL{Scheme: "https", Host: "a.test", Path: "/x", User: url.UserPassword("me", "secret")}}
	return resp
}

// facts are all lines of a failure but the first and the last.
func facts(offered, chosen, spoken, issuer string) string {
	return "\n\toffered: " + offered + "\n\tchosen: " + chosen + "\n\tspoken: " + spoken + "\n\tissuer: " + issuer + "\n\tlikely: "
}

func TestRequireProtocolSaysWhy(t *testing.T) {
	const (
		from    = " from https://me:xxxxx@a.test/x"
		unknown = "unknown (wrap the client's transport in netlog.NewTransport to record it)"
		both    = `"h2", "http/1.1"`
		proxy   = "CN=Inspecting Proxy"
		none    = "no ALPN, with TLS 1.3"
		own     = "an http.Transport with its own TLSClientConfig or DialContext needs ForceAttemptHTTP2"
	)
	const h11, h2 = "HTTP/1.1", "HTTP/2.0"
	for _, c := range []struct {
		resp *http.Response
		want string
		text string
	}{
		{answer(h11, "", http.NoBody), alpn.H2, "want h2, got http/1.1" + from +
			facts(unknown, none, h11, proxy) + "client offered no ALPN or server took no part: " + own},
		{answer(h11, "", recorded{http.NoBody, nil}), alpn.H2, "want h2, got http/1.1" + from +
			facts("nothing recorded (no ALPN, or the transport could not see it)", none, h11, proxy) + "client offered no ALPN or server took no part: " + own},
		{answer(h11, "", recorded{http.NoBody, []string{}}), alpn.H2, "want h2, got http/1.1" + from +
			facts("no ALPN", none, h11, proxy) + "client offered no ALPN or server took no part: " + own},
		{answer(h11, "", offered(alpn.H2, alpn.HTTP11)), alpn.H2, "want h2, got http/1.1" + from +
			facts(both, none, h11, proxy) + "server (or an intercepting proxy: issuer CN=Inspecting Proxy) took no part in ALPN"},
		{answer(h11, alpn.HTTP11, offered(alpn.H2, alpn.HTTP11)), alpn.H2, "want h2, got http/1.1" + from +
			facts(both, `"http/1.1", with TLS 1.3`, h11, proxy) + "server (or an intercepting proxy: issuer CN=Inspecting Proxy) speaks no h2"},
		{answer(h11, alpn.HTTP11, http.NoBody), alpn.H2, "want h2, got http/1.1" + from +
			facts(unknown, `"http/1.1", with TLS 1.3`, h11, proxy) + "client offered no h2 (" + own + ") or server (or an intercepting proxy: issuer CN=Inspecting Proxy) speaks no h2"},
		{answer(h11, alpn.HTTP11, offered(alpn.HTTP11)), alpn.H2, "want h2, got http/1.1" + from +
			facts(`"http/1.1"`, `"http/1.1", with TLS 1.3`, h11, proxy) + "client offered no h2: " + own},
		{answer(h11, alpn.H2, offered(alpn.H2)), alpn.H2, "want h2, got http/1.1" + from +
			facts(`"h2"`, `"h2", with TLS 1.3`, h11, proxy) + "h2 was chosen, but the client's transport does not speak it: its dialler does TLS itself and offers h2, or it has an empty TLSNextProto"},
		{answer(h2, alpn.HTTP11, http.NoBody), alpn.H2, "want h2, got h2" + from +
			facts(unknown, `"http/1.1", with TLS 1.3`, h2, proxy) + "a proxy copied the version of its other side into the status line: the connection is http/1.1"},
		{answer(h2, alpn.H2, http.NoBody), alpn.HTTP11, "want http/1.1, got h2" + from +
			facts(unknown, `"h2", with TLS 1.3`, h2, proxy) + "both sides have h2; to hold a client to HTTP/1.1 offer nothing else (http.Transport.Protocols, alpn.Only)"},
		{plainAnswer(h11), alpn.H2, "want h2, got http/1.1" + from +
			facts(unknown, "nothing, without TLS", h11, "none, without TLS") + "h2 needs TLS, or prior knowledge (http.Protocols.SetUnencryptedHTTP2 on both sides)"},
		{plainAnswer(h2), alpn.HTTP11, "want http/1.1, got h2" + from +
			facts(unknown, "nothing, without TLS", h2, "none, without TLS") + "the client speaks HTTP/2 by prior knowledge (http.Protocols.SetUnencryptedHTTP2)"},
		{answer(h2, alpn.H2, http.NoBody), alpn.H3, "want h3, got h2" + from +
			facts(unknown, `"h2", with TLS 1.3`, h2, proxy) + "net/http never speaks h3 and does not follow Alt-Svc; the client needs an HTTP/3 transport"},
		{answer("HTTP/3.0", alpn.H3, http.NoBody), alpn.H2, "want h2, got h3" + from +
			facts(unknown, `"h3", with TLS 1.3`, "HTTP/3.0", proxy) + "the client has an HTTP/3 transport; only TCP carries h2"},
		{plainAnswer("HTTP/1.0"), alpn.HTTP11, "want http/1.1, got http/1.0" + from +
			facts(unknown, "nothing, without TLS", "HTTP/1.0", "none, without TLS") + "ALPN does not choose between versions of HTTP/1; the server states its own in the status line"},
		{&http.Response{Proto: h11, ProtoMajor: 1, ProtoMinor: 1, TLS: &tls.ConnectionState{Version: tls.VersionTLS12}}, alpn.H2, "want h2, got http/1.1" +
			facts(unknown, "no ALPN, with TLS 1.2", h11, "unknown") + "client offered no ALPN or server took no part: " + own},
		{nil, alpn.H2, "RequireProtocol: want h2, got no response: look at the error of the request first"},
		{plainAnswer(h2), "HTTP/2", `RequireProtocol: "HTTP/2" is not the name of a version of HTTP; want one of "h3", "h2", "http/1.1", "http/1.0"`},
	} {
		tb := new(fakeTB)
		alpn.RequireProtocol(tb, c.resp, c.want)
		require.Len(t, tb.failures, 1, c.text)
		assert.Equal(t, "alpn: "+c.text, tb.failures[0])
		assert.True(t, tb.helper)
	}
}

func TestRequireProtocolPasses(t *testing.T) {
	for proto, resp := range map[string]*http.Response{
		alpn.H2:     answer("HTTP/2.0", alpn.H2, http.NoBody),
		alpn.H3:     answer("HTTP/3.0", alpn.H3, http.NoBody),
		alpn.HTTP11: answer("HTTP/1.1", "", http.NoBody),
		alpn.HTTP10: plainAnswer("HTTP/1.0"),
	} {
		alpn.RequireProtocol(t, resp, proto)
	}
	alpn.RequireProtocol(t, plainAnswer("HTTP/2.0"), alpn.H2)
}

// A transport with a TLSClientConfig of its own silently loses h2.
func TestRequireProtocolOnARealResponse(t *testing.T) {
	site := httptest.NewUnstartedServer(http.NotFoundHandler())
	site.EnableHTTP2 = true
	site.StartTLS()
	defer site.Close()
	for _, forced := range []bool{true, false} {
		tr := &http.Transport{TLSClientConfig: clientTLS(0), ForceAttemptHTTP2: forced}
		resp, err := (&http.Client{Transport: tr}).Get(site.URL)
		require.NoError(t, err)
		resp.Body.Close()
		tr.CloseIdleConnections()
		tb := new(fakeTB)
		alpn.RequireProtocol(tb, resp, alpn.H2)
		if forced {
			assert.Empty(t, tb.failures)
			continue
		}
		require.Len(t, tb.failures, 1)
		assert.Contains(t, tb.failures[0], "alpn: want h2, got http/1.1 from "+site.URL)
		assert.Contains(t, tb.failures[0], "issuer: O=Acme Co\n\tlikely: client offered no ALPN or server took no part: an http.Transport")
	}
}
