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
// As an explicit proxy, which is its mode unless [Config].Mode says otherwise, it
// takes CONNECT, or an absolute URL with the scheme http. CONNECT is answered 200
// at once, without a look at the origin. What comes after it decides: a ClientHello is answered with a leaf
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
// HTTP/3 is in a package of its own, [example.com/wiretest/mitm/h3], which makes
// [Config].HTTP3 for clients of mode Reverse and [Leg].HTTP3 for origins, and says
// what differs there.
//
// Bodies stream both ways at once, 32 KiB at a time: what was read is written
// and flushed before more is read, so that a slow reader slows the sender; of a
// request, up to 64 KiB are kept until it is answered. Trailers pass, declared
// or not, and so do any number of 1xx answers, Expect: 100-continue, a reset
// with its code, a client's cancellation, and an Upgrade on http/1.1, after
// which both connections are a tunnel. A body that breaks off is broken off on
// the other leg too, never ended.
//
// When an origin fails, the client gets a 502 whose body is the reason in one
// line, which is also in the Log:
//
//	mitm: upstream leg: dial origin.test:443: connection refused
//
// Only a reset by the origin reaches a client of HTTP/2 as what it is. A client of
// HTTP/1.1 whose body is malformed gets a 400 of that kind, and its connection ends.
//
// The Log says of each connection to an origin why it was opened, and pairs the
// requests of the legs; printing its Pairs shows them side by side, with their
// streams and what ended them.
//
// # Modes
//
// How clients come to the proxy is [Config].Mode:
//
//	&mitm.Config{}                                            // http://proxy
//	&mitm.Config{Mode: mitm.ExplicitTLS}                      // https://proxy, h2 and http/1.1
//	&mitm.Config{Mode: mitm.SOCKS5}                           // socks5://proxy
//	&mitm.Config{Mode: mitm.Transparent, Dial: toTheOrigin}   // as if it were the origin, by SNI or Host
//	&mitm.Config{Mode: mitm.Reverse, Origin: site.URL}        // for one origin
//	&mitm.Config{Mode: mitm.Explicit | mitm.SOCKS5}           // by the first byte
//	&mitm.Config{Auth: url.UserPassword("user", "secret")}    // in the first three
//	&mitm.Config{Via: "socks5://user:secret@proxy.test:1080"} // another proxy behind this one
//
// Whatever the mode, [Proxy].Transport and [Proxy].Client give Go clients that
// come by it, and [Proxy].Tunnel and [Proxy].DialContext connections. URL and
// ProxyURL are for clients that are told of a proxy: with Transparent there is
// nothing to tell, and what a client needs is Addr and a way to lead names there
// (curl has --connect-to, Chromium --host-resolver-rules); with Reverse, URL is
// what to ask instead of the origin. With several modes they are for the first
// in the order above, and URLOf is for the others.
//
// All that is said of HTTP here holds in every mode, in all four pairs of
// protocols. What a mode refuses, it refuses in its own words, and the Log has
// the reason:
//
//   - ExplicitTLS: a CONNECT in HTTP/2 that fails is answered 400, 407 or 502, and
//     a tunnel that breaks is reset with CONNECT_ERROR. Extended CONNECT is not
//     offered.
//   - SOCKS5: BIND and UDP ASSOCIATE are answered 7, another kind of address 8, a
//     host that passes through and cannot be reached 3, 4 or 5, anything else 1. A
//     greeting or credentials that are not what RFC 1928 and RFC 1929 say end
//     the connection; SOCKS4 is not spoken.
//   - Transparent: a ClientHello without SNI ends the connection, a request
//     without Host is answered 400, CONNECT 405.
//   - Reverse: CONNECT is answered 405.
//   - Via: what the other proxy answers is the reason of a 502. It is asked by
//     CONNECT for URLs of the scheme http too, and over TLS by http/1.1 only.
//   - Proxy-Authorization is taken out of what a client asks of a proxy, and left
//     as it is within tunnels.
//
// # Rules, hooks and faults
//
// [Config].Rules say what is different for some hosts; the first that matches
// decides, and the Log says of each connection which one it was:
//
//	proxy := mitm.New(t, &mitm.Config{
//		RootCAs: site.CA().Pool(),
//		Rules: []mitm.Rule{
//			{Host: "*.bank.example", Passthrough: true},
//			{Host: "legacy.example", Upstream: mitm.Leg{ALPN: alpn.Only(alpn.HTTP11), MaxConns: 6}},
//			{Host: "broken.example", CertificateFault: "expired"},
//			{Host: "*", Downstream: mitm.Leg{Mirror: true}},
//		},
//		Hooks: mitm.Hooks{
//			Request: func(r *http.Request) (*http.Response, error) {
//				r.Header.Set("X-Inspected", "yes")
//				return nil, nil
//			},
//		},
//	})
//
// [Hooks] see each request and each answer, as net/http has them, and may change
// them, answer, delay or fail them; they hear of tunnels, which they may refuse or
// let pass, and of TLS that fails, with a cause. A [Leg]'s Faults reset requests,
// say GOAWAY, hold or cut answers, on that leg and in the words of
// [example.com/wiretest/netlog/wire]; its ConnectionFaults refuse ALPN, delay
// handshakes, and drop connections.
//
// # What it does not do
//
// It adds no field: no Via, no X-Forwarded-For, no User-Agent, no
// Accept-Encoding, no Date. It takes out what belongs to one connection (RFC
// 9110, section 7.6.1): Connection and what it names, Keep-Alive,
// Proxy-Connection, TE but for "trailers", Transfer-Encoding, and Upgrade unless
// the request asks for one.
//
// It dials and asks nothing by itself. It sends a request again, eight times in
// all, only where its own connection to the origin was to blame, of which the
// client knows nothing: where that ended before it could be used; where a GOAWAY
// left the request out, or the origin refused it because it came before the
// origin had stated its limit of streams (RFC 9113, sections 6.8 and 8.7); and,
// if the method is idempotent, where a connection that had served others ended
// without a word (RFC 9110, section 9.2.2). Each attempt is a request in the Log,
// whose Err says that and why it was sent again.
//
// What net/http cannot keep changes on its way:
//
//   - The order of fields with different names, and the case of names on
//     http/1.1. Values of one name keep their order. An empty User-Agent goes.
//   - The reason phrase of a status line, which is the usual one for its code.
//   - How a body is cut into frames or chunks, padding, and what chunks have for
//     extensions.
//   - Content-Length and Content-Type of a 304 on http/1.1, which are dropped.
//   - Content-Length where HTTP/1.1 carries declared trailers, for which it has
//     room in a chunked body only. Trailers that nobody declared are lost there
//     where the message states a length.
//   - Content-Length of a POST, PUT or PATCH that has neither a body nor a length,
//     which becomes 0.
//   - RST_STREAM codes where one leg speaks http/1.1: to an origin of h2 it is
//     CANCEL, to a client of h2 it is INTERNAL_ERROR.
//   - Several Cookie fields of HTTP/2 become one, joined by "; ", as RFC 9113,
//     section 8.2.3, wants for http/1.1.
//   - A 100 (Continue), which the client gets when the origin has sent one or
//     let a second pass. Other expectations are answered 417 on http/1.1.
//   - When an answer begins that comes before the end of a body which the client was
//     told to continue with: on http/1.1 and Go 1.27 it waits for what the client
//     sends next.
//   - The last part of a request's body of stated length, from h2 to h2, which
//     goes on when the end of the body has come.
//   - A connection on http/1.1 whose answer begins before the request has ended:
//     the answer says close, because what is left of the request is not waited for.
//   - The rest of a request's body where an origin of h2 has answered with a status of
//     300 or more: it is not sent, so an origin that still waits for it waits until the
//     client gives up.
//   - Characters in a path that begins with two slashes which net/url would
//     escape.
//   - A request's head of more than a megabyte: on http/1.1 it is answered 431, on
//     h2 the connection ends.
//
// Upgrade takes an origin that speaks http/1.1, on a connection of its own where
// others go by h2. CONNECT within
// HTTP/2 that is intercepted is refused with 501. Extended CONNECT (RFC
// 8441) is not offered, because net/http has it for whole processes only; a
// stream that tries it is reset with PROTOCOL_ERROR.
package mitm
