package sender

// timer is the one that a connection has; it is set for one purpose at a time.
type timer struct {
	kind timerKind
	at   Instant // Never if it is not set
}

type timerKind uint8

const (
	noTimer timerKind = iota
	retransmitTimer
	probeTimer
	reorderTimer
)

func (t *timer) set(kind timerKind, at Instant) { t.kind, t.at = kind, at }

func (t *timer) stop() { t.set(noTimer, Never) }

// progress sets the timer anew after an acknowledgement that brought some.
func (s *Sender) progress() {
	if !s.scheduleProbe(true) {
		s.rearm()
	}
}

// rearm sets the retransmission timer. Where it takes over from one of the
// others, the time since the first segment was sent counts.
func (s *Sender) rearm() {
	if s.out() == 0 {
		s.timer.stop()
		return
	}
	at := s.now.add(s.timeout())
	if s.timer.kind == reorderTimer || s.timer.kind == probeTimer {
		at = max(s.headTimeout(), s.now.add(1))
	}
	s.timer.set(retransmitTimer, at)
}

// headTimeout is when the first segment out times out, counted from when it
// was last sent.
func (s *Sender) headTimeout() Instant { return s.at(s.una).sent.add(s.timeout()) }

func (s *Sender) expired() {
	kind := s.timer.kind
	switch kind {
	case reorderTimer:
		s.settled()
	case probeTimer:
		s.sendProbe()
	case retransmitTimer:
		s.timedOut()
	}
}
