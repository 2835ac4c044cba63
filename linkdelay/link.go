package linkdelay

import "time"

// Path is what happens on the way in one direction. Its zero value is a perfect
// one: everything arrives at once. A probability of zero is absent.
//
// What a field says of packets holds for datagrams and for the segments of
// connections. A lost datagram is gone; a lost segment is sent again as Linux
// does it, so that its bytes come late and hold back those behind them.
type Path struct {
	// Delay is how long each byte and each datagram travels, counted from when
	// it was sent or, with a Rate, from when its last bit left the queue. Zero
	// is none; at most a day.
	Delay time.Duration
	// Jitter varies the Delay of each packet, at most by so much (Uniform), or
	// with this standard deviation, at most by three of them (Normal). Packets
	// of one connection, or between two sockets, keep their order nonetheless.
	// It is at most Delay.
	Jitter time.Duration
	// Shape is how Jitter is distributed; zero is Uniform. Normal needs a Jitter.
	Shape Shape

	// Rate is bits per second; zero is no limit, the most is 10^12. Headers do
	// not count, nor does what TLS adds around its plaintext on a connection.
	Rate int64
	// Queue is how many bytes wait for the Rate before what follows finds it
	// full; a packet waits until its last bit has left. Then datagrams are
	// dropped, and so are segments of a connection with a congestion window;
	// a connection without one waits, and leaves room for one datagram of full
	// size. What is travelling is not in the queue. Zero is what leaves in
	// 100 ms, at least 15,000 bytes.
	Queue int
	// QueueTime is Queue in time: how long the last byte of a full one waits.
	// Only one of them may be set.
	QueueTime time.Duration
	// PerConnection gives each connection, and each two sockets that exchange
	// datagrams, a Rate and a Queue of its own; else all on the link share one.
	PerConnection bool
	// Buffer is how many bytes of a connection that begins on this Path may be
	// written and not read by the peer before Write blocks, as the buffers of
	// two kernels have it. Zero is no bound in memory, where a blocked Write
	// may stop virtual time (see Streams in memory); relays have one of their
	// own.
	Buffer int

	// Loss is the probability that a packet is lost, from 0 to 1.
	Loss float64
	// Burst loses what is sent in bad times.
	Burst Burst
	// Drop loses the packets that it says, see [Nth] and [First]. It must not
	// block, call the Network or keep state that a repetition of the test would
	// not have.
	Drop func(Packet) bool
	// Congestion governs the connections that begin on this Path; those that
	// are open keep theirs. Zero is Auto.
	Congestion Congestion

	// MaxDatagram is the size of the largest datagram that passes, in bytes of
	// UDP payload; a larger one is dropped without a word. Zero is no limit
	// but that of UDP. Less than 1,200 is refused: QUIC needs a path that
	// carries 1,200 (RFC 9000, section 14), and would not even shake hands.
	MaxDatagram int
	// LossOver loses large datagrams with a probability.
	LossOver SizeLoss
	// Reorder is the probability that a datagram is late by ReorderBy, so that
	// those behind overtake it.
	Reorder float64
	// ReorderBy is how late; zero is a quarter of Delay, at least 1 ms.
	ReorderBy time.Duration
	// Duplicate is the probability that a datagram arrives twice.
	Duplicate float64
	// Corrupt is the probability that one bit of a datagram is turned over.
	Corrupt float64

	// UDP is the path of datagrams, in place of this one, with a Rate of its
	// own. Nil is this one.
	UDP *Path
}

// Shape is a distribution of Jitter.
type Shape uint8

const (
	Uniform Shape = iota // any value is as likely as another
	Normal               // most are close to the mean
)

// Burst is loss that comes in bursts, Gilbert and Elliott's model in time: good
// and bad times follow each other, each of random length. Its zero value is no
// bursts.
type Burst struct {
	// Good and Bad are the mean durations of both, a microsecond or more; their
	// lengths are distributed exponentially.
	Good, Bad time.Duration
	// Loss is the probability of loss in bad times; zero is all.
	Loss float64
}

// SizeLoss is loss that depends on size. Its zero value is none.
type SizeLoss struct {
	// Size is in bytes of UDP payload: larger datagrams are concerned.
	Size int
	// Loss is the probability that one of them is lost; it must be set where
	// anything else here is.
	Loss float64
	// ShortHeader spares datagrams that begin with QUIC's long header (RFC
	// 9000, section 17.2): the handshake passes, what follows is lost.
	ShortHeader bool
}

// Congestion is what limits how much of a connection is on its way.
type Congestion uint8

const (
	// Auto is Cubic where segments are lost, or where both Jitter and Rate are
	// set; else NoWindow.
	Auto Congestion = iota
	// NoWindow sends at once what is written. With a Rate it is refused where
	// there is loss or Jitter: it would flood the queue for ever.
	NoWindow
	// Cubic begins with 10 segments (RFC 6928), then slow start and RFC 9438.
	Cubic
	// Reno begins likewise; then RFC 5681.
	Reno
)

// Link joins two hosts. Its zero value is a perfect one.
type Link struct {
	// Up leads from the first named side to the second, as in
	// SetLink("pc.test", "origin.test", link); Down is the way back. On a link
	// that nothing names, as the default of a Network, Up leads from the host
	// that spoke first (dialled, or sent a datagram), which is the client.
	Up, Down Path
	// Seed makes what is random on the link the same in every run; zero is a
	// seed like any other. A Path that only delays draws nothing from it.
	Seed uint64
}

// clone shares nothing that its owner may go on to change.
func (l Link) clone() Link {
	for _, p := range []*Path{&l.Up, &l.Down} {
		if p.UDP != nil {
			udp := *p.UDP
			p.UDP = &udp
		}
	}
	return l
}

// RTT is a Link whose round trip takes d, half of it each way. An odd
// nanosecond is part of the way down.
func RTT(d time.Duration) Link {
	up := d / 2
	return Link{Up: Path{Delay: up}, Down: Path{Delay: d - up}}
}
