package alpn_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"testing"

	"example.com/wiretest/alpn"
	"example.com/wiretest/ca"
	"example.com/wiretest/linkdelay"
	"example.com/wiretest/mitm"
	"example.com/wiretest/origin"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// failures of an assertion.
func failuresOf(assertion func(tb testing.TB)) []string {
	tb := new(fakeTB)
	assertion(tb)
	return tb.failures
}

func got(t *testing.T, tr *http.Transport, url string) *http.Response {
	t.Helper()
	defer tr.CloseIdleConnections()
	resp, err := tr.RoundTrip(request(t, url))
	require.NoError(t, err)
	resp.Body.Close()
	return resp
}

func request(t *testing.T, url string) *http.Request {
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	return req
}

func TestInterceptionIsSeen(t *testing.T) {
	linkdelay.EachWorld(t, linkdelay.Link{}, func(t *testing.T, network *linkdelay.Network) {
		authority := ca.New(t, &ca.Config{Name: "Shop CA", Intermediates: 1})
		site := origin.New(t, &origin.Config{Net: network.Host("origin.test"), Handler: hello, CA: authority})
		proxy := mitm.New(t, &mitm.Config{Net: network.Host("proxy.test"), RootCAs: site.CA().Pool()})
		direct := got(t, site.Transport(network.Host(pc)), site.URL)
		proxied := got(t, proxy.Transport(network.Host(pc)), site.URL)

		alpn.RequireNotIntercepted(t, direct, site.CA().Pool())
		alpn.RequireNotIntercepted(t, proxied, proxy.CA().Pool())
		alpn.RequireIssuer(t, proxied, "wiretest mitm CA")
		alpn.RequireIssuer(t, proxied, proxied.TLS.PeerCertificates[0].Issuer.String())

		failures := failuresOf(func(tb testing.TB) { alpn.RequireNotIntercepted(tb, proxied, site.CA().Pool()) })
		require.Len(t, failures, 1)
		assert.Regexp(t, `^alpn: intercepted: the certificate is issued by "wiretest mitm CA", and not by the server's own authority from `+site.URL+
			`\n\tchain 0: origin.test, issued by wiretest mitm CA, valid from [-0-9]+ to [-0-9]+\n\tlikely: an intercepting proxy on the way `, failures[0])

		failures = failuresOf(func(tb testing.TB) { alpn.RequireIssuer(tb, proxied, "Shop CA") })
		require.Len(t, failures, 1)
		assert.Regexp(t, `^alpn: want issuer "Shop CA", got "wiretest mitm CA" from `+site.URL+`\n\tchain 0: origin.test, .*\n\tlikely: an intercepting proxy on the way, or `, failures[0])
	})
}

// A certificate of the right authority is that, whatever else is wrong with it,
// and what is wrong with another does not hide that it is another's.
func TestExpiredIsNotIntercepted(t *testing.T) {
	other := ca.New(t, nil).Pool()
	for _, wrong := range []func(*x509.Certificate){ca.Expired, ca.NotYetValid, ca.WrongHost} {
		site := origin.New(t, &origin.Config{CA: ca.New(t, &ca.Config{Leaf: wrong}), Handler: hello})
		tr := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
		resp := got(t, tr, site.URL)
		alpn.RequireNotIntercepted(t, resp, site.CA().Pool())
		assert.Len(t, failuresOf(func(tb testing.TB) { alpn.RequireNotIntercepted(tb, resp, other) }), 1)
	}
}

// An interceptor whose own authority is past its time, or is none, is one all
// the same.
func TestInterceptionByAnInvalidAuthorityIsSeen(t *testing.T) {
	own := ca.New(t, nil).Pool()
	for name, wrong := range map[string]func(*x509.Certificate){
		"a leaf that outlives its authority": func(c *x509.Certificate) { c.NotAfter = c.NotBefore.AddDate(160, 0, 0) },
		"a leaf that was never valid":        func(c *x509.Certificate) { c.NotBefore, c.NotAfter = c.NotAfter, c.NotBefore },
	} {
		authority := ca.New(t, &ca.Config{Intermediates: 1, Leaf: wrong})
		site := origin.New(t, &origin.Config{CA: authority, Handler: hello})
		resp := got(t, &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}, site.URL)
		alpn.RequireNotIntercepted(t, resp, authority.Pool())
		assert.Len(t, failuresOf(func(tb testing.TB) { alpn.RequireNotIntercepted(tb, resp, own) }), 1, name)
	}
}

