package alpn_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"

	"example.com/wiretest/alpn"
	"example.com/wiretest/mitm"
	"example.com/wiretest/origin"
)

// What the two sides of a connection agree on, by their policies.
func Example() {
	client, server := net.Pipe()
	var serving sync.WaitGroup // waited for at the end
	serving.Go(func() {
		defer server.Close()
		tls.Server(server, alpn.Prefer(alpn.H2, alpn.HTTP11).Server(serverTLS())).Handshake()
	})
	conn := tls.Client(client, alpn.Only(alpn.HTTP11).Client(clientTLS(tls.VersionTLS12)))
	err := conn.Handshake()
	fmt.Println(err, conn.ConnectionState().NegotiatedProtocol)
	client.Close()
	serving.Wait()
	// Output: <nil> http/1.1
}

// An h2-only server refuses everybody else with alert 120, and says why.
func ExampleOnly() {
	client, server := net.Pipe()
	var serving sync.WaitGroup // waited for at the end
	serving.Go(func() {
		defer server.Close()
		err := tls.Server(server, alpn.Only(alpn.H2).Server(serverTLS())).Handshake()
		var mismatch *alpn.MismatchError
		if errors.As(err, &mismatch) {
			fmt.Println("server:", mismatch)
		}
	})
	err := tls.Client(client, clientTLS(tls.VersionTLS13, alpn.HTTP11)).Handshake()
	client.Close()
	serving.Wait()
	fmt.Println("client:", err)
	// Output:
	// server: alpn: Only("h2"): refused: client offered "http/1.1", wanted "h2"
	// client: remote error: tls: no application protocol
}

// What a server answers can be asked without a connection.
func ExamplePolicy_Choose() {
	both := alpn.Prefer(alpn.H2, alpn.HTTP11)
	fmt.Println(both.Choose([]string{alpn.HTTP11, alpn.H2}))
	fmt.Println(alpn.Only(alpn.H2).Choose(nil))
	// Output:
	// h2 <nil>
	//  alpn: Only("h2"): refused: client offered no ALPN, wanted "h2"
}

// A mistaken policy says what is wrong with it.
func ExamplePolicy_Validate() {
	fmt.Println(alpn.Prefer(alpn.H2, "").Validate())
	fmt.Println(alpn.Only(alpn.H3).Validate())
	// Output:
	// alpn: Prefer("h2", ""): empty protocol name
	// alpn: Only("h3"): "h3" runs over QUIC; a policy rules TLS over TCP only
}

// A relay looks at what a client wants, and takes nothing away from it.
func ExamplePeekClientHello() {
	client, accepted := net.Pipe()
	var asking sync.WaitGroup // waited for at the end
	asking.Go(func() { tls.Client(client, clientTLS(tls.VersionTLS13, alpn.H2, alpn.HTTP11)).Handshake() })

	hello, conn, err := alpn.PeekClientHello(accepted)
	fmt.Println(err, hello.ServerName, hello.ALPN)
	again, _, err := alpn.PeekClientHello(conn)
	fmt.Println(err, again.ServerName, again.ALPN)

	conn.Close()
	asking.Wait()
	// Output:
	// <nil> wiretest.test [h2 http/1.1]
	// <nil> wiretest.test [h2 http/1.1]
}

// What does not speak TLS is named, and can still be served.
func ExamplePeekClientHello_notTLS() {
	client, accepted := net.Pipe()
	var asking sync.WaitGroup // waited for at the end
	asking.Go(func() {
		io.WriteString(client, "GET / HTTP/1.1\r\n\r\n")
		client.Close()
	})

	_, conn, err := alpn.PeekClientHello(accepted)
	fmt.Println(err)
	request, _ := io.ReadAll(conn)
	fmt.Printf("%q\n", request)
	asking.Wait()
	// Output:
	// alpn: ClientHello: byte 0: not a ClientHello but an HTTP request: "GET / HTTP/1.1"
	// "GET / HTTP/1.1\r\n\r\n"
}

