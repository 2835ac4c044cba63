package linkdelay

import (
	"slices"
	"time"
)

// Packet is what [Path].Drop decides about.
type Packet struct {
	// Network is "tcp" for a segment, "udp" for a datagram.
	Network string
	// Connection is the rank of the connection on the link, or of the two
	// sockets, in the order of dialling or of the first datagram, from 1.
	Connection int
	// Index is the packet's rank in its direction of the connection, from 1.
	// That of a segment is its place in the stream, in units of 1,460 bytes
	// that TLS did not add, so that it does not depend on how goroutines wrote.
	Index int
	// Attempt is 0 for the first transmission of a segment, and for datagrams.
	Attempt int
	// Handshake says that it is a SYN, or a SYN-ACK on the way down. Its Index
	// is 0.
	Handshake bool
	// Size is in bytes of payload.
	Size int
	// LongHeader says that it is a datagram whose first bit is 1, as that of
	// QUIC's long headers, which are those of the handshake (RFC 9000, section
	// 17.2).
	LongHeader bool
	// Sent is when, counted from when the Network, the Relay or the Wrapper was
	// made.
	Sent time.Duration
}

// Nth is for [Path].Drop: it loses the nth packets of each connection, counted
// from 1, the first time that they are sent.
func Nth(n ...int) func(Packet) bool {
	n = slices.Clone(n)
	return func(p Packet) bool { return p.Attempt == 0 && slices.Contains(n, p.Index) }
}

// First is for [Path].Drop: it loses the first n packets of each connection,
// the first time that they are sent.
func First(n int) func(Packet) bool {
	return func(p Packet) bool { return p.Attempt == 0 && p.Index > 0 && p.Index <= n }
}
