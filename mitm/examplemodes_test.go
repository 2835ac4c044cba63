package mitm_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/url"

	"example.com/wiretest/alpn"
	"example.com/wiretest/mitm"
	"example.com/wiretest/netlog"
	"example.com/wiretest/origin"
)

// A proxy whose own URL begins with https. The tunnel is a stream of the h2
// connection to the proxy, and a connection of its own in the Log.
func ExampleExplicitTLS() {
	site, proxy := started(&mitm.Config{Mode: mitm.ExplicitTLS})
	defer site.Close()
	defer proxy.Close()

	get(proxy.Client(), site.URL)
	for _, c := range proxy.Log().Connections(mitm.Downstream) {
		fmt.Printf("%s, %d requests, opened by %q\n", c.ALPN, c.Requests, c.OpenReason)
	}
	// Output:
	// 200 OK
	// h2, 0 requests, opened by ""
	// h2, 1 requests, opened by "CONNECT on connection 1, stream 1"
}

// A client of SOCKS5 that has to give a user and a password.
func ExampleSOCKS5() {
	site, proxy := started(&mitm.Config{Mode: mitm.SOCKS5, Auth: url.UserPassword("user", "secret")})
	defer site.Close()
	defer proxy.Close()

	get(proxy.Client(), site.URL) // which knows them
	wrong, _ := url.Parse(proxy.URL)
	wrong.User = url.UserPassword("user", "guessed")
	get(&http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(wrong)}}, site.URL)
	fmt.Println(proxy.Log().Connections(mitm.Downstream)[1].CloseReason)
	// Output:
	// 200 OK
	// failed
	// SOCKS5: proxy authentication: wrong password for user "user"
}

// A client that takes the proxy for shop.example. Dial says where that is.
func ExampleTransparent() {
	site, err := origin.Start(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer site.Close()
	proxy, err := mitm.Start(&mitm.Config{
		Mode:    mitm.Transparent,
		RootCAs: site.CA().Pool(),
		Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			fmt.Println("asked for", address)
			return new(net.Dialer).DialContext(ctx, network, site.Addr)
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer proxy.Close()

	get(proxy.Client(), "https://shop.example/") // connects to the proxy whatever the URL
	// Output:
	// asked for shop.example:443
	// 200 OK
}

// A client that asks the proxy instead of the origin, here without TLS.
func ExampleReverse() {
	site, err := origin.Start(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer site.Close()
	proxy, err := mitm.Start(&mitm.Config{Mode: mitm.Reverse, Origin: site.URL, RootCAs: site.CA().Pool()})
	if err != nil {
		log.Fatal(err)
	}
	defer proxy.Close()

	get(http.DefaultClient, "http://"+proxy.Addr)
	for _, c := range proxy.Log().Connections(netlog.Used()) {
		fmt.Println(c.Leg, c.Protocol)
	}
	http.DefaultClient.CloseIdleConnections()
	// Output:
	// 200 OK
	// downstream http/1.1
	// upstream h2
}

// One port for all: what a connection begins with decides.
func ExampleProxy_URLOf() {
	site, proxy := started(&mitm.Config{Mode: mitm.Explicit | mitm.ExplicitTLS | mitm.SOCKS5})
	defer site.Close()
	defer proxy.Close()

	for _, mode := range []mitm.Mode{mitm.Explicit, mitm.ExplicitTLS, mitm.SOCKS5} {
		at, _ := url.Parse(proxy.URLOf(mode))
		tr := &http.Transport{
			Proxy:           http.ProxyURL(at),
			TLSClientConfig: &tls.Config{RootCAs: proxy.CA().Pool(), NextProtos: []string{alpn.HTTP11}},
		}
		fmt.Print(mode, ": ")
		get(&http.Client{Transport: tr}, site.URL)
		tr.CloseIdleConnections()
	}
	// Output:
	// Explicit: 200 OK
	// ExplicitTLS: 200 OK
	// SOCKS5: 200 OK
}

// Two proxies, one behind the other. Each trusts the next one's authority.
func ExampleConfig_via() {
	site, behind := started(nil)
	defer site.Close()
	defer behind.Close()
	proxy, err := mitm.Start(&mitm.Config{Via: behind.URL, RootCAs: behind.CA().Pool()})
	if err != nil {
		log.Fatal(err)
	}
	defer proxy.Close()

	get(proxy.Client(), site.URL)
	fmt.Println(proxy.Log().Connections(mitm.Upstream)[0].Issuer)
	fmt.Println(behind.Log().Connections(mitm.Upstream)[0].Issuer)
	// Output:
	// 200 OK
	// wiretest mitm CA
	// wiretest origin CA
}

// started are an origin and a proxy that trusts it.
func started(cfg *mitm.Config) (*origin.Server, *mitm.Proxy) {
	site, err := origin.Start(nil)
	if err != nil {
		log.Fatal(err)
	}
	if cfg == nil {
		cfg = new(mitm.Config)
	}
	cfg.RootCAs = site.CA().Pool()
	proxy, err := mitm.Start(cfg)
	if err != nil {
		log.Fatal(err)
	}
	return site, proxy
}

// get prints the status of an answer.
func get(client *http.Client, url string) {
	resp, err := client.Get(url)
	if err != nil {
		fmt.Println("failed")
		return
	}
	resp.Body.Close()
	fmt.Println(resp.Status)
}
