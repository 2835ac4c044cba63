package sender

// segment is what the sender and the receiver know of one. It keeps its bounds
// for life; a retransmission is the same segment sent again.
type segment struct {
	offset  int64 // in bytes that have width
	cell    int64
	sent    Instant // the last transmission
	serial  uint64  // of that transmission; orders those of one instant
	arrives Instant // the first transmission that gets through; Never if none is on its way
	older   int64   // neighbours in the order of transmission
	newer   int64
	width   int32
	size    int32
	nth     int32
	tries   int32 // transmissions so far
	mark
}

// mark is the scoreboard (RFC 6675, section 3).
type mark struct {
	listed   bool // in the order of transmission: in flight for all we know
	sacked   bool
	lost     bool
	resent   bool // retransmitted since it was marked lost
	received bool // the receiver has it
	fin      bool
}

const nobody = -1

// flight is the segments from the first that is not acknowledged to the last
// that was sent, by index: the nth segment of the stream is n.
type flight struct {
	segments []segment // a power of two of them; n is at n modulo their number
	una, nxt int64

	oldest, newest int64 // ends of the order of transmission
	serial         uint64

	sackedOut, lostOut, resentOut int
	lostEver                      int // marks made, ever
	firstLost                     int64
}

func newFlight() flight { return flight{oldest: nobody, newest: nobody} }

func (f *flight) at(n int64) *segment { return &f.segments[n&int64(len(f.segments)-1)] }

// out is how many are not acknowledged, selectively acknowledged ones included.
func (f *flight) out() int { return int(f.nxt - f.una) }

// pipe is how many are in the network, as far as the sender can tell.
func (f *flight) pipe() int { return f.out() - f.sackedOut - f.lostOut + f.resentOut }

func (f *flight) leftOut() int { return f.sackedOut + f.lostOut }

// append makes room for one more and returns its index.
func (f *flight) append(g segment) int64 {
	if f.out() == len(f.segments) {
		f.grow()
	}
	n := f.nxt
	f.nxt++
	*f.at(n) = g
	return n
}

func (f *flight) grow() {
	old := *f
	f.segments = make([]segment, max(16, 2*len(old.segments)))
	for n := f.una; n < f.nxt; n++ {
		*f.at(n) = *old.at(n)
	}
}

// stamp notes a transmission now, the newest of all.
func (f *flight) stamp(n int64, now Instant) {
	f.unlist(n)
	f.serial++
	g := f.at(n)
	g.sent, g.serial = now, f.serial
	g.tries++
	g.listed, g.older, g.newer = true, f.newest, nobody
	if f.newest == nobody {
		f.oldest = n
	} else {
		f.at(f.newest).newer = n
	}
	f.newest = n
}

func (f *flight) unlist(n int64) {
	g := f.at(n)
	if !g.listed {
		return
	}
	g.listed = false
	if g.older == nobody {
		f.oldest = g.newer
	} else {
		f.at(g.older).newer = g.newer
	}
	if g.newer == nobody {
		f.newest = g.older
	} else {
		f.at(g.newer).older = g.older
	}
}

// markLost also takes back a retransmission, which is lost again.
func (f *flight) markLost(n int64) {
	g := f.at(n)
	if g.sacked {
		return
	}
	f.unlist(n)
	if g.resent {
		g.resent = false
		f.resentOut--
	}
	if !g.lost {
		g.lost = true
		f.lostOut++
	}
	f.lostEver++
	f.firstLost = min(f.firstLost, n)
}

// unmark clears what is not true of a segment that was received.
func (f *flight) unmark(g *segment) {
	if g.lost {
		g.lost = false
		f.lostOut--
	}
	if g.resent {
		g.resent = false
		f.resentOut--
	}
}

// nextLost is the first that is lost and not retransmitted, or nobody.
func (f *flight) nextLost() int64 {
	if f.lostOut <= f.resentOut {
		return nobody
	}
	for n := max(f.firstLost, f.una); n < f.nxt; n++ {
		if g := f.at(n); g.lost && !g.resent {
			f.firstLost = n
			return n
		}
	}
	return nobody
}
