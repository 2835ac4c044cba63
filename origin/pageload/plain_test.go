package pageload_test

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/alpn"
	"example.com/wiretest/ca"
	"example.com/wiretest/netlog"
	"example.com/wiretest/origin/pageload"
)

func tlsListener(ln net.Listener, authority *ca.Authority) net.Listener {
	return tls.NewListener(ln, authority.ServerTLS())
}

// TestPlainHTTP: without TLS, directly and through a proxy, to which the
// request line names the whole URL.
func TestPlainHTTP(t *testing.T) {
	var lines []string
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		lines = append(lines, r.Method+" "+r.RequestURI)
		if r.URL.Path == "/" {
			io.WriteString(w, `<img src="/a?b=c%20d">`)
		}
	}))
	defer site.Close()
	direct, err := pageload.Load(t.Context(), &pageload.Config{URL: site.URL})
	require.NoError(t, err)
	require.Equal(t, 1, direct.Log.Connections().MostOpen(), direct.Log)
	netlog.RequireConnections(t, direct.Log, len(direct.Log.Connections()), alpn.HTTP11, netlog.Used())
	assert.Equal(t, netlog.NoALPN, direct.Log.Connections()[0].ALPN)
	assert.Equal(t, []string{"GET /", "GET /a?b=c%20d"}, lines)

	lines = nil
	proxy, err := url.Parse(site.URL) // it answers for any host
	require.NoError(t, err)
	_, err = pageload.Load(t.Context(), &pageload.Config{
		URL: "http://far.test/", Transport: &http.Transport{Proxy: http.ProxyURL(proxy)},
	})
	require.NoError(t, err)
	for _, far := range []string{"http://far.test", "http://far.test?q"} { // one after the other: of a batch any may come first
		_, err = pageload.Load(t.Context(), &pageload.Config{URLs: []string{far}, Transport: &http.Transport{Proxy: http.ProxyURL(proxy)}})
		require.NoError(t, err)
	}
	assert.Equal(t, []string{"GET http://far.test/", "GET http://far.test/a?b=c%20d", "GET http://far.test/", "GET http://far.test/?q"}, lines)
}

// TestLostConnection: a server that closes each connection after one answer,
// and does not say so, costs a connection for each request and no failure.
func TestLostConnection(t *testing.T) {
	ln := listen(t)
	done := make(chan struct{})
	go func() { // ends with the listener; waited for below
		defer close(done)
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			answerOnce(conn)
		}
	}()
	t.Cleanup(func() { ln.Close(); <-done })
	page, err := pageload.Load(t.Context(), &pageload.Config{URL: "http://" + ln.Addr().String() + "/", PerHost: 1})
	require.NoError(t, err)
	assert.Len(t, page.Log.Requests(netlog.Status(http.StatusOK)), 4)
}

func answerOnce(conn net.Conn) {
	defer conn.Close()
	req, err := http.ReadRequest(bufio.NewReader(conn))
	if err != nil {
		return
	}
	body := ""
	if req.URL.Path == "/" {
		body = `<img src="/1"><img src="/2"><img src="/3">`
	}
	fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}
