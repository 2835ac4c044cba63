package netlog_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"example.com/wiretest/netlog"
)

// connectProxy is an HTTP proxy that tunnels CONNECT and forwards the rest.
func connectProxy(t *testing.T, secure bool) *httptest.Server {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect {
			io.WriteString(w, "by the proxy")
			return
		}
		out, err := net.Dial("tcp", r.Host)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		defer out.Close()
		w.WriteHeader(http.StatusOK)
		in, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer in.Close()
		go func() { // ends when either side closes, as both are closed below
			defer out.Close()
			io.Copy(out, rw)
		}()
		io.Copy(in, out)
	})
	scheme := "http"
	if secure {
		scheme = "https"
	}
	return serve(t, scheme, handler)
}

func TestThroughAProxy(t *testing.T) {
	for _, c := range []struct {
		name           string
		secure         bool // the proxy
		scheme         string
		offered        string
		protocol, alpn string
		bytes          bool
	}{
		{name: "https by an http proxy", scheme: "h2", offered: "[h2 http/1.1]", protocol: "h2", alpn: "h2"},
		{name: "https by an https proxy", secure: true, scheme: "h2", offered: "[]", protocol: "h2", alpn: "h2"},
		{name: "http by an http proxy", scheme: "http", offered: "[]", protocol: "http/1.1", alpn: netlog.NoALPN, bytes: true},
		{name: "http by an https proxy", secure: true, scheme: "http", offered: "[h2 http/1.1]", protocol: "http/1.1", alpn: "http/1.1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			srv, proxy := serve(t, c.scheme, page), connectProxy(t, c.secure)
			client, log := recorded(t, srv, func(tr *http.Transport) {
				to, _ := url.Parse(proxy.URL)
				tr.Proxy, tr.ForceAttemptHTTP2 = http.ProxyURL(to), true
				tr.TLSClientConfig = &tls.Config{InsecureSkipVerify: true}
			})
			get(t, client, srv.URL)
			get(t, client, srv.URL)
			equal(t, "connections at one time", log.Connections().MostOpen(), 1)
			netlog.RequireConnections(t, log, len(log.Connections()), c.protocol, netlog.Used())
			got := log.Connections()[0]
			equal(t, "proxy", got.Proxy, proxy.Listener.Addr())
			equal(t, "host", got.Host, srv.Listener.Addr())
			equal(t, "offered", fmt.Sprint(got.Offered), c.offered)
			equal(t, "ALPN", got.ALPN, c.alpn)
			equal(t, "bytes known", got.BytesUp > 0, c.bytes)
		})
	}
}

func TestProxyThatRefuses(t *testing.T) {
	proxy := serve(t, "http", http.NotFoundHandler())
	to, _ := url.Parse(proxy.URL)
	client, log := client(t, &http.Transport{Proxy: http.ProxyURL(to)})
	if _, err := client.Get("https://a.test/"); err == nil {
		t.Fatal("no error")
	}
	c := log.Connections()[0]
	equal(t, "why closed", c.CloseReason, "closed by this side before TLS was established")
	equal(t, "used", c.Used(), false)
	equal(t, "proxy", c.Proxy, proxy.Listener.Addr())
}