func TestIssuerOfWhatHasNone(t *testing.T) {
	selfSigned, err := x509.ParseCertificate(certificate().Certificate[0])
	require.NoError(t, err)
	own := answer("HTTP/2.0", alpn.H2, http.NoBody)
	own.TLS.PeerCertificates[0] = selfSigned
	bare := answer("HTTP/2.0", alpn.H2, http.NoBody)
	bare.TLS.PeerCertificates = nil
	pool := x509.NewCertPool()
	for _, c := range []struct {
		resp                *http.Response
		issuer, intercepted string
	}{
		{nil, "RequireIssuer: want issuer \"A\", got no response: look at the error of the request first", "RequireNotIntercepted: got no response: look at the error of the request first"},
		{plainAnswer("HTTP/1.1"), "RequireIssuer: want issuer \"A\", got a response without TLS: anyone on the way can read and change it", "RequireNotIntercepted: got a response without TLS: anyone on the way can read and change it"},
		{bare, "RequireIssuer: want issuer \"A\", got a response without a certificate: its transport filled TLS in by itself", "RequireNotIntercepted: got a response without a certificate: its transport filled TLS in by itself"},
		{own, "want issuer \"A\", got \"wiretest.test\" from https://me:xxxxx@a.test/x\n\tchain 0: wiretest.test, issued by wiretest.test, valid from 1990-01-01 to 2090-01-01\n\tlikely: the server presents a certificate that it signed itself", ""},
	} {
		assert.Equal(t, []string{"alpn: " + c.issuer}, failuresOf(func(tb testing.TB) { alpn.RequireIssuer(tb, c.resp, "A") }))
		if c.intercepted != "" {
			assert.Equal(t, []string{"alpn: " + c.intercepted}, failuresOf(func(tb testing.TB) { alpn.RequireNotIntercepted(tb, c.resp, pool) }))
		}
	}
	assert.Len(t, failuresOf(func(tb testing.TB) { alpn.RequireNotIntercepted(tb, own, pool) }), 1)
	failures := failuresOf(func(tb testing.TB) { alpn.RequireNotIntercepted(tb, own, nil) })
	require.Len(t, failures, 1)
	assert.Contains(t, failures[0], "alpn: RequireNotIntercepted: own is nil: want the authorities of the server itself")
	assert.Len(t, failuresOf(func(tb testing.TB) { alpn.RequireIssuer(tb, answer("HTTP/2.0", "", http.NoBody), "") }), 1, "no issuer is none's")
}

func TestRequireAlert(t *testing.T) {
	eachWorld(t, func(t *testing.T, connect pair) {
		for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
			o := handshake(t, connect, clientTLS(version, alpn.HTTP11), alpn.Only(alpn.H2).Server(serverTLS()))
			alpn.RequireAlert(t, o.clientErr, 120)
			alpn.RequireAlert(t, o.serverErr, 120)
			alpn.RequireAlert(t, fmt.Errorf("asking: %w", &url.Error{Op: "Get", URL: "https://a.test", Err: o.clientErr}), 120)
		}
	})
	alpn.RequireAlert(t, fmt.Errorf("quic: %w", tls.AlertError(120)), 120)
}

func TestRequireAlertSaysWhy(t *testing.T) {
	old := serverTLS()
	old.MaxVersion = tls.VersionTLS12
	version := handshake(t, loopback, clientTLS(tls.VersionTLS13), old).clientErr
	chosen := handshake(t, loopback, alpn.Only(alpn.H2).Client(clientTLS(0)), serverTLS()).clientErr
	for _, c := range []struct {
		err  error
		want string
	}{
		{nil, "got no error\n\tlikely: the server found a protocol in the offer, or takes no part in ALPN, or lets pass who offers http/1.1 alone, as crypto/tls does; alpn.Only makes it refuse"},
		{version, "got alert 70 (protocol version not supported)\n\terror: remote error: tls: protocol version not supported\n\tlikely: the two sides have no version of TLS in common"},
		{chosen, "got no alert\n\terror: " + chosen.Error() + "\n\tlikely: this side refused what the server chose, so no alert came from there"},
		{fmt.Errorf("dialling: %w", errors.New("no such host")), "got no alert\n\terror: dialling: no such host\n\tlikely: this side ended the handshake, or there was none"},
	} {
		failures := failuresOf(func(tb testing.TB) { alpn.RequireAlert(tb, c.err, 120) })
		require.Len(t, failures, 1)
		assert.Equal(t, "alpn: want alert 120 (no application protocol), "+c.want, failures[0])
	}
	cut := &tls.Config{InsecureSkipVerify: true}
	_, err := tls.Dial("tcp", answering(t, ""), cut)
	failures := failuresOf(func(tb testing.TB) { alpn.RequireAlert(tb, err, 42) })
	assert.Equal(t, []string{"alpn: want alert 42 (bad certificate), got no alert\n\terror: EOF\n\tlikely: the peer closed the connection without an alert, as proxies and load balancers do"}, failures)
}
