package netlog_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"example.com/wiretest/netlog"
)

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
