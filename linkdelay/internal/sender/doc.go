// Package sender models how a lossy path delays a TCP stream: a sender as
// Linux's, the receiver's acknowledgements, and the time at which each byte can
// be read. A lost segment is never missing bytes. It comes late and intact, and
// holds back all that follows.
//
//	s, err := sender.New(now, sender.Config{Path: path, RTT: 100 * time.Millisecond})
//	s.Write(now, p)
//	for s.Readable(now) == 0 {
//		now = s.NextRead() // sleep until then, or until the next Write
//	}
//	n := s.Read(now, len(buffer))
//
// The model is pure. It has no goroutine, lock, timer or clock; every call says
// what time it is and first plays what happened until then: arrivals,
// acknowledgements, timeouts. It holds no bytes either, only how many: the
// caller keeps them in a queue. Calls on one Sender must not overlap.
//
// # What it does
//
//   - Segments of 1,460 bytes, an initial window of 10 (RFC 6928), slow start,
//     Reno (RFC 5681) or Cubic (RFC 9438, with its factors 0.7 and 0.53), or no
//     window at all. The window grows only while it is the limit (RFC 7661 in
//     Linux's way), and shrinks when the connection was idle for longer than
//     its timeout (RFC 5681, section 4.1).
//   - Every segment is acknowledged at once and selectively (RFC 2018, 2883).
//   - A segment is lost when three others are selectively acknowledged that were
//     sent later, or after a quarter of the smallest round trip more (RACK, RFC
//     8985, section 6). Recovery is RFC 6675's, in proportion (PRR, RFC 6937).
//   - A tail loss probe (RFC 8985, section 7) goes out after 2 SRTT + 8 ms, and
//     200 ms more if a single segment is out, but no later than the timeout
//     would; it does not double the timeout.
//   - The timeout is SRTT + max(200 ms, 4 RTTVAR), doubled each time up to two
//     minutes (RFC 6298; RFC's minimum is a second). SRTT is the handshake's
//     round trip at first, and RTTVAR half of it. The sender gives up after 15
//     minutes or so.
//   - FIN takes a place behind the data, and is lost and late like it.
//   - In a [Handshake] a lost SYN is sent again after a second, then two,
//     four … (RFC 6298. Linux since 6.5 waits one second four times before it
//     doubles.)
//
// # Same seed, same figures
//
// What differs between runs of one test is how bytes are cut into writes, and
// when somebody looks. Neither shows. The last segment of an instant stays open
// until time moves, so writes of one instant are as one. Segments end at
// multiples of the MSS of the whole stream, and [Key] decides their fate by
// where they begin, not by when they are sent. What TLS puts around its
// plaintext has no width: positions count plaintext only, for a stream that
// begins with a TLS handshake, or with a CONNECT or the answer to it and then
// one. (TLS 1.3, and 1.2 with AES-GCM or ChaCha20; with CBC the padding shows.)
//
// # What it leaves out
//
// Delayed and lost acknowledgements; reordering (nothing overtakes), and so the
// adaptation of RACK to it; F-RTO and the undoing of reductions that were for
// nothing; the receive window (one buffer serves both ends); HyStart; pacing;
// the decay of a window that is used in part; a shared bottleneck, unless the
// caller's [Path] is one and the senders on it are advanced in the order of
// [Sender.Next].
//
// # How near it comes
//
// The tests hold it to what Linux 6.18 took on exactly the same losses: within
// 8 %, most of which is what a machine adds and the model does not. One of 40
// cases misses: if all of a short answer is lost, Linux is sometimes as quick as
// the model and sometimes a timeout slower; and it sometimes is (730 to 750 ms
// instead of 514) where the last two are. With random losses its distribution is
// Linux's within what 840 to 2,000 runs can tell.
package sender
