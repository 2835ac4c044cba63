// Package alpn says what one side of a TLS connection offers and accepts by
// ALPN (RFC 7301), reads what a ClientHello offers over TCP and over QUIC, probes
// what servers select, and asserts on what was negotiated.
//
// A server that speaks HTTP/2 and nothing else, and really says so:
//
//	ln := tls.NewListener(tcp, alpn.Only(alpn.H2).Server(certs))
//
// A client that offers both, and a test that wants h2:
//
//	tr := &http.Transport{TLSClientConfig: alpn.Prefer(alpn.H2, alpn.HTTP11).Client(roots), ForceAttemptHTTP2: true}
//	resp, err := (&http.Client{Transport: tr}).Get(url)
//	...
//	alpn.RequireProtocol(t, resp, alpn.H2)
//
// What any server selects, and what is left of it behind a proxy:
//
//	direct, err := alpn.Probe(ctx, "shop.test:443", nil)
//	proxied, err := alpn.Probe(ctx, "shop.test:443", &alpn.ProbeConfig{DialContext: alpn.Through("http://proxy.test:3128")})
//	fmt.Println(alpn.Compare(direct, proxied))
//
// A relay that decides by what the client asks for, and passes every byte on:
//
//	hello, conn, err := alpn.PeekClientHello(conn)
//	log.Print(hello, hello.JA4())
package alpn
