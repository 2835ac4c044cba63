package netlog_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/wiretest/netlog"
)

var page = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	io.Copy(io.Discard, r.Body)
	io.WriteString(w, "hello")
})

// serve starts a server over TLS, or h2 as well, or neither.
func serve(t *testing.T, scheme string, handler http.Handler) *httptest.Server {
	srv := httptest.NewUnstartedServer(handler)
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	switch scheme {
	case "http":
		srv.Start()
	case "h2":
		srv.EnableHTTP2 = true
		fallthrough
	default:
		srv.StartTLS()
	}
	t.Cleanup(srv.Close)
	return srv
}

// recorded is a client of srv whose transport change may edit first.
func recorded(t *testing.T, srv *httptest.Server, change func(*http.Transport)) (*http.Client, *netlog.Log) {
	base := srv.Client().Transport.(*http.Transport).Clone()
	if change != nil {
		change(base)
	}
	return client(t, base)
}

func client(t *testing.T, base http.RoundTripper) (*http.Client, *netlog.Log) {
	log := netlog.New(t)
	c := &http.Client{Transport: netlog.NewTransport(base, log)}
	t.Cleanup(c.CloseIdleConnections)
	t.Cleanup(func() {
		for _, q := range log.Requests() {
			if q.End.IsZero() {
				t.Errorf("request %d never ended", q.ID)
			}
		}
	})
	return c, log
}

func get(t *testing.T, c *http.Client, url string) *http.Response {
	t.Helper()
	resp, err := c.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.ReadAll(resp.Body); err != nil {
		t.Fatal(err)
	}
	return resp
}

// equal compares what is named.
func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// On sockets a busy machine may have net/http give up a connection in between: it
// waits 50 ms for the end of a write when the answer is there.
func TestTransportRecordsConnections(t *testing.T) {
	certificate := serve(t, "https", page).TLS.Certificates
	for _, c := range []struct {
		name           string
		serves, offers []string // ALPN; nil is no TLS
		protocol, alpn string
		version        uint16
	}{
		{name: "http/1.1 in the clear", protocol: "http/1.1", alpn: netlog.NoALPN},
		{name: "http/1.1 over TLS without ALPN", serves: []string{"http/1.1"}, offers: []string{}, protocol: "http/1.1", alpn: netlog.NoALPN, version: tls.VersionTLS13},
		{name: "http/1.1 chosen", serves: []string{"http/1.1"}, offers: []string{"h2", "http/1.1"}, protocol: "http/1.1", alpn: "http/1.1", version: tls.VersionTLS13},
		{name: "h2", serves: []string{"h2", "http/1.1"}, offers: []string{"h2", "http/1.1"}, protocol: "h2", alpn: "h2", version: tls.VersionTLS13},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				url, host, cfg := "http://a.test/", "a.test:80", (*tls.Config)(nil)
				if c.serves != nil {
					url, host, cfg = "https://a.test/", "a.test:443", &tls.Config{Certificates: certificate, NextProtos: c.serves}
				}
				base, stop := inMemory(cfg, page)
				defer stop()
				base.TLSClientConfig = &tls.Config{InsecureSkipVerify: true}
				base.ForceAttemptHTTP2 = len(c.offers) > 0
				client, log := client(t, base)
				for range 3 {
					get(t, client, url)
				}
				netlog.RequireConnections(t, log, 1, c.protocol, netlog.Used())
				got := log.Connections()[0]
				plain := cfg == nil
				equal(t, "host", got.Host, host)
				equal(t, "remote", got.Remote, memoryAddr{})
				equal(t, "network", got.Network, "tcp")
				equal(t, "ALPN", got.ALPN, c.alpn)
				equal(t, "offered", fmt.Sprint(got.Offered), fmt.Sprint(c.offers))
				equal(t, "TLS version", got.TLSVersion, c.version)
				equal(t, "handshaken", got.Handshaken.IsZero(), plain)
				equal(t, "requests", got.Requests, 3)
				equal(t, "most at once", got.MaxStreams, 1)
				equal(t, "opened for", got.OpenReason, "request 1")
				equal(t, "bytes known", got.BytesUp > 0 && got.BytesDown > 0, plain)
				equal(t, "bytes unknown", got.BytesUp == -1 && got.BytesDown == -1, !plain)
				equal(t, "header bytes", got.HeaderBytesUp, -1)
				client.CloseIdleConnections()
				synctest.Wait()
				equal(t, "why closed", log.Connections()[0].CloseReason, "closed by this side")
			})
		})
	}
}

func TestTransportRecordsTheIssuerAndTheServerName(t *testing.T) {
	srv := serve(t, "h2", page)
	client, log := recorded(t, srv, func(tr *http.Transport) {
		dial := tr.DialContext // httptest's, which knows example.com
		tr.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
			if dial == nil {
				dial = new(net.Dialer).DialContext
			}
			return dial(ctx, network, srv.Listener.Addr().String())
		}
	})
	get(t, client, "https://user:secret@EXAMPLE.com/page?q=1#part")
	c, q := log.Connections()[0], log.Requests()[0]
	equal(t, "server name", c.ServerName, "EXAMPLE.com")
	equal(t, "host", c.Host, "example.com:443")
	equal(t, "issuer", c.Issuer, srv.Certificate().Issuer.CommonName)
	equal(t, "URL", q.URL, "https://EXAMPLE.com/page?q=1")
}

