package sender

import "time"

// Advance plays everything that happens up to and including now: arrivals,
// acknowledgements, timers, in that order if they fall on one instant, and
// what they make the sender send. Nothing depends on how many calls it takes.
func (s *Sender) Advance(now Instant) {
	for {
		at := s.nextEvent()
		if s.opened && min(at, now) > s.now {
			s.seal() // time moves
			continue
		}
		if at > now {
			break
		}
		s.now = at
		s.play()
	}
	s.now = max(s.now, now)
}

func (s *Sender) nextEvent() Instant {
	at := s.timer.at
	if s.arrivals.size > 0 {
		at = min(at, s.arrivals.front().at)
	}
	if s.acks.size > 0 {
		at = min(at, s.acks.front().at)
	}
	return at
}

func (s *Sender) play() {
	switch {
	case s.arrivals.size > 0 && s.arrivals.front().at <= s.now:
		s.receive(s.arrivals.pop())
	case s.acks.size > 0 && s.acks.front().at <= s.now:
		s.acknowledged(s.acks.pop())
	default:
		s.expired()
	}
}

// Next is when something may happen next, visible or not; before then Advance
// does nothing. Never is not before the next call of Write or Close. A caller
// whose senders share a Path advances them in the order of Next.
func (s *Sender) Next() Instant {
	if s.opened {
		return min(s.nextEvent(), s.now.add(1))
	}
	return s.nextEvent()
}

// NextRead is when a reader that found nothing should look again: not after
// the instant when Readable or Ended changes, and later than the last instant
// that was played. It is early only where the sender has yet to decide.
func (s *Sender) NextRead() Instant {
	if s.arrived > s.read || s.ended {
		return s.now
	}
	least := s.path.Least()
	at := s.decision().add(least)
	if s.opened {
		at = min(at, s.now.add(max(least, time.Nanosecond)))
	}
	if s.expected < s.nxt {
		at = min(at, s.at(s.expected).arrives)
	}
	return at
}

// decision is when the sender may decide to send something that it has not.
func (s *Sender) decision() Instant {
	at := s.timer.at
	if s.acks.size > 0 {
		return min(at, s.acks.front().at)
	}
	if s.arrivals.size > 0 {
		return min(at, s.arrivals.front().at)
	}
	return at
}

// NextSpace is when a writer that found no Space should look again, unless the
// reader reads before.
func (s *Sender) NextSpace() Instant {
	if s.acks.size > 0 && s.acks.front().cumulative > s.una {
		return s.acks.front().at
	}
	return s.Next()
}
