// Package mitm is an intercepting proxy for tests: what stands between a
// program and its server in a company, or in a debugger, and speaks TLS with
// both. It records what each of its two legs negotiated, how many connections
// that took, and which request of one leg caused which of the other.
//
//	site := origin.New(t, nil)
//	proxy := mitm.New(t, &mitm.Config{
//		RootCAs:    site.CA().Pool(),
//		Downstream: mitm.Leg{ALPN: alpn.Only(alpn.HTTP11)},
//	})
//	tr := proxy.Transport(nil)
//	tr.MaxConnsPerHost = 6 // as a browser
//	app := myapp.New(&http.Client{Transport: tr})
//	app.LoadPage(site.URL)
//	netlog.RequireConnections(t, proxy.Log(), 1, alpn.H2, mitm.Downstream, netlog.Used())
//
// That fails with: want 1 connection over h2, got 6 over http/1.1, and the
// table of the six.
//
// # What it does
//
// The proxy is an explicit one: a client sends CONNECT, or an absolute URL with
// the scheme http. CONNECT is answered 200 at once, without a look at the
// origin. What comes after it decides: a ClientHello is answered with a leaf
// that [Config].CA issues for the name in its SNI, or, without one, for the
// target of CONNECT; an HTTP request is served as HTTP without TLS; anything
// else is closed, and the connection's CloseReason says what it was. A host in
// [Config].Passthrough is dialled first, and its bytes pass as they are.
//
// Each leg speaks what it negotiates, h2 or http/1.1, in every combination.
// Connections to origins are dialled when a request needs one and shared by all
// clients: one h2 connection to an origin, or as many http/1.1 ones as there
// are requests in flight. Requests with another name in their SNI have
// connections of their own. With 20 ms of round trip on each leg a first answer
// takes seven round trips, 140 ms, and the next one two.
//
// Bodies stream both ways at once, 32 KiB at a time: what was read is written
// and flushed before more is read, so that a slow reader slows the sender.
// Trailers, any number of 1xx answers, and a client's cancellation pass. A body
// that breaks off is broken off on the other leg too, never ended.
//
// When an origin fails, the client gets a 502 whose body is the reason in one
// line, which is also in the Log:
//
//	mitm: upstream leg: dial origin.test:443: connection refused
//
// # What it does not do
//
// It dials, asks and retries nothing by itself, and adds no field: no Via, no
// X-Forwarded-For, no User-Agent, no Accept-Encoding, no Date. It takes out
// what belongs to one connection (RFC 9110, section 7.6.1): Connection and what
// it names, Keep-Alive, Proxy-Connection, TE but for "trailers",
// Transfer-Encoding, Upgrade; so a WebSocket handshake is answered by the
// origin as if nobody had asked for one.
//
// What net/http cannot keep changes on its way:
//
//   - The order of fields with different names, and the case of names on
//     http/1.1. Values of one name keep their order.
//   - The reason phrase of a status line, which is the usual one for its code.
//   - Content-Length and Content-Type of a 304 on http/1.1, which are dropped.
//   - Content-Length of an answer with trailers, which HTTP/1.1 has room for in
//     a chunked body only. Trailers that the origin did not declare are lost on
//     http/1.1 where the answer states a length.
//   - Trailers of a request that it did not declare.
//   - RST_STREAM codes: a broken stream is INTERNAL_ERROR to the client, and a
//     request that was given up is CANCEL to the origin.
//   - Several Cookie fields of HTTP/2 become one, joined by "; ", as RFC 9113,
//     section 8.2.3, wants for http/1.1.
//   - A 100 (Continue), which the client gets when the origin has sent one or
//     let a second pass.
//
// CONNECT over HTTP/2 (RFC 8441 included) is refused with 501.
package mitm
