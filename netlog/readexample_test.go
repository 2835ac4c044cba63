package netlog_test

import (
	"fmt"
	"log"

	"example.com/wiretest/netlog"
)

// What a customer's NetLog shows, in ten lines.
func ExampleReadFile() {
	l, err := netlog.ReadFile("testdata/h1tls.json.gz")
	if err != nil {
		log.Fatal(err)
	}
	page := netlog.Host("localhost:18444")
	for _, c := range l.Connections(page, netlog.Used())[:1] {
		fmt.Printf("%s, chosen of %v, issuer %s, %d requests\n", c.Protocol, c.Offered, c.Issuer, c.Requests)
	}
	fmt.Println(len(l.Connections(page)), "connections,", len(l.Requests(page)), "requests,", len(l.Damage()), "damages")
	for _, f := range l.Findings() {
		fmt.Print(f)
	}
	// Output:
	// http/1.1, chosen of [h2 http/1.1], issuer localhost, 3 requests
	// 6 connections, 14 requests, 0 damages
	// localhost:18444: 6 connections, 6 requests waited, median 295ms
	//   6 × SOCKET_POOL_STALLED_MAX_SOCKETS_PER_GROUP: the limit of connections to one host (source 174, 179, 184, 189, 194, 199)
}

// A browser that was killed leaves a log without its end.
func ExampleLog_Damage() {
	l, err := netlog.ReadFile("testdata/killed.json.gz")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(l.Requests()), "requests")
	for _, d := range l.Damage() {
		fmt.Println(d)
	}
	// Output:
	// 14 requests
	// byte 448822, after 2686 whole events: cut off between events; missing: closing ]}, polledData
}
