package sender

// recovery is the state that Linux calls that of congestion avoidance.
type recovery struct {
	state      state
	high       int64 // segment that ends the state
	backoff    int   // timeouts since the last acknowledgement
	timeouts   int   // since the last that acknowledged the first segment
	unanswered Instant
	dead       bool

	lastSent Instant
	finSent  bool
}

type state uint8

const (
	open       state = iota
	disordered       // something is selectively acknowledged, or was sent again
	recovering       // fast recovery (RFC 6675)
	losing           // after a timeout
)

// acknowledged takes an acknowledgement.
func (s *Sender) acknowledged(a ack) {
	if s.dead {
		return
	}
	before, marked := s.una, s.lostEver
	delivered := s.score(a)
	advanced := s.una > before
	rearm := advanced || delivered == 1 && s.precedesHead(a)
	if delivered == 1 {
		s.rtt.sample(s.now.since(a.sent), s.una, s.nxt)
		s.backoff = 0
	}
	if advanced {
		s.timeouts = 0
	}
	if s.probing {
		s.probed(a, advanced)
	}
	resend := false
	if !advanced || s.state != open {
		var waiting bool
		resend, waiting = s.alert()
		rearm = rearm && !waiting
	}
	if rearm {
		s.progress()
	}
	s.control(delivered, advanced, s.lostEver > marked)
	if resend {
		s.resendLost()
	}
	s.output()
}

// score updates the scoreboard, and returns how many segments the
// acknowledgement is the first to tell of.
func (s *Sender) score(a ack) int {
	known := a.n < s.una || s.at(a.n).sacked
	if known && a.cumulative <= s.una { // not so if an acknowledgement was cut off
		return 0
	}
	s.rack.heard(a.transmission, s.now.since(a.sent))
	for s.una < a.cumulative {
		s.retire()
	}
	if a.n >= s.una && !known {
		g := s.at(a.n)
		s.unmark(g)
		s.unlist(a.n)
		g.sacked = true
		s.sackedOut++
	}
	return 1
}

// retire takes the first segment off the scoreboard.
func (s *Sender) retire() {
	g := s.at(s.una)
	s.unmark(g)
	s.unlist(s.una)
	if g.sacked {
		s.sackedOut--
	}
	s.acked += int64(g.size)
	s.una++
}

// precedesHead says that what was acknowledged was sent only once, and before
// the first segment was last sent; so that one may still arrive. (If it was
// sent later, starting the timer again would put off the timeout for ever.)
func (s *Sender) precedesHead(a ack) bool {
	return a.n >= s.una && s.at(a.n).tries == 1 && a.serial < s.at(s.una).serial
}

// alert handles an acknowledgement that is not plain progress. It says whether
// to retransmit what is lost, and whether the timer is set to wait for more.
func (s *Sender) alert() (resend, waiting bool) {
	if s.state == recovering && s.una >= s.high {
		s.window.setWindow(s.window.ssthresh)
		s.state = open
	}
	if s.state == losing && s.una >= s.high {
		s.state = open
	}
	resentBefore := s.resentOut
	waiting = s.look()
	switch s.state {
	case recovering:
		return true, waiting
	case losing:
		if s.resentOut >= resentBefore { // no retransmission was lost in turn
			return true, waiting
		}
	default:
		if s.lostOut == 0 {
			s.keepOpen()
			return false, waiting
		}
	}
	s.enterRecovery()
	return true, waiting
}

// keepOpen ends any other state, unless something is amiss.
func (s *Sender) keepOpen() {
	was := s.state
	s.state = open
	if s.leftOut() > 0 || s.resentOut > 0 || s.out() > 0 && s.at(s.una).tries > 1 {
		s.state = disordered
	}
	if s.state != was {
		s.high = s.nxt
	}
}

func (s *Sender) enterRecovery() {
	s.stats.Episodes++
	if s.state != recovering {
		s.collapse()
	}
	s.state = recovering
}

// collapse begins a reduction of the window.
func (s *Sender) collapse() {
	s.high = s.nxt
	s.probing = false
	s.window.collapse()
}

// control changes the window after an acknowledgement.
func (s *Sender) control(delivered int, advanced, lost bool) {
	switch {
	case s.state == recovering:
		s.window.reduce(delivered, advanced, lost, s.pipe())
	case advanced && delivered > 0:
		s.window.grow(s.now, delivered, s.rtt.smooth)
	}
}
