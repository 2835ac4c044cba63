package linkdelay

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

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
	Opened   time.Duration // counted from when the Network, the Relay or the Wrapper was made
	Open     bool          // for datagrams: the socket that began is open
	Up, Down Ledger        // of this flow alone
}

// Stats is what passed a link since it was made.
type Stats struct {
	Up, Down Traffic
	// Flows are those that are open, or of which something is on its way, and
	// the last 1,000 that have ended, in order of opening.
	Flows []Flow

	opened [2]uint64 // flows by kind
}

// Opened is how many flows of a network, "tcp" or "udp", were ever opened.
func (s Stats) Opened(network string) int {
	for k, n := range s.opened {
		if kind(k).String() == network {
			return int(n)
		}
	}
	return 0
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
	s := Stats{opened: wire.ordinals}
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
