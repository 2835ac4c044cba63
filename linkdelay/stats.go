package linkdelay

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
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

// Ledger is what became of what was sent in one direction. At any moment
//
//	In + Duplicated = Delivered + Dropped (all causes) + Queued + InFlight
//
// in bytes, and in datagrams. A stream has no datagrams; a segment of it that
// is lost is sent again, and so its bytes are not dropped but in flight.
type Ledger struct {
	In         Count
	Duplicated Count // copies that Path.Duplicate made
	Delivered  Count // has arrived, read or not
	Dropped    map[Cause]Count
	Queued     Count // waits for the Rate, or for the congestion window
	InFlight   Count // travels; or is lost, and sent again

	Reordered, Corrupted int64 // datagrams, delivered all the same

	// Sizes of the largest datagram that was delivered, and that was dropped
	// for any cause.
	LargestDelivered, LargestDropped int

	// Segments of connections, as far as they were modelled.
	Segments Segments
}

// Segments counts transmissions of segments.
type Segments struct {
	Sent     int64 // repetitions included
	Lost     map[Cause]int64
	Resent   int64 // after the first transmission
	Probes   int64 // tail loss probes among them (RFC 8985, section 7)
	Timeouts int64 // retransmission timeouts
}

// AllDropped sums the causes.
func (l Ledger) AllDropped() (all Count) {
	for _, c := range l.Dropped {
		all.plus(c)
	}
	return all
}

// Missing is by how much the equation of a Ledger does not hold: zero.
func (l Ledger) Missing() Count {
	sum := l.In
	sum.plus(l.Duplicated)
	for _, c := range []Count{l.Delivered, l.AllDropped(), l.Queued, l.InFlight} {
		sum.take(int(c.Datagrams), int(c.Bytes))
	}
	return sum
}

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

func (l Ledger) clone() Ledger {
	l.Dropped, l.Segments.Lost = maps.Clone(l.Dropped), maps.Clone(l.Segments.Lost)
	return l
}

// Traffic is one direction of a link.
type Traffic struct {
	Streams, Datagrams Ledger
	// Late says how much later than scheduled things were released to readers
	// that were waiting for them: in virtual time never.
	Late Lateness
}

// Flow is a connection, or the datagrams between two sockets.
type Flow struct {
	Network string // "tcp" or "udp"
	// From and To are the addresses on the side that Up leads from, and on the
	// other.
	From, To string
	Opened   time.Duration // counted from when the Network or the relay was made
	Open     bool          // for datagrams: the socket that began is open
	Up, Down Ledger
}

// Stats is what passed a link since it was made.
type Stats struct {
	Up, Down Traffic
	// Flows are those that are open, and the last 1,000 that have ended, in
	// order of opening.
	Flows []Flow
}

// Open is how many flows of a network, "tcp" or "udp", are open.
func (s Stats) Open(network string) (n int) {
	for _, f := range s.Flows {
		if f.Open && f.Network == network {
			n++
		}
	}
	return n
}

// keptFlows is how many flows that have ended Stats lists.
const keptFlows = 1000

// tally is a Ledger that is being written, under the wire's mutex.
type tally struct {
	in, duplicated       Count
	dropped              [causes]Count
	lost                 [causes]int64 // segments
	reordered, corrupted int64
	largestDropped       int
}

// arrivals is the part that the mailbox at the far end writes, under its own
// mutex.
type arrivals struct {
	coming     Count
	delivered  Count
	noReceiver Count
	unread     Count

	largestDelivered, largestDropped int
}

func (t *tally) drop(why cause, packets, bytes int) {
	t.dropped[why].add(packets, bytes)
	if packets > 0 {
		t.largestDropped = max(t.largestDropped, bytes)
	}
}

func (t *tally) ledger() Ledger {
	l := Ledger{
		In: t.in, Duplicated: t.duplicated,
		Reordered: t.reordered, Corrupted: t.corrupted, LargestDropped: t.largestDropped,
	}
	for c := none + 1; c < causes; c++ {
		l.drop(c.public(), t.dropped[c])
		if t.lost[c] > 0 {
			l.Segments.plus(Segments{Lost: map[Cause]int64{c.public(): t.lost[c]}})
		}
	}
	return l
}

// Stats is what has passed until now.
func (w *Wire) Stats() Stats {
	w.wire.mu.Lock()
	defer w.wire.mu.Unlock()
	return w.stats(w.wire.clock.now())
}

// stats looks from the side that Up leads from.
func (w *Wire) stats(now instant) Stats {
	wire, up := w.wire, w.wire.from(w.from)
	wire.play(now)
	var s Stats
	s.Up.Late, s.Down.Late = wire.lanes[up].late.read(), wire.lanes[1-up].late.read()
	s.Up.Streams, s.Up.Datagrams = wire.past[up][streams].clone(), wire.past[up][datagrams].clone()
	s.Down.Streams, s.Down.Datagrams = wire.past[1-up][streams].clone(), wire.past[1-up][datagrams].clone()
	for _, f := range wire.ended {
		s.add(f, up, now)
	}
	for _, f := range wire.open {
		s.add(f, up, now)
	}
	slices.SortStableFunc(s.Flows, func(a, b Flow) int { return cmp.Compare(a.Opened, b.Opened) })
	return s
}

func (s *Stats) add(f *flow, up int, now instant) {
	out := Flow{
		Network: f.kind.String(), From: f.ends[up], To: f.ends[1-up],
		Opened: time.Duration(f.opened), Open: f.users > 0,
		Up: f.ledger(up, now), Down: f.ledger(1-up, now),
	}
	s.Flows = append(s.Flows, out)
	if f.kind == streams {
		s.Up.Streams.plus(out.Up)
		s.Down.Streams.plus(out.Down)
		return
	}
	s.Up.Datagrams.plus(out.Up)
	s.Down.Datagrams.plus(out.Down)
}

// String is a table of the directions, for messages.
func (s Stats) String() string {
	var b strings.Builder
	for _, t := range []struct {
		name string
		l    Ledger
	}{
		{"up, streams", s.Up.Streams}, {"down, streams", s.Down.Streams},
		{"up, datagrams", s.Up.Datagrams}, {"down, datagrams", s.Down.Datagrams},
	} {
		if t.l.In != (Count{}) {
			fmt.Fprintf(&b, "%s: %s\n", t.name, t.l)
		}
	}
	fmt.Fprintf(&b, "open: %d connections, %d pairs of sockets", s.Open("tcp"), s.Open("udp"))
	return b.String()
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

// String is "3 datagrams, 3600 bytes".
func (c Count) String() string {
	if c.Datagrams == 0 {
		return fmt.Sprintf("%d bytes", c.Bytes)
	}
	return fmt.Sprintf("%d datagrams, %d bytes", c.Datagrams, c.Bytes)
}
