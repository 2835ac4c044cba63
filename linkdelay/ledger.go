package linkdelay

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Count is a number of datagrams, and of bytes of payload.
type Count struct{ Datagrams, Bytes int64 }

func (c *Count) add(packets, bytes int) {
	c.Datagrams += int64(packets)
	c.Bytes += int64(bytes)
}

func (c *Count) take(packets, bytes int) { c.add(-packets, -bytes) }

func (c Count) atMost(o Count) Count {
	return Count{min(c.Datagrams, o.Datagrams), min(c.Bytes, o.Bytes)}
}

func (c *Count) plus(o Count) {
	c.Datagrams += o.Datagrams
	c.Bytes += o.Bytes
}

// String is "3 datagrams, 3600 bytes".
func (c Count) String() string {
	if c.Datagrams == 0 {
		return fmt.Sprintf("%d bytes", c.Bytes)
	}
	return fmt.Sprintf("%d datagrams, %d bytes", c.Datagrams, c.Bytes)
}

// Ledger is what became of what was sent in one direction. At any moment
//
//	In + Duplicated = Delivered + Dropped (all causes) + Queued + InFlight
//
// in bytes, and in datagrams. A stream has no datagrams; a segment of it that
// is lost is sent again, and so its bytes are not dropped but in flight.
type Ledger struct {
	In         Count // was sent: datagrams, or what was written to connections
	Duplicated Count // copies that Path.Duplicate made
	Delivered  Count // has arrived, read or not
	Dropped    map[Cause]Count
	Queued     Count // waits for the Rate, or for the congestion window
	InFlight   Count // travels; or is lost, and sent again

	Reordered, Corrupted int64 // datagrams, delivered all the same

	// Sizes of the largest datagram that was delivered, and that was dropped
	// for any cause.
	LargestDelivered, LargestDropped int

	// Segments are those of connections that a model of a TCP sender governs
	// (see Loss on connections); other connections have none.
	Segments Segments
}

// AllDropped sums the causes.
func (l Ledger) AllDropped() (all Count) {
	for _, c := range l.Dropped {
		all.plus(c)
	}
	return all
}

// travelling reports whether something has neither arrived nor been dropped.
func (l *Ledger) travelling() bool { return l.Queued != Count{} || l.InFlight != Count{} }

// plus adds another ledger.
func (l *Ledger) plus(o Ledger) {
	l.In.plus(o.In)
	l.Duplicated.plus(o.Duplicated)
	l.Delivered.plus(o.Delivered)
	l.Queued.plus(o.Queued)
	l.InFlight.plus(o.InFlight)
	l.Reordered += o.Reordered
	l.Corrupted += o.Corrupted
	l.LargestDelivered = max(l.LargestDelivered, o.LargestDelivered)
	l.LargestDropped = max(l.LargestDropped, o.LargestDropped)
	for c, n := range o.Dropped {
		l.drop(c, n)
	}
	l.Segments.plus(o.Segments)
}

func (l *Ledger) drop(c Cause, n Count) {
	if n == (Count{}) {
		return
	}
	if l.Dropped == nil {
		l.Dropped = make(map[Cause]Count)
	}
	n.plus(l.Dropped[c])
	l.Dropped[c] = n
}

func (l Ledger) clone() Ledger {
	l.Dropped, l.Segments.Lost = maps.Clone(l.Dropped), maps.Clone(l.Segments.Lost)
	return l
}

// String is one line.
func (l Ledger) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "in %v", l.In)
	for _, c := range []struct {
		name string
		n    Count
	}{{"duplicated", l.Duplicated}, {"delivered", l.Delivered}, {"queued", l.Queued}, {"in flight", l.InFlight}} {
		if c.n != (Count{}) {
			fmt.Fprintf(&b, ", %s %v", c.name, c.n)
		}
	}
	for _, why := range slices.Sorted(maps.Keys(l.Dropped)) {
		fmt.Fprintf(&b, ", dropped by %q %v", string(why), l.Dropped[why])
	}
	for _, why := range slices.Sorted(maps.Keys(l.Segments.Lost)) {
		fmt.Fprintf(&b, ", segments lost by %q %d", string(why), l.Segments.Lost[why])
	}
	return b.String()
}

// Segments counts transmissions of segments.
type Segments struct {
	Sent     int64 // repetitions included
	Lost     map[Cause]int64
	Resent   int64 // after the first transmission
	Probes   int64 // tail loss probes among them (RFC 8985, section 7)
	Timeouts int64 // retransmission timeouts
}

func (s *Segments) plus(o Segments) {
	s.Sent += o.Sent
	s.Resent += o.Resent
	s.Probes += o.Probes
	s.Timeouts += o.Timeouts
	if s.Lost == nil && len(o.Lost) > 0 {
		s.Lost = make(map[Cause]int64)
	}
	for c, n := range o.Lost {
		s.Lost[c] += n
	}
}
