package sender

import "time"

// probe is the tail loss probe (RFC 8985, section 7): when nothing is heard for
// two round trips, the last segment is sent again, or a new one, so that its
// acknowledgement tells what is missing long before the timeout would.
type probe struct {
	probing   bool  // one is out
	probeHigh int64 // sent when nxt was this
	probeOld  bool  // it was a retransmission
}

const (
	// probeSlack is two ticks of a clock at 250 Hz.
	probeSlack = 8 * time.Millisecond
	// probeAlone more, where the acknowledgement of a single segment might be
	// a delayed one.
	probeAlone = 200 * time.Millisecond
)

// scheduleProbe sets the timer for a probe where one may be sent. Once the
// retransmission timer would start from now, if anew.
func (s *Sender) scheduleProbe(anew bool) bool {
	if s.out() == 0 || s.state != open {
		return false
	}
	wait := 2*s.rtt.smooth + probeSlack
	if s.out() == 1 {
		wait = 2*s.rtt.smooth + probeSlack + probeAlone
	}
	at := s.now.add(wait)
	timeout := s.headTimeout()
	if anew {
		timeout = s.now.add(s.timeout())
	}
	if timeout > s.now {
		at = min(at, timeout)
	}
	s.timer.set(probeTimer, at)
	return true
}

func (s *Sender) sendProbe() {
	if s.probing {
		s.rearm()
		return
	}
	s.probeOld = !s.waiting()
	if s.probeOld {
		s.resend(s.nxt - 1)
	} else {
		s.begin()
		s.account(1, false)
	}
	s.stats.Probes++
	s.probing, s.probeHigh = true, s.nxt
	s.timer.set(noTimer, Never) // so that the timeout starts from now
	s.rearm()
}

// probed takes an acknowledgement while a probe is out (section 7.4).
func (s *Sender) probed(a ack, advanced bool) {
	switch {
	case a.cumulative < s.probeHigh:
	case !s.probeOld:
		s.probing = false
	case a.duplicate: // so there was no loss
		s.probing = false
	case a.cumulative > s.probeHigh: // the probe repaired one
		s.collapse()
		s.window.setWindow(s.window.ssthresh)
		s.keepOpen()
	}
}
