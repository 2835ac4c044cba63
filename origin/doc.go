// Package origin is an HTTPS server for tests: it serves a page of many small
// subresources with known delays, or a handler of one's own, over HTTP/2,
// HTTP/1.1 and, if told to, HTTP/3, and records every connection and request that
// it sees.
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
// connection, a setting, or a handler that mounts like any other:
//
//	limits      PerConnection, PerClient, Work, Workers, Limit, Calm
//	answers     Body, EarlyHints, Events, Trailers, Ranges, OnlyHosts, Echo
//	entries     Entries, a log of certificates that gives less than it is asked for
//	requests    GoAway, GoAwayAt, LastOne, Refuse, Reset, ResetAfter, CloseAfter, AbortAfter,
//	            CloseBehind, Hang, NoContinue, Pings, Settings, and …With a code
//	connections NeverRead, NeverShakeHands, HangUp, HangUpHard
//	settings    Config.IdleTimeout, StreamWindow, Prepare with LateSettings, WrongALPN, TLS
//
//	site := origin.New(t, &origin.Config{
//		Handler: origin.PerConnection(1, origin.Work(time.Second, orders)),
//		Faults:  []origin.Fault{{Request: 5, Do: origin.GoAway}},
//	})
//
// A mistake in a Config is an error of Start, which names the field and its value.
// What makes a handler, an Action or a part of one has no error to return, and
// panics with the same words: "origin: Workers: n: 0: want at least 1".
//
// HTTP/3 is on the same port number as TCP, and advertised by Alt-Svc:
//
//	site := origin.New(t, &origin.Config{HTTP3: &origin.HTTP3{}})
//	client := &http.Client{Transport: site.HTTP3Transport(nil)}
//
// Some things cannot be had: WrongALPN says which of ALPN, and Action which of
// HTTP/3. HTTP/2 by Upgrade, which RFC 9113 has dropped and net/http never had, is
// not served.
//
// A browser that opens Server.URL loads the page for real, and tells how it went
// by Server.Report.
package origin
