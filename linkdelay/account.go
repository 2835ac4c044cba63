package linkdelay

import "example.com/wiretest/linkdelay/internal/sender"

// What became of a stream's bytes, for its Ledger.

// outstanding is how many bytes have not come due, nor were dropped.
func (s *stream) outstanding(now instant) int64 {
	n := int64(s.inSpans() + s.unsent)
	if s.model != nil {
		n += s.modelled - s.arrived(now)
	}
	return n
}

// arrived is how many of the model's bytes have come due.
func (s *stream) arrived(now instant) int64 {
	return s.modelRead + int64(s.readable(now))
}

// readable is how many of the model's bytes may be read: the model knows nothing of
// a pause, which holds the others.
func (s *stream) readable(now instant) int {
	n := s.model.Readable(sender.Instant(now))
	if s.way.lane.paused() {
		n = min(n, s.frozen)
	}
	return n
}

// dropUnsent drops what waits for the line, when a reset follows.
func (s *stream) dropUnsent(why cause) {
	s.way.drop(why, 0, s.unsent)
	s.unsent = 0
}

// dropAll drops what has not come due, and settles the stream: what has may be
// read, nothing follows.
func (s *stream) dropAll(why cause) {
	now := min(s.clock.now(), max(s.endAt, 0))
	s.way.drop(why, 0, int(s.outstanding(now)))
	s.spans, s.unsent = queue[span]{}, 0
	if s.model != nil {
		s.ripened += s.arrived(now)
		s.ripe += s.readable(now)
		s.retire(now)
	}
	s.settled = true
}

// retire ends the model, and keeps what it counted.
func (s *stream) retire(now instant) {
	s.way.segments.plus(segmentsOf(s.model.Stats(sender.Instant(now))))
	s.model = nil
	s.modelled, s.modelRead = 0, 0
	models := s.way.lane.models
	for i, m := range models {
		if m == s {
			s.way.lane.models = append(models[:i], models[i+1:]...)
			return
		}
	}
}

func segmentsOf(s sender.Stats) Segments {
	return Segments{Sent: int64(s.Sent), Resent: int64(s.Resent), Probes: int64(s.Probes), Timeouts: int64(s.Timeouts)}
}

// ledger is what became of the stream's bytes.
func (s *stream) ledger(now instant) Ledger {
	s.play(now)
	s.way.departAll(now)
	l := s.way.ledger()
	rest := s.outstanding(now)
	l.Delivered.Bytes = s.ripened
	waits := int64(s.unsent) + s.way.queued.Bytes
	if s.model != nil {
		l.Delivered.Bytes += s.arrived(now)
		waits += int64(s.model.Unsent(sender.Instant(now)))
		l.Segments.plus(segmentsOf(s.model.Stats(sender.Instant(now))))
	}
	l.Segments.plus(s.way.segments)
	l.Queued.Bytes = min(waits, rest)
	l.InFlight.Bytes = rest - l.Queued.Bytes
	return l
}