func TestTransportRecordsRequests(t *testing.T) {
	for _, scheme := range []string{"http", "https", "h2"} {
		t.Run(scheme, func(t *testing.T) {
			srv := serve(t, scheme, page)
			client, log := recorded(t, srv, nil)
			resp, err := client.Post(srv.URL+"/form", "text/plain", strings.NewReader("twelve bytes"))
			if err != nil {
				t.Fatal(err)
			}
			if q := log.Requests()[0]; !q.End.IsZero() || q.Status != 200 {
				t.Errorf("before the body was read: %+v", q)
			}
			io.ReadAll(resp.Body)
			resp.Body.Close()
			q := log.Requests()[0]
			equal(t, "method", q.Method, "POST")
			equal(t, "URL", q.URL, srv.URL+"/form")
			equal(t, "status", q.Status, 200)
			equal(t, "sent", q.BodyBytesUp, 12)
			equal(t, "received", q.BodyBytesDown, 5)
			equal(t, "error", q.Err, "")
			equal(t, "protocol", q.Protocol, q.Connection.Protocol)
			inOrder := slices.IsSortedFunc([]time.Time{q.Start, q.Connection.Opened, q.Start.Add(q.Wait), q.Sent, q.FirstByte, q.End}, time.Time.Compare)
			if !inOrder || q.Sent.IsZero() {
				t.Errorf("times out of order: %+v", q)
			}
		})
	}
}

// A hello that takes two records is read as well as any.
func TestLongClientHello(t *testing.T) {
	srv := serve(t, "https", page)
	client, log := recorded(t, srv, func(tr *http.Transport) {
		for i := range 200 {
			tr.TLSClientConfig.NextProtos = append(tr.TLSClientConfig.NextProtos, fmt.Sprintf("%0100d", i))
		}
		tr.TLSClientConfig.NextProtos = append(tr.TLSClientConfig.NextProtos, "http/1.1")
	})
	get(t, client, srv.URL)
	equal(t, "offered", len(log.Connections()[0].Offered), 201)
}

func TestUsersOwnTraceStillWorks(t *testing.T) {
	srv := serve(t, "h2", page)
	client, _ := recorded(t, srv, nil)
	var reused []bool
	trace := &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) { reused = append(reused, i.Reused) }}
	for range 2 {
		req, _ := http.NewRequestWithContext(httptrace.WithClientTrace(t.Context(), trace), "GET", srv.URL, nil)
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		io.ReadAll(resp.Body)
		resp.Body.Close()
	}
	equal(t, "reused", reused, "[false true]")
}

// The failure of a burst that a test forgot to expect: net/http opens many
// connections and uses one.
func TestColdBurstOverH2(t *testing.T) {
	const burst = 50
	srv := serve(t, "h2", page)
	client, log := recorded(t, srv, nil)
	var wg sync.WaitGroup
	for range burst {
		wg.Go(func() { get(t, client, srv.URL) })
	}
	wg.Wait()
	equal(t, "stalls", len(log.Stalls()), 0)
	equal(t, "requests", len(log.Requests(netlog.Status(200))), burst)
	total := 0
	for _, c := range log.Connections() {
		if total += c.Requests; c.MaxStreams > burst {
			t.Errorf("connection %d: %d streams", c.ID, c.MaxStreams)
		}
	}
	equal(t, "requests on connections", total, burst)
	if n := len(log.Connections(netlog.Used())); n > 2 { // a second only while the first's limit is not known
		t.Errorf("%d connections used:\n%v", n, log)
	}
	for _, c := range log.Connections() {
		if !c.Used() && !c.Closed.IsZero() && !c.Handshaken.IsZero() && c.CloseReason != "closed by this side: not needed, another connection speaks h2" {
			t.Errorf("unused connection %d: %q", c.ID, c.CloseReason)
		}
	}
}

// net/http gives a connection to the next request before the reader of the last
// answer knows its end. Over HTTP/1.1 that is not two at a time.
func TestHTTP1HandsOverBeforeTheEndIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base, stop := inMemory(nil, page)
		defer stop()
		base.MaxConnsPerHost = 1
		client, log := client(t, base)
		taken := make(chan struct{})
		first := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{PutIdleConn: func(error) { <-taken }})
		second := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { close(taken) }})
		req, _ := http.NewRequestWithContext(first, "GET", "http://a.test/", nil)
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		wg.Go(func() {
			req, _ := http.NewRequestWithContext(second, "GET", "http://a.test/", nil)
			if resp, err := client.Do(req); err == nil {
				io.ReadAll(resp.Body)
				resp.Body.Close()
			}
		})
		io.ReadAll(resp.Body)
		resp.Body.Close()
		wg.Wait()
		c := log.Connections()[0]
		equal(t, "requests, most at once", []int{c.Requests, c.MaxStreams}, "[2 1]")
		equal(t, "received", log.Requests()[0].BodyBytesDown, 5)
	})
}

func TestHTTP1PassesItsConnectionsOn(t *testing.T) {
	srv := serve(t, "https", page)
	client, log := recorded(t, srv, func(tr *http.Transport) { tr.MaxConnsPerHost, tr.MaxIdleConnsPerHost = 3, 3 })
	var wg sync.WaitGroup
	for range 60 {
		wg.Go(func() { get(t, client, srv.URL) })
	}
	wg.Wait()
	total := 0
	for _, c := range log.Connections(netlog.Used()) {
		equal(t, "most at once", c.MaxStreams, 1)
		total += c.Requests
	}
	equal(t, "requests on connections", total, 60)
}
