// Package linkdelay puts hosts on links: named hosts that listen and dial as
// on any network, and a [Link] with delay between each two of them.
//
//	func TestDelay(t *testing.T) {
//		synctest.Test(t, func(t *testing.T) {
//			network := linkdelay.NewNetwork(t, linkdelay.RTT(100*time.Millisecond))
//			ln, _ := network.Host("origin.test").Listen(t.Context(), "tcp", ":80")
//			go http.Serve(ln, handler)
//			tr := &http.Transport{DialContext: network.Host("pc.test").DialContext}
//			start := time.Now()
//			resp, err := (&http.Client{Transport: tr}).Get("http://origin.test/")
//			if err != nil {
//				t.Fatal(err)
//			}
//			resp.Body.Close()        // or the transport waits for it after the bubble's end
//			t.Log(time.Since(start)) // 200ms: one round trip to connect, one to ask
//		})
//	}
//
// A [Network] is one of two worlds behind the same methods. [NewNetwork] is in
// memory: inside a testing/synctest bubble its time is virtual and its figures
// are exact; outside it runs in real time. [NewLoopback] has the same named
// hosts on real sockets of 127.0.0.1. [EachWorld] runs one test in both.
//
// Without a Network there are a [Relay], which puts a Link before anything that
// listens on a socket, for clients that know nothing of it, and a [Wrapper],
// which puts one before the connections that a program makes by itself. A Link
// does the same on all of them, and their [Wire] changes it while they run.
//
// # Time in memory
//
// Every byte and every datagram arrives one delay after it was sent, however
// many were sent before it: delay does not cost throughput. What ends a
// connection is delayed like its data. Dialling takes one round trip; the
// listener's side is accepted half a round trip later, when the last packet of
// the handshake arrives (RFC 9293, section 3.5), together with data that the
// client sends at once. Nothing that the Network does itself takes time.
//
// # Streams in memory
//
// Write never blocks: what was written waits in memory until it is sent and
// read, unless Path.Buffer bounds it. (A client of HTTP/2 holds a mutex while it
// writes; if that write blocked, whoever waits for the mutex would stop virtual
// time.) So do not write without end to a peer that does not read; and a loop
// that writes until a deadline never ends in a bubble, where time moves only when
// all wait.
//
// Close delivers what was written, then FIN; the peer reads all of it, then
// io.EOF. What reaches a connection that is closed is answered by a reset, and
// half a round trip later the writer's Write fails with EPIPE. A reset (by
// SetLinger(0) and Close) makes the peer's Read fail with ECONNRESET, once it
// has read what arrived before. CloseWrite ends one direction only.
//
// A stream belongs to the bubble that its Network was made in; a Network used
// across the wall of a bubble refuses to dial and to listen.
//
// # Rate
//
// Sending is virtual serialization: a packet leaves its size over the rate after
// the one before it has left, or after it came if that is later. What waits is
// the queue, what travels is not. A datagram that finds the queue full is
// dropped. A connection keeps what does not fit, and enters it segment by
// segment as room appears, in turn with the others that wait; so beside a busy
// connection others find a full queue, and wait for as long as it is.
//
// # Loss on connections
//
// Loss on a connection is never missing bytes. Where segments may be lost,
// Jitter varies them, or a window governs (see [Congestion]), a model of a TCP
// sender says when bytes arrive: segments of 1,460 bytes; a lost one comes late
// and intact, and holds back those behind it. It does what Linux does: RACK and
// the tail loss probe (RFC 8985), a timeout of SRTT + max(200 ms, 4 RTTVAR),
// proportional rate reduction (RFC 6937), an initial window of 10 (RFC 6928),
// Cubic (RFC 9438) or Reno (RFC 5681), SYN again after 1, 2, 4 … s. For the same
// losses it is within 8 % of Linux 6.18. Left out are delayed and lost
// acknowledgements, reordering of segments, F-RTO, HyStart, pacing and the
// receive window.
//
// # Seeds
//
// One Link.Seed is one figure. A segment's fate is drawn from the seed, the rank
// of its connection among those dialled over the link, its direction, its place
// in the stream and the attempt, so that it does not matter how goroutines cut
// what they write: a page of 50 answers by HTTP/1.1 or HTTP/2 over TLS takes the
// same nanoseconds in every run, under loss, Jitter, and a Rate. What was asked
// for in one instant is in no order, though; let 1 ns pass between requests. A
// datagram is drawn by its rank among those of 1,000 bytes or more, or among the
// smaller ones. What a protocol draws by itself, as QUIC does the packet numbers
// that it skips, no seed here can fix.
//
// One seed is not a picture: tell quantiles over 50 or more.
//
// # Real time, on sockets
//
// On sockets nothing is early, and what is due is released late by as much as
// the machine needs to wake up: at 100 ms of round trip a ping and its answer
// took 0.5 ms more at the median on two busy cores with Linux; count on a few ms
// at the 99th percentile of a quiet machine, and on more of a busy one. Late in
// [Traffic] says how late it was. On Linux a timer of the system wakes; Go's own
// timers, elsewhere, are late by up to a millisecond each way. So a test on
// sockets should bound times from below only, and count.
//
// What differs from memory: the kernel has buffers, so a writer is held back
// only when they are full as well; it completes a connect by itself, so that
// connecting to a Relay takes no time (see [Handshakes]), while a Host or a
// Wrapper that dials takes the round trip; and Write blocks when the peer does
// not read.
package linkdelay
