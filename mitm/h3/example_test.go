package h3_test

import (
	"fmt"
	"io"
	"log"
	"net/http"

	"example.com/wiretest/mitm"
	"example.com/wiretest/mitm/h3"
	"example.com/wiretest/netlog"
	"example.com/wiretest/origin"
)

// A client of h2 reaches an origin over HTTP/3, and one of HTTP/3 does too.
func Example() {
	site, err := origin.Start(&origin.Config{HTTP3: new(origin.HTTP3), Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "asked over %s", r.Proto)
	})})
	if err != nil {
		log.Fatal(err)
	}
	defer site.Close()
	proxy, err := mitm.Start(&mitm.Config{
		Mode:     mitm.Reverse,
		Origin:   site.URL,
		RootCAs:  site.CA().Pool(),
		HTTP3:    h3.Downstream(nil),
		Upstream: mitm.Leg{HTTP3: h3.Upstream(nil)},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer proxy.Close()

	overQUIC := h3.Transport(proxy, nil)
	defer overQUIC.Close()
	for _, client := range []*http.Client{proxy.Client(), {Transport: overQUIC}} {
		resp, err := client.Get(proxy.URL)
		if err != nil {
			log.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		fmt.Printf("%s: %s\n", resp.Proto, body)
	}
	for _, c := range proxy.Log().Connections(netlog.Used()) {
		fmt.Printf("%s: %s, %d requests\n", c.Leg, c.Protocol, c.Requests)
	}
	// Output:
	// HTTP/2.0: asked over HTTP/3.0
	// HTTP/3.0: asked over HTTP/3.0
	// downstream: h2, 1 requests
	// upstream: h3, 2 requests
	// downstream: h3, 1 requests
}
