// Package wire speaks HTTP over connections that record what passes. It is the
// engine below the fixtures: a test needs it only to build one of its own.
//
// A [Tap] reads along the decrypted bytes of a connection and writes what they
// say into a [netlog.Log]. On both sides of one, the protocols themselves are
// net/http's. Accept, shake hands, serve:
//
//	server := wire.NewServer(wire.ServerConfig{Handler: handler})
//	conn, err := listener.Accept()
//	rec := log.Open(netlog.Connection{Remote: conn.RemoteAddr().String()})
//	tlsConn, err := wire.HandshakeServer(ctx, conn, cfg, rec)
//	go server.ServeConn(tlsConn, rec) // h2 or http/1.1, as was negotiated
//
// Dial, shake hands, ask:
//
//	tlsConn, err := wire.HandshakeClient(ctx, conn, cfg, rec)
//	client, err := wire.NewClientConn(tlsConn, wire.ClientConfig{Record: rec})
//	resp, err := client.RoundTrip(req, nil)
//
// A [Pool] hands out such clients first come first served and says of each
// request how long it waited, and whether for a limit. Unlike that of
// [http.Transport] it opens no connection that is not needed, and its order is
// exact.
//
// What net/http's handlers and clients cannot say, a [Control] and a [Stream] say in
// frames: GOAWAY with a last stream of one's choice, RST_STREAM with a code,
// trailers that nobody declared, half a close, late and further SETTINGS. On a
// connection of which nothing like it is asked, every byte is net/http's own. A
// [Fault] does such a thing to the nth request:
//
//	wire.ServerConfig{Handler: handler, Faults: []wire.Fault{{Request: 5, Do: wire.GoAway}}}
//
// [Listen], [Accept], [Access] and [Closer] are what every fixture does alike: it
// opens its sockets, takes connections, gives out clients, and closes once, within a
// bound.
//
// All of it works in a testing/synctest bubble: nothing holds a lock while it
// waits, and a closed Server, ClientConn or Pool leaves no goroutine behind.
package wire
