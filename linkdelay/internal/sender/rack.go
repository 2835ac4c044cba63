package sender

import "time"

// rack finds losses by time (RFC 8985, section 6): what was sent before
// something that has arrived, and is not acknowledged, is lost, unless it may
// merely have been overtaken.
type rack struct {
	serial  uint64        // the newest transmission known to have arrived
	trip    time.Duration // its round trip
	fresh   bool          // heard of something since the last look
	reorder time.Duration // how long to wait for what was overtaken
}

const (
	// dupThresh is how many selective acknowledgements leave no doubt.
	dupThresh = 3
	// reorderShare of the smallest round trip is otherwise the time to wait.
	reorderShare = 4
)

func (r *rack) heard(t transmission, trip time.Duration) {
	r.fresh = true
	r.trip = trip
	r.serial = max(r.serial, t.serial)
}

// reordering is the time to wait before what was overtaken is lost.
func (s *Sender) reordering() time.Duration {
	if s.state >= recovering || s.sackedOut >= dupThresh {
		return 0
	}
	return min(s.rtt.least/reorderShare, s.rtt.smooth)
}

// detect marks what is lost, in the order of transmission, and returns how
// long to wait for the rest of what was overtaken; zero is not at all.
func (s *Sender) detect() time.Duration {
	var wait time.Duration
	grace := s.rack.trip + s.reordering()
	for n := s.oldest; n != nobody; {
		g := s.at(n)
		if g.serial >= s.rack.serial {
			break
		}
		next := g.newer
		if left := grace - s.now.since(g.sent); left > 0 {
			wait = max(wait, left)
		} else {
			s.markLost(n)
		}
		n = next
	}
	return wait
}

// look detects losses after an acknowledgement. It says whether it had to set
// the timer.
func (s *Sender) look() bool {
	if !s.rack.fresh {
		return false
	}
	s.rack.fresh = false
	wait := s.detect()
	if wait > 0 {
		s.timer.set(reorderTimer, s.now.add(wait))
	}
	return wait > 0
}

// settled is the end of the wait.
func (s *Sender) settled() {
	before := s.pipe()
	s.detect()
	if s.pipe() != before {
		if s.state != recovering {
			s.enterRecovery()
			s.window.reduce(1, false, false, s.pipe())
		}
		s.resendLost()
	}
	if s.timer.kind != retransmitTimer {
		s.rearm()
	}
}
