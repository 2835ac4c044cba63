package sender

// restart shrinks the window of a connection that was idle for longer than its
// timeout (RFC 5681, section 4.1).
func (s *Sender) restart() {
	if s.out() > 0 || s.waiting() {
		return
	}
	if idle := s.now.since(s.lastSent); idle > s.timeout() {
		s.window.restart(idle, s.timeout())
	}
}

// waiting says that there is something to send that is in no segment.
func (s *Sender) waiting() bool {
	return s.pending.size > 0 || s.ending && !s.finSent
}

// output sends what the window lets pass. The last segment of an instant stays
// open until time moves, so that the writes of one instant are cut as one.
func (s *Sender) output() {
	s.extend()
	sent, limited := 0, false
	for s.waiting() {
		if limited = s.pipe() >= s.window.cwnd; limited {
			break
		}
		s.begin()
		sent++
	}
	s.account(sent, limited)
}

// account is what follows a round of sending new segments.
func (s *Sender) account(sent int, limited bool) {
	limited = limited || s.pipe() >= s.window.cwnd
	if sent > 0 || limited {
		s.window.used(limited, s.una, s.nxt)
	}
	if sent == 0 {
		return
	}
	if s.state == recovering {
		s.window.prrOut += sent
	}
	s.scheduleProbe(false)
}

// extend lets the open segment grow to the end of its cell.
func (s *Sender) extend() {
	if s.opened {
		s.fill(s.at(s.nxt - 1))
	}
}

func (s *Sender) fill(g *segment) {
	room := s.mss - s.cutAt%s.mss
	if g.width > 0 && s.cutAt%s.mss == 0 {
		room = 0
	}
	width, size := s.pending.cut(int(room))
	g.width += int32(width)
	g.size += int32(size)
	s.cutAt += int64(width)
	if s.ending && s.pending.size == 0 && !s.finSent {
		g.fin, s.finSent = true, true
	}
}

// begin sends a new segment.
func (s *Sender) begin() {
	s.seal()
	first := s.out() == 0
	n := s.append(s.cut())
	s.fill(s.at(n))
	s.stamp(n, s.now)
	s.opened, s.lastSent = true, s.now
	if first || s.timer.kind == probeTimer {
		s.rearm()
	}
}

// cut is an empty segment in its place. Cells lie at multiples of the MSS of
// the whole stream: where segments end does not depend on where they began.
func (s *Sender) cut() segment {
	cell := s.cutAt / s.mss
	s.nth++
	if cell != s.cell {
		s.cell, s.nth = cell, 0
	}
	return segment{offset: s.cutAt, cell: cell, nth: s.nth, arrives: Never}
}

// seal hands the open segment to the path; it left in this instant.
func (s *Sender) seal() {
	if !s.opened {
		return
	}
	s.opened = false
	s.launch(s.nxt - 1)
}

// launch hands a transmission to the path.
func (s *Sender) launch(n int64) {
	g := s.at(n)
	arrives, lost := s.path.Send(g.sent, Segment{
		Offset: g.offset, Width: int(g.width), Size: int(g.size),
		Cell: g.cell, Nth: int(g.nth), Attempt: int(g.tries) - 1, FIN: g.fin,
	})
	s.stats.Sent++
	if g.tries > 1 {
		s.stats.Resent++
	}
	if lost {
		s.stats.Lost++
		return
	}
	at := s.coming(transmission{at: max(arrives, g.sent.add(1)), n: n, sent: g.sent, serial: g.serial})
	g.arrives = min(g.arrives, at)
}

// resend sends a segment again, now.
func (s *Sender) resend(n int64) {
	s.seal() // else n could be open still
	s.stamp(n, s.now)
	s.lastSent = s.now
	s.launch(n)
}

// resendLost retransmits what is lost, as far as the window allows.
func (s *Sender) resendLost() {
	head := false
	for s.pipe() < s.window.cwnd {
		n := s.nextLost()
		if n == nobody {
			break
		}
		s.resendMarked(n)
		if s.state == recovering {
			s.window.prrOut++
		}
		head = head || n == s.una && s.timer.kind != reorderTimer
	}
	if head {
		s.timer.set(retransmitTimer, s.now.add(s.timeout()))
	}
}

// resendMarked counts the retransmission as in the network.
func (s *Sender) resendMarked(n int64) {
	s.at(n).resent = true
	s.resentOut++
	s.resend(n)
}
