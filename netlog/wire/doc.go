// Package wire speaks HTTP over connections that record what passes. It is the
// engine below the fixtures: a test needs it only to build one of its own.
//
// A Tap reads along the decrypted bytes of a connection and writes what they
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
// A Pool hands out such clients first come first served and says of each
// request how long it waited, and whether for a limit. Unlike that of
// [http.Transport] it opens no connection that is not needed, and its order is
// exact.
//
// All of it works in a testing/synctest bubble: nothing holds a lock while it
// waits, and a closed Server, ClientConn or Pool leaves no goroutine behind.
package wire