// What does a server select, and what is left of it behind a proxy that speaks
// no HTTP/2 to its clients? The two could be any: a host and a port, and the URL
// of a proxy.
func ExampleProbe() {
	site, err := origin.Start(&origin.Config{Handler: http.NotFoundHandler()})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer site.Close()
	proxy, err := mitm.Start(&mitm.Config{RootCAs: site.CA().Pool(), Downstream: mitm.Leg{ALPN: alpn.Only(alpn.HTTP11)}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer proxy.Close()

	only13 := &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS13} // without it 1.2 is probed too
	direct, err := alpn.Probe(context.Background(), site.Addr, &alpn.ProbeConfig{TLS: only13})
	fmt.Println(direct.Selected(alpn.H2, alpn.HTTP11), err)
	proxied, err := alpn.Probe(context.Background(), site.Addr, &alpn.ProbeConfig{TLS: only13, DialContext: alpn.Through(proxy.URL)})
	fmt.Println(proxied.Selected(alpn.H2, alpn.HTTP11), err)
	fmt.Println(alpn.Compare(direct, proxied))
	// Output:
	// h2 <nil>
	// http/1.1 <nil>
	// offered           TLS  direct              proxied
	// h2, http/1.1      1.3  h2                  http/1.1
	// http/1.1, h2      1.3  h2                  http/1.1
	// h2                1.3  h2                  alert 120 (no application protocol)
	// http/1.1          1.3  http/1.1            http/1.1
	// no ALPN           1.3  no ALPN             no ALPN
	// wiretest/unknown  1.3  no ALPN             alert 120 (no application protocol)
	// issuer                 wiretest origin CA  wiretest mitm CA
	// interception: TLS is ended on the way, by whoever holds "wiretest mitm CA"
	// protocol: h2 is lost on the way: a client that offers it gets http/1.1, and needs a connection for each request in flight
	// refusals: not the same offers are refused
}

// Is it really the shop's own server that answers, or something on the way?
func ExampleRequireNotIntercepted() {
	shop := httptest.NewTLSServer(http.NotFoundHandler())
	defer shop.Close()
	resp, err := shop.Client().Get(shop.URL)
	if err != nil {
		fmt.Println(err)
		return
	}
	resp.Body.Close()
	own := x509.NewCertPool()
	own.AddCert(shop.Certificate())

	t := new(fakeTB) // in a test: its *testing.T
	alpn.RequireNotIntercepted(t, resp, own)
	fmt.Println(len(t.failures))
	// Output: 0
}

// The failure says who else vouches for the server.
func ExampleRequireIssuer() {
	shop := httptest.NewTLSServer(http.NotFoundHandler())
	defer shop.Close()
	resp, err := shop.Client().Get(shop.URL)
	if err != nil {
		fmt.Println(err)
		return
	}
	resp.Body.Close()
	resp.Request = nil // its URL has a port that differs from run to run

	t := new(fakeTB) // in a test: its *testing.T
	alpn.RequireIssuer(t, resp, "O=Acme Co")
	alpn.RequireIssuer(t, resp, "wiretest mitm CA")
	fmt.Println(t.failures[0])
	// Output:
	// alpn: want issuer "wiretest mitm CA", got "O=Acme Co"
	// 	chain 0: example.com, issued by O=Acme Co, valid from 1970-01-01 to 2084-01-29
	// 	likely: the server presents a certificate that it signed itself
}

// A server of h2 only refuses who offers something else, and says so on the
// wire.
func ExampleRequireAlert() {
	client, server := net.Pipe()
	var serving sync.WaitGroup // waited for at the end
	serving.Go(func() {
		defer server.Close()
		tls.Server(server, alpn.Only(alpn.H2).Server(serverTLS())).Handshake()
	})
	err := tls.Client(client, clientTLS(tls.VersionTLS13, alpn.HTTP11)).Handshake()
	client.Close()
	serving.Wait()

	t := new(fakeTB) // in a test: its *testing.T
	alpn.RequireAlert(t, err, 120)
	fmt.Println(len(t.failures))
	// Output: 0
}

// Which program is it that connects? Here it is a Chromium, whose hello was
// captured.
func ExampleClientHello_JA4() {
	client, accepted := net.Pipe()
	var sending sync.WaitGroup // waited for at the end
	sending.Go(func() {
		capture, _ := os.ReadFile("testdata/hello-chromium.bin")
		client.Write(capture)
	})
	hello, _, err := alpn.PeekClientHello(accepted)
	sending.Wait()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(hello.JA4())
	fmt.Println(hello.KeyShares[1], alpn.IsGREASE(hello.CipherSuites[0]), hello.ECH != nil)
	// Output:
	// t13d1516h2_8daaf6152771_806a8c22fdea
	// X25519MLKEM768 (1216 bytes) true true
}

// What a server answers is read in the same way; an alert is an error that
// names it.
func ExamplePeekServerHello() {
	conn, server := net.Pipe()
	var refusing sync.WaitGroup // waited for at the end
	refusing.Go(func() {
		server.Write([]byte("\x15\x03\x03\x00\x02\x02\x78"))
		server.Close()
	})
	_, _, err := alpn.PeekServerHello(conn)
	refusing.Wait()
	fmt.Println(err)
	// Output: alpn: ServerHello: byte 0: not a ServerHello but a TLS alert: level 2, tls: no application protocol (120)
}

// The two datagrams of a hello over QUIC came in the wrong order.
func ExampleInitialReader() {
	first, _ := os.ReadFile("testdata/initial-chromium-1.bin")
	second, _ := os.ReadFile("testdata/initial-chromium-2.bin")

	var reader alpn.InitialReader
	hello, err := reader.Datagram(second)
	fmt.Println(hello != nil, err)
	hello, err = reader.Datagram(first)
	fmt.Println(hello.ServerName, hello.ALPN, err)
	// Output:
	// false <nil>
	// tool.test [h3] <nil>
}

// A test that wants HTTP/2 says so in one line. Here the client's transport
// lost it, by a TLSClientConfig without ForceAttemptHTTP2.
func ExampleRequireProtocol() {
	site := httptest.NewUnstartedServer(http.NotFoundHandler())
	site.EnableHTTP2 = true
	site.StartTLS()
	defer site.Close()
	tr := &http.Transport{TLSClientConfig: clientTLS(tls.VersionTLS13)}
	defer tr.CloseIdleConnections()
	resp, err := (&http.Client{Transport: tr}).Get(site.URL)
	if err != nil {
		fmt.Println(err)
		return
	}
	resp.Body.Close()
	resp.Request = nil // its URL has a port that differs from run to run

	t := new(fakeTB) // in a test: its *testing.T
	alpn.RequireProtocol(t, resp, alpn.H2)
	fmt.Println(t.failures[0])
	// Output:
	// alpn: want h2, got http/1.1
	// 	offered: unknown (wrap the client's transport in netlog.NewTransport to record it)
	// 	chosen: no ALPN, with TLS 1.3
	// 	spoken: HTTP/1.1
	// 	issuer: O=Acme Co
	// 	likely: client offered no ALPN or server took no part: an http.Transport with its own TLSClientConfig or DialContext needs ForceAttemptHTTP2
}
