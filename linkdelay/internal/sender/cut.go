package sender

// Cut loses what is on its way at now, segments and acknowledgements alike, as
// when a cable is pulled. What follows is the Path's to decide.
func (s *Sender) Cut(now Instant) {
	s.Advance(now)
	for s.arrivals.size > 0 {
		if n := s.arrivals.pop().n; n >= s.expected {
			s.at(n).arrives = Never
		}
	}
	for s.acks.size > 0 {
		s.acks.pop()
	}
	s.lastSeen, s.lastAck = s.now, s.now
}

// Unsent is how many bytes were written and are in no segment yet.
func (s *Sender) Unsent(now Instant) int {
	s.Advance(now)
	return s.pending.size
}
