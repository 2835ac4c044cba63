package linkdelay

import (
	"io"
	"net"
	"syscall"

	"example.com/wiretest/linkdelay/internal/sender"
)

// The ends of a stream: its writer's, by FIN or by a reset, and its reader's, of
// which the writer hears by a reset that comes back.

// finish sends FIN after what was written. With gone, writes are on a closed
// connection from now on.
func (s *stream) finish(gone bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.writerGone {
		return net.ErrClosed
	}
	s.writerGone = gone
	s.endWith(io.EOF, s.clock.now())
	s.writer.wake()
	return nil
}

// reset sends a reset at an instant, after what was written, and returns when it
// arrives. After FIN the reader does not notice.
func (s *stream) reset(sent instant) instant {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writerGone = true
	s.endWith(syscall.ECONNRESET, sent)
	s.writer.wake()
	return s.resetArrives(sent)
}

// passes is when a packet arrives that is sent at an instant, behind what was
// written.
func (s *stream) passes(sent instant) instant {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.resetArrives(sent)
}

func (s *stream) resetArrives(sent instant) instant {
	if s.way.stops() != none {
		return never // a reset is not sent again
	}
	return max(s.way.last, s.way.line().passes(sent).add(s.way.path().Delay))
}

func (s *stream) endWith(how error, sent instant) {
	if s.end != nil {
		return
	}
	s.play(s.clock.now())
	s.end = how
	switch {
	case s.way.flow.stranded:
	case how != io.EOF:
		s.dropUnsent(byAbort)
		if s.way.stops() == none {
			s.endAt = s.way.arrival(sent)
		}
	case s.model == nil && s.way.stops() != none:
		s.adopt(s.clock.now())
		s.model.Close(sender.Instant(sent))
	case s.model != nil:
		s.model.Close(sender.Instant(sent))
	case s.unsent == 0:
		s.endAt = s.way.arrival(sent)
	}
	s.alarm.wake()
	s.writer.wake()
}

// abandon is the reader's close. What is unread, or arrives later, is answered
// by a reset.
func (s *stream) abandon() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.now()
	s.play(now)
	if at := s.refusedAt(now); at != never {
		s.breakAt(at.add(s.way.backDelay()), syscall.EPIPE)
	}
	s.deafen(noReceiver)
}

// refusedAt is when the first byte comes, or came, that nobody will read.
func (s *stream) refusedAt(now instant) instant {
	switch {
	case s.way.flow.stranded:
	case s.ripe > 0:
		return now
	case s.spans.len() > 0:
		return max(s.spans.front().at, now)
	case s.unsent > 0:
		return s.way.arrival(now)
	case s.model != nil && s.readable(now) > 0:
		return now
	case s.model != nil && s.outstanding(now) > 0:
		return s.way.arrival(now)
	}
	return never
}

// refuse is the reader's reset, which reaches the writer at an instant.
func (s *stream) refuse(arrives instant) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.play(s.clock.now())
	s.breakAt(arrives, syscall.ECONNRESET)
	s.deafen(noReceiver)
}

// kill ends both sides at once, without a packet.
func (s *stream) kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writerGone = true
	s.deafen(byAbort)
}

// breakAt makes writes fail from an instant on; the earliest counts.
func (s *stream) breakAt(at instant, why error) {
	if at < s.brokenAt {
		s.broken, s.brokenAt = why, at
		s.writer.wake()
	}
}

func (s *stream) deafen(why cause) {
	s.dropAll(why)
	s.readerGone = true
	s.data.drop()
	s.ripe = 0
	s.alarm.stop()
	s.writer.stop()
}

// outcome is what became of what a writer has written.
type outcome int

const (
	wasFinished  outcome = iota // the writer has ended it
	wasRefused                  // the peer has reset it
	wasAbandoned                // the peer is closed, but nothing has come to it yet
)

// outcome waits until that is known.
func (s *stream) outcome() outcome {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		switch {
		case s.clock.now() >= s.brokenAt:
			return wasRefused
		case s.writerGone || s.end != nil:
			return wasFinished
		case s.readerGone && s.brokenAt == never:
			return wasAbandoned
		}
		s.writer.wait(s.brokenAt)
	}
}
