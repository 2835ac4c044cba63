package pageload_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"example.com/wiretest/alpn"
	"example.com/wiretest/netlog"
	"example.com/wiretest/netlog/h3"
	"example.com/wiretest/origin"
	"example.com/wiretest/origin/pageload"
)

// A page takes a browser six connections over HTTP/1.1, and one over HTTP/2.
func Example() {
	images := &origin.Page{Images: 30, DelayMin: 100 * time.Millisecond, DelayMax: 100 * time.Millisecond}
	for _, proto := range []string{alpn.HTTP11, alpn.H2} {
		site, err := origin.Start(&origin.Config{ALPN: alpn.Only(proto), Page: images})
		if err != nil {
			log.Fatal(err)
		}
		defer site.Close()

		page, err := pageload.Load(context.Background(), &pageload.Config{URL: site.URL, Transport: site.Transport(nil)})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(len(page.Log.Requests()), "requests over", len(page.Log.Connections(netlog.Used())), "of", proto)
	}
	// Output:
	// 31 requests over 6 of http/1.1
	// 31 requests over 1 of h2
}

// Alternatives remember from one load to the next that Alt-Svc was there.
func ExampleAlternatives() {
	site, err := origin.Start(&origin.Config{HTTP3: &origin.HTTP3{}, Page: &origin.Page{Images: 10}})
	if err != nil {
		log.Fatal(err)
	}
	defer site.Close()

	cfg := &pageload.Config{
		URL:          site.URL,
		Transport:    site.Transport(nil),
		HTTP3:        h3.Browser(site.HTTP3Transport(nil)),
		Alternatives: new(pageload.Alternatives),
	}
	for _, visit := range []string{"first", "second"} {
		page, err := pageload.Load(context.Background(), cfg)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(visit, "visit:", len(page.Log.Requests(netlog.Protocol(alpn.H2))), "by h2,", len(page.Log.Requests(netlog.Protocol(alpn.H3))), "by h3")
	}
	// Output:
	// first visit: 1 by h2, 10 by h3
	// second visit: 0 by h2, 11 by h3
}
