// Package origin is an HTTPS server for tests: it serves a page of many small
// subresources with known delays, or a handler of one's own, over HTTP/2,
// HTTP/1.1 and, if told to, HTTP/3, and records every connection and request that it sees.
//
//	site := origin.New(t, nil) // the published page of 171 requests
//	app := myapp.New(site.Client())
//	app.LoadPage(site.URL)
//	netlog.RequireConnections(t, site.Log(), 1, alpn.H2, netlog.Used())
//
// With a handler, behind a certificate authority of the test's own, and with
// nothing but HTTP/2:
//
//	site := origin.New(t, &origin.Config{
//		CA:      authority,
//		Handler: http.HandlerFunc(orders),
//		ALPN:    alpn.Only(alpn.H2),
//	})
//
// Without a Net it listens on loopback sockets, where any client reaches it. At
// a host of a linkdelay.Network it is reached under that host's name, from
// another host, over the link between the two:
//
//	site := origin.New(t, &origin.Config{Net: network.Host("origin.test")})
//	client := &http.Client{Transport: site.Transport(network.Host("pc.test"))}
//
// What goes wrong on purpose is a Fault of a request, a ConnectionFault of a
// connection, or a handler: limits (PerConnection, PerClient, Workers, Limit),
// answers (Body, EarlyHints, Events, Trailers, OnlyHosts), and a log of
// certificates that gives less than it is asked for (Entries).
//
//	site := origin.New(t, &origin.Config{
//		Handler: origin.PerConnection(1, origin.Work(time.Second, orders)),
//		Faults:  []origin.Fault{{Request: 5, Do: origin.GoAway}},
//	})
//
// HTTP/3 is on the same port number as TCP, and advertised by Alt-Svc:
//
//	site := origin.New(t, &origin.Config{HTTP3: &origin.HTTP3{}})
//	client := &http.Client{Transport: site.HTTP3Transport(nil)}
//
// ALPN lies by WrongALPN, which says what of that cannot be had. HTTP/2 by Upgrade
// cannot either: net/http takes none.
//
// A browser that opens Server.URL loads the page for real, and tells how it went
// by Server.Report.
package origin
