package sender

// receiver puts segments in order and acknowledges each of them at once, with
// what it has beyond the first hole (RFC 2018). The segments themselves say
// which it has.
type receiver struct {
	arrivals ring[transmission]
	acks     ring[ack]
	lastSeen Instant // the last instant in arrivals, and in acks
	lastAck  Instant

	expected int64 // the first that is missing
	arrived  int64 // bytes before it
	ended    bool  // FIN is before it
}

// transmission is on its way to the receiver.
type transmission struct {
	at     Instant
	n      int64
	sent   Instant
	serial uint64
}

// ack is on its way back. Since none is lost, what it selectively acknowledges
// for the first time is the one segment that caused it.
type ack struct {
	transmission
	cumulative int64 // all before it have arrived
	duplicate  bool  // the segment had arrived before (RFC 2883)
}

// coming enters a transmission; none overtakes another.
func (r *receiver) coming(t transmission) Instant {
	r.lastSeen = max(r.lastSeen, t.at)
	t.at = r.lastSeen
	r.arrivals.push(t)
	return t.at
}

func (s *Sender) receive(t transmission) {
	duplicate := t.n < s.expected || s.at(t.n).received
	if !duplicate {
		s.at(t.n).received = true
		s.deliver()
	}
	s.lastAck = max(s.lastAck, s.path.Back(s.now), s.now.add(1))
	t.at = s.lastAck
	s.acks.push(ack{t, s.expected, duplicate})
}

// deliver gives the reader what is in order.
func (s *Sender) deliver() {
	for s.expected < s.nxt {
		g := s.at(s.expected)
		if !g.received {
			return
		}
		s.expected++
		s.arrived += int64(g.size)
		s.ended = s.ended || g.fin
	}
}
