package sender

import "time"

// Path is the way that segments take and the one that acknowledgements take
// back. It may keep state, such as a queue that drains at a rate: the sender
// calls it in an order that depends on instants and bytes alone, not on when
// it is advanced.
type Path interface {
	// Send carries a segment that leaves at sent. It says when the segment
	// arrives, or that it does not. An arrival before that of an earlier
	// segment is put off until then, and one at sent itself by a nanosecond:
	// nothing overtakes, and nothing arrives in the instant it was sent.
	Send(sent Instant, s Segment) (arrives Instant, lost bool)
	// Back is when an acknowledgement that leaves the receiver at sent reaches
	// the sender. Acknowledgements are not lost.
	Back(sent Instant) Instant
	// Least is a delay that no segment sent from now on undercuts. Zero is
	// always true; the exact one saves a waiting reader from waking early.
	Least() time.Duration
}

// Segment is one transmission of a segment.
type Segment struct {
	// Offset is where it begins, counted in bytes that have width: what TLS
	// adds around its plaintext has none.
	Offset int64
	Width  int // bytes that have width
	Size   int // all bytes of the stream that it carries, without any header
	// Cell is Offset over the MSS, and Nth the segment's rank among those that
	// begin in that cell. With Attempt, 0 for the first transmission, they name
	// it whatever writes the bytes came from.
	Cell         int64
	Nth, Attempt int
	FIN          bool
}
