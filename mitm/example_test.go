package mitm_test

import (
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"strings"

	"example.com/wiretest/alpn"
	"example.com/wiretest/mitm"
	"example.com/wiretest/netlog"
	"example.com/wiretest/netlog/wire"
	"example.com/wiretest/origin"
)

// The proxy speaks http/1.1 with its client and h2 with the origin.
func Example() {
	site, err := origin.Start(&origin.Config{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "asked over %s", r.Proto)
	})})
	if err != nil {
		log.Fatal(err)
	}
	defer site.Close()
	proxy, err := mitm.Start(&mitm.Config{
		RootCAs:    site.CA().Pool(),
		Downstream: mitm.Leg{ALPN: alpn.Only(alpn.HTTP11)},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer proxy.Close()

	resp, err := proxy.Client().Get(site.URL)
	if err != nil {
		log.Fatal(err)
	}
	body, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	fmt.Printf("%s: %s\n", resp.Proto, body)
	for _, c := range proxy.Log().Connections(netlog.Used()) {
		fmt.Printf("%s: offered %q, chosen %s, shown by %s\n", c.Leg, c.Offered, c.ALPN, c.Issuer)
	}
	// Output:
	// HTTP/1.1: asked over HTTP/2.0
	// downstream: offered ["h2" "http/1.1"], chosen http/1.1, shown by wiretest mitm CA
	// upstream: offered ["h2" "http/1.1"], chosen h2, shown by wiretest origin CA
}

// With Mirror the client gets what the origin chose.
func ExampleLeg_mirror() {
	site, err := origin.Start(&origin.Config{ALPN: alpn.Only(alpn.HTTP11)})
	if err != nil {
		log.Fatal(err)
	}
	defer site.Close()
	proxy, err := mitm.Start(&mitm.Config{RootCAs: site.CA().Pool(), Downstream: mitm.Leg{Mirror: true}})
	if err != nil {
		log.Fatal(err)
	}
	defer proxy.Close()

	resp, err := proxy.Client().Get(site.URL)
	if err != nil {
		log.Fatal(err)
	}
	resp.Body.Close()
	fmt.Println(resp.Proto)
	// Output: HTTP/1.1
}

// What the proxy says for an origin that cannot be reached.
func ExampleConfig_rootCAs() {
	site, err := origin.Start(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer site.Close()
	proxy, err := mitm.Start(nil) // it does not trust the origin
	if err != nil {
		log.Fatal(err)
	}
	defer proxy.Close()

	resp, err := proxy.Client().Get(site.URL)
	if err != nil {
		log.Fatal(err)
	}
	defer resp.Body.Close()
	fmt.Println(resp.Status)
	fmt.Println(proxy.Log().Requests(mitm.Upstream)[0].Err[len("upstream leg: TLS with "+site.Addr):])
	// Output:
	// 502 Bad Gateway
	// : tls: failed to verify certificate: x509: certificate signed by unknown authority
}

// A client of any kind is pointed to Proxy.URL, or dials by CONNECT.
func ExampleProxy_DialContext() {
	site, err := origin.Start(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer site.Close()
	proxy, err := mitm.Start(&mitm.Config{RootCAs: site.CA().Pool(), Downstream: mitm.Leg{ALPN: alpn.None()}})
	if err != nil {
		log.Fatal(err)
	}
	defer proxy.Close()

	tr := &http.Transport{
		DialContext:       proxy.DialContext,
		TLSClientConfig:   proxy.CA().ClientTLS(),
		ForceAttemptHTTP2: true,
	}
	defer tr.CloseIdleConnections()
	resp, err := tr.RoundTrip(must(http.NewRequest(http.MethodHead, site.URL, nil)))
	if err != nil {
		log.Fatal(err)
	}
	resp.Body.Close()
	fmt.Printf("%s, negotiated %q\n", resp.Proto, resp.TLS.NegotiatedProtocol)
	// Output: HTTP/1.1, negotiated ""
}

func must(req *http.Request, err error) *http.Request {
	if err != nil {
		log.Fatal(err)
	}
	return req
}

// One host is spoken to over http/1.1, and every answer says so.
func ExampleRule() {
	site, err := origin.Start(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer site.Close()
	proxy, err := mitm.Start(&mitm.Config{
		RootCAs: site.CA().Pool(),
		Rules: []mitm.Rule{
			{Host: "other.example", Passthrough: true},
			{Host: "127.0.0.1", Upstream: mitm.Leg{ALPN: alpn.Only(alpn.HTTP11)}},
		},
		Hooks: mitm.Hooks{Response: func(resp *http.Response) error {
			resp.Header.Set("X-Origin-Spoke", resp.Proto)
			return nil
		}},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer proxy.Close()

	resp, err := proxy.Client().Get(site.URL)
	if err != nil {
		log.Fatal(err)
	}
	resp.Body.Close()
	fmt.Println(resp.Proto, resp.Header.Get("X-Origin-Spoke"))
	for _, c := range proxy.Log().Connections(netlog.Used()) {
		fmt.Println(c.Leg, c.Protocol, "by rule", c.Rule)
	}
	// Output:
	// HTTP/2.0 HTTP/1.1
	// downstream h2 by rule 127.0.0.1
	// upstream http/1.1 by rule 127.0.0.1
}

// A hook answers in the origin's stead.
func ExampleHooks() {
	proxy, err := mitm.Start(&mitm.Config{Hooks: mitm.Hooks{
		Request: func(r *http.Request) (*http.Response, error) {
			body := io.NopCloser(strings.NewReader("no origin was asked for " + r.URL.Path))
			return &http.Response{StatusCode: http.StatusTeapot, Body: body}, nil
		},
	}})
	if err != nil {
		log.Fatal(err)
	}
	defer proxy.Close()

	resp, err := proxy.Client().Get("https://does-not-exist.example/tea")
	if err != nil {
		log.Fatal(err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	fmt.Printf("%s: %s\n", resp.Status, body)
	// Output:
	// 418 I'm a teapot: no origin was asked for /tea
}

// The first request is refused with a code by which it may be sent again, which
// net/http does.
func ExampleLeg_faults() {
	site, err := origin.Start(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer site.Close()
	proxy, err := mitm.Start(&mitm.Config{
		RootCAs:    site.CA().Pool(),
		Downstream: mitm.Leg{Faults: []wire.Fault{{Request: 1, Do: wire.Refuse}}},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer proxy.Close()

	resp, err := proxy.Client().Head(site.URL)
	if err != nil {
		log.Fatal(err)
	}
	resp.Body.Close()
	fmt.Println(resp.Status)
	for _, q := range proxy.Log().Requests(mitm.Downstream) {
		if q.Method == http.MethodHead {
			fmt.Println(q.Status, q.Err)
		}
	}
	// Output:
	// 200 OK
	// 0 RST_STREAM REFUSED_STREAM sent by server
	// 200
}

// A proxy that refuses what the client offers, on the first connection.
func ExampleConnectionFault() {
	site, err := origin.Start(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer site.Close()
	proxy, err := mitm.Start(&mitm.Config{
		RootCAs:    site.CA().Pool(),
		Downstream: mitm.Leg{ConnectionFaults: []mitm.ConnectionFault{{Connection: 1, RefuseALPN: true}}},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer proxy.Close()

	for range 2 {
		resp, err := proxy.Client().Head(site.URL)
		if err != nil {
			fmt.Println(errors.Unwrap(errors.Unwrap(err)))
			continue
		}
		resp.Body.Close()
		fmt.Println(resp.Status)
	}
	// Output:
	// remote error: tls: no application protocol
	// 200 OK
}
