package netlog_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"example.com/wiretest/netlog"
)

// What a test does with the record of its client.
func Example() {
	t := new(fakeTB) // a real test has its own
	site := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {}))
	site.EnableHTTP2 = true
	site.StartTLS()
	defer site.Close()

	log := netlog.New(t) // prints itself when t fails
	client := &http.Client{Transport: netlog.NewTransport(site.Client().Transport, log)}
	defer client.CloseIdleConnections()
	for _, path := range []string{"/", "/app.js", "/logo.png"} {
		resp, err := client.Get(site.URL + path)
		if err != nil {
			fmt.Println(err)
			return
		}
		resp.Body.Close()
	}
	netlog.RequireConnections(t, log, 1, "h2", netlog.Used())
	if longest := log.Stalls().Max(); longest > time.Second {
		t.Errorf("a request waited %v for a limit:\n%v", longest, log.Stalls())
	}
	for _, q := range log.Requests(netlog.Host(site.URL)) {
		fmt.Println(q.Method, strings.TrimPrefix(q.URL, site.URL), q.Protocol, q.Status)
	}
	// Output:
	// GET / h2 200
	// GET /app.js h2 200
	// GET /logo.png h2 200
}

// The writing half, which is a fixture's: what it sees goes into records.
func ExampleLog() {
	var log netlog.Log // ready as it is
	c := log.Open(netlog.Connection{Host: "shop.test:443", ALPN: "h2"})
	c.Update(func(c *netlog.Connection) { c.Protocol = "h2" })
	q := c.Request(netlog.Request{Method: "GET", URL: "https://shop.test/cart"})
	log.Stall(netlog.Stall{Kind: netlog.StalledMaxStreams, Host: "shop.test:443", Request: q.Request().ID, Duration: 30 * time.Millisecond})
	q.Update(func(q *netlog.Request) { q.Status = 204 })
	q.End("")
	c.Close("idle for too long")

	for _, q := range log.Requests(netlog.Status(204)) {
		fmt.Printf("%s %s, over %s, connection closed: %s\n", q.Method, q.URL, q.Protocol, q.Connection.CloseReason)
	}
	fmt.Println("waited", log.Stalls(netlog.Status(204)).Total(), "for a limit")
	// Output:
	// GET https://shop.test/cart, over h2, connection closed: idle for too long
	// waited 30ms for a limit
}

// What a proxy did to a host, as both of its legs show it.
func ExampleLog_Findings() {
	var log netlog.Log
	in := log.Open(netlog.Connection{Leg: "downstream", Host: "shop.test:443", Issuer: "proxy CA", TLSVersion: tls.VersionTLS13, ALPN: "http/1.1", Protocol: "http/1.1"})
	out := log.Open(netlog.Connection{Leg: "upstream", Host: "shop.test:443", Issuer: "origin CA", TLSVersion: tls.VersionTLS13, ALPN: "h2", Protocol: "h2"})
	asked := in.Request(netlog.Request{URL: "https://shop.test/"})
	out.Request(netlog.Request{URL: "https://shop.test/"}).Pair(asked)
	for _, f := range log.Findings() {
		fmt.Print(f)
	}
	// Output:
	// shop.test:443: intercepted: issuer proxy CA
	//   1 × SSL_CERTIFICATES_RECEIVED: the certificate is by proxy CA, and by origin CA on leg upstream
	// shop.test:443: downgraded: http/1.1 on a host that speaks h2
	//   1 × SSL_CONNECT: next_proto h2 on leg upstream
	//   1 × SSL_CONNECT: next_proto http/1.1 on leg downstream
}

// How long a browser's requests waited for a connection.
func ExampleStalls() {
	log, err := netlog.ReadFile("testdata/h1tls.json.gz")
	if err != nil {
		fmt.Println(err)
		return
	}
	stalls := log.Stalls(netlog.Host("localhost:18444"))
	fmt.Println(len(stalls), "requests waited for", stalls[0].Kind)
	fmt.Println("median", stalls.Median(), "longest", stalls.Max(), "in all", stalls.Total())
	// Output:
	// 6 requests waited for SOCKET_POOL_STALLED_MAX_SOCKETS_PER_GROUP
	// median 295ms longest 315ms in all 1.737s
}

// The record of a client in ten lines.
func ExampleNewTransport() {
	site := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "hello")
	}))
	site.EnableHTTP2 = true
	site.StartTLS()
	defer site.Close()

	var log netlog.Log
	client := &http.Client{Transport: netlog.NewTransport(site.Client().Transport, &log)}
	defer client.CloseIdleConnections()
	for range 3 {
		resp, err := client.Get(site.URL)
		if err != nil {
			fmt.Println(err)
			return
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	for _, c := range log.Connections(netlog.Used()) {
		fmt.Printf("%s, chosen of %v, %d requests\n", c.Protocol, c.Offered, c.Requests)
	}
	// Output: h2, chosen of [h2 http/1.1], 3 requests
}

// What a failing test says. A real test gives its *testing.T and the Log of a
// fixture.
func ExampleRequireConnections() {
	log := downgraded()
	said := new(fakeTB).run(func(tb testing.TB) {
		netlog.RequireConnections(tb, log, 1, "h2", netlog.Leg("downstream"), netlog.Used())
	})
	fmt.Print(said)
	// Output:
	// want 1 connection over h2, got 2 over http/1.1
	// counted: connections on leg downstream, that carried a request
	// id  leg         host           spoke     ALPN  issuer    requests  streams  reached  opened   lived
	//  1  downstream  shop.test:443  http/1.1  none  proxy CA         2        1  used        +0s  (open)
	//  2  downstream  shop.test:443  http/1.1  none  proxy CA         2        1  used        +0s  (open)
	// the whole ledger has 3 connections:
	// id  leg         host           spoke     ALPN  issuer     requests  streams  reached  opened   lived
	//  1  downstream  shop.test:443  http/1.1  none  proxy CA          2        1  used        +0s  (open)
	//  2  downstream  shop.test:443  http/1.1  none  proxy CA          2        1  used        +0s  (open)
	//  3  upstream    shop.test:443  h2        h2    origin CA         4        1  used        +0s  (open)
	// 8 requests: all of status 200
	// a Log made by netlog.New(t) and given to the fixtures also keeps every request of a failed test, in t.ArtifactDir() (go test -artifacts)
}

// downgraded is the Log of a proxy that speaks no HTTP/2 to its clients.
func downgraded() *netlog.Log {
	log := new(netlog.Log)
	for range 2 {
		open(log, netlog.Connection{Leg: down, Host: "shop.test:443", ALPN: netlog.NoALPN, Issuer: "proxy CA", Opened: noon}, "http/1.1", 2)
	}
	open(log, netlog.Connection{Leg: up, Host: "shop.test:443", ALPN: "h2", Issuer: "origin CA", Opened: noon}, "h2", 4)
	return log
}
