// Package latency loads fifty small assets, from next door and from 100 ms away,
// over HTTP/1.1 on one connection, on six, over HTTP/2 on one, and over HTTP/3.
//
//	go test -v ./examples/latency
//
// On localhost the four look alike; a test there says nothing about a user
// across a continent. With a link in between, the time is a count of round
// trips, and in virtual time the count is exact. Cold TLS 1.3 takes two: TCP and
// the handshake. After that a connection of HTTP/1.1 brings one answer a round
// trip, 50 on one connection, 9 on six; HTTP/2 asks for all at once and needs
// one. QUIC's handshake is TLS's and takes one, none with 0-RTT: two round trips
// for all fifty over HTTP/3, and to who comes again, one.
//
// A lost segment tells the other half: all streams of an HTTP/2 connection wait
// for it, while on six connections a sixth of the page does, and over HTTP/3 the
// stream that was in it.
//
// Counts are exact, and so are times over TCP. Those of HTTP/3 are to about a
// millisecond where all fits the first window, and to two percent otherwise.
package latency
