package h3_test

import (
	"context"
	"fmt"
	"log"

	"example.com/wiretest/netlog/h3"
	"example.com/wiretest/origin"
	"example.com/wiretest/origin/pageload"
)

// A browser comes by TCP, is told of HTTP/3, and uses it from then on.
func ExampleBrowser() {
	site, err := origin.Start(&origin.Config{Page: &origin.Page{Images: 3}, HTTP3: &origin.HTTP3{}})
	if err != nil {
		log.Fatal(err)
	}
	defer site.Close()
	page, err := pageload.Load(context.Background(), &pageload.Config{
		URL: site.URL, Transport: site.Transport(nil), HTTP3: h3.Browser(site.HTTP3Transport(nil)),
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, q := range page.Log.Requests() {
		fmt.Println(q.Protocol, q.Status)
	}
	for _, n := range page.Log.Notes(pageload.AlternativeNote) {
		fmt.Println(n.Params["decision"])
	}
	// Output:
	// h2 200
	// h3 200
	// h3 200
	// h3 200
	// remembered
	// tried
	// connected
}
