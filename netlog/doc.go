// Package netlog is the record of what happened on the wire: which connections
// were opened, what was negotiated on each, how many requests it carried and
// how long they waited; and the assertions on it.
//
// Every fixture writes a [Log], a proxy with a [Leg] for each of its sides;
// [NewTransport] records a Go client. A test reads it:
//
//	log := netlog.New(t) // prints itself when t fails
//	client := &http.Client{Transport: netlog.NewTransport(transport, log)}
//	loadPage(client)
//	netlog.RequireConnections(t, log, 1, "h2", netlog.Used())
//	if longest := log.Stalls().Max(); longest > time.Second {
//		t.Errorf("a request waited %v for a limit:\n%v", longest, log.Stalls())
//	}
//	for _, c := range log.Connections(netlog.Host("example.com")) {
//		t.Log(c.Protocol, c.ALPN, c.Offered, c.Issuer, c.Requests, c.CloseReason)
//	}
//
// [ReadFile] makes a Log of the NetLog of a browser, whole or not, and
// [Log.Findings] says what made its page slow, with the evidence. [Log.WriteTo]
// writes any Log for the browser's viewers, [Log.WriteWaterfall] draws it, and
// [WriteComparison] sets several side by side.
//
// How many connections there were is several numbers: net/http opens 50 for 50
// concurrent requests to a cold HTTP/2 host and uses one. A [Connection]
// therefore says how far it got, and [Used] selects those that carried a
// request. What cannot be known is [Unknown] and never a guess.
//
// A fixture writes into a Log by records: [Log.Open] gives one for a connection,
// [ConnectionRecord.Request] and [Log.Request] one for a request. They, [Log.Stall]
// and [Log.Note] are the writing half of the package; a test needs only the other.
package netlog
