package sender

import "time"

const (
	maxTimeout = 120 * time.Second
	// giveUp is how long retransmissions may go unanswered: what 15 of them
	// take if the first comes after minTimeout.
	giveUp = 924600 * time.Millisecond
)

// timeout is SRTT + max(200 ms, 4 RTTVAR), doubled for each time that it
// elapsed since the last acknowledgement (RFC 6298, sections 2 and 5).
func (s *Sender) timeout() time.Duration {
	t := s.rtt.smooth + s.rtt.vary
	for range s.backoff {
		if t >= maxTimeout {
			break
		}
		t *= 2
	}
	return min(t, maxTimeout)
}

// timedOut takes everything for lost that has been out for a round trip, and
// starts again with the first.
func (s *Sender) timedOut() {
	if s.backoff == 0 {
		s.unanswered = s.now
	}
	if s.now.since(s.unanswered) >= giveUp {
		s.dead = true
		s.timer.stop()
		return
	}
	s.stats.Timeouts++
	s.enterLoss()
	s.resendMarked(s.una)
	s.backoff++
	s.timer.set(retransmitTimer, s.now.add(s.timeout()))
}

func (s *Sender) enterLoss() {
	if s.state <= disordered || s.una >= s.high || s.state == losing && s.timeouts == 0 {
		s.collapse()
	}
	s.timeouts++
	s.markOld()
	s.window.timedOut(s.pipe())
	s.state, s.high = losing, s.nxt
	s.probing = false
}

// markOld spares what was sent too recently to be missed.
func (s *Sender) markOld() {
	s.markLost(s.una)
	for n := s.una + 1; n < s.nxt; n++ {
		if s.now.since(s.at(n).sent) >= s.rack.trip {
			s.markLost(n)
		}
	}
}
