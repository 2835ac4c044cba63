package linkdelay

import (
	"io"
	"syscall"

	"example.com/wiretest/linkdelay/internal/sender"
)

// The course of a stream's bytes. On a path that only delays they are spans,
// whose time is known at once; with a Rate they wait in turn for the line to
// become spans; where segments may be lost or a window governs, the model of a
// TCP sender has them.

// play makes ripe what has come due until now, and returns when the first of it
// did; never if nothing has.
func (s *stream) play(now instant) (due instant) {
	lane := s.way.lane
	lane.play(now)
	if s.waiting {
		s.way.line().play(now)
	}
	due = never
	for h := lane.horizon(now); s.spans.len() > 0 && s.spans.front().at <= h; {
		next := s.spans.pop()
		due = min(due, next.at)
		s.ripe += next.size
		s.ripened += int64(next.size)
	}
	if s.model != nil {
		s.model.Advance(sender.Instant(now))
	}
	s.playReset(now)
	return due
}

// playReset ends the stream where a reset arrives: what did not come before
// does not come.
func (s *stream) playReset(now instant) {
	if s.end == nil || s.end == io.EOF || s.settled || s.way.lane.horizon(now) < s.endAt {
		return
	}
	s.dropAll(byAbort)
}

// ended is the error of a read that found nothing; nil is to wait.
func (s *stream) ended(now instant) error {
	lane := s.way.lane
	if s.end != nil && lane.horizon(now) >= s.endAt {
		return s.end
	}
	if s.model != nil && s.end == io.EOF && s.finArrived(now) {
		return io.EOF
	}
	if back := s.way.flow.streams[1-lane.index]; back != nil && back.timedOut(now) {
		return syscall.ETIMEDOUT // the reader's own kernel gave up
	}
	return nil
}

// finArrived is asked when nothing is ripe.
func (s *stream) finArrived(now instant) bool {
	if s.way.lane.paused() {
		return s.endKnown && s.frozen == 0
	}
	return s.spans.len() == 0 && s.model.Readable(sender.Instant(now)) == 0 && s.model.Ended(sender.Instant(now))
}

// next is when there may be something to read; s is played until now.
func (s *stream) next(now instant) instant {
	lane := s.way.lane
	if lane.paused() {
		return never // to resume wakes
	}
	at := s.endAt
	switch {
	case s.spans.len() > 0:
		at = min(at, s.spans.front().at)
	case s.unsent > 0:
		at = min(at, s.way.line().next())
	case s.model != nil:
		at = min(at, instant(s.model.NextRead()))
	}
	if back := s.way.flow.streams[1-lane.index]; back != nil && back.model != nil && back.way.stops() != none {
		at = min(at, instant(back.model.Next())) // it may give up
	}
	return max(at, now+1)
}

// nextEvent is when something changes that Stats shows, also if it was not read.
func (s *stream) nextEvent(now instant) instant {
	at := never
	if s.endAt > now {
		at = s.endAt
	}
	switch {
	case s.model != nil:
		at = min(at, instant(s.model.Next()))
	case s.unsent > 0:
		at = min(at, s.way.line().next())
	}
	if s.spans.len() > 0 && !s.way.lane.paused() {
		at = min(at, s.spans.front().at)
	}
	return at
}

// carry makes bytes a span, which leaves at an instant.
func (s *stream) carry(size int, left instant) {
	w := s.way
	w.last = max(w.last, left.add(w.path().Delay))
	if s.unsent == 0 && s.end == io.EOF && s.model == nil {
		s.endAt = w.last // FIN is right behind
	}
	if s.spans.len() == 0 {
		s.spans.push(span{w.last, size})
		s.alarm.wake() // the readers waited for nothing
		return
	}
	if tail := s.spans.back(); tail.at == w.last {
		tail.size += size
		return
	}
	s.spans.push(span{w.last, size})
}

// stretch adds bytes to the last span, which leaves later for it.
func (s *stream) stretch(size int, left instant) {
	w, tail := s.way, s.spans.back()
	w.last = max(w.last, left.add(w.path().Delay))
	tail.at = w.last
	tail.size += size
}

// queue makes bytes wait for the line.
func (s *stream) queue(p []byte, now instant) {
	if s.widths == nil {
		s.widths = sender.NewWidths()
	}
	idle := s.spans.len() == 0 && s.unsent == 0
	s.widths.Add(p)
	s.unsent += len(p)
	l := s.way.line()
	if s.waiting {
		l.play(now)
	} else {
		l.wait(s, now)
	}
	if idle {
		s.alarm.wake()
	}
}

// adopt gives the stream to the model from now on, with what waits.
func (s *stream) adopt(now instant) {
	at := sender.Instant(now)
	model, err := sender.New(at, s.modelConfig())
	if err != nil {
		panic(err) // the Path was validated
	}
	s.model = model
	s.way.lane.models = append(s.way.lane.models, s)
	s.data.each(s.data.size-s.unsent, func(p []byte) { model.Write(at, p) })
	s.modelled += int64(s.unsent)
	s.unsent = 0
	if s.end == io.EOF && s.endAt == never {
		model.Close(at)
	}
	s.alarm.wake()
}

// modelBuffer is as large as Linux makes the buffer of a socket.
const modelBuffer = 4 << 20

func (s *stream) modelConfig() sender.Config {
	path := s.way.path()
	buffer := s.buffer
	if buffer == 0 {
		buffer = max(s.bound, modelBuffer)
	}
	return sender.Config{
		Path:          segments{s.way},
		RTT:           path.Delay + s.way.backDelay(),
		InitialWindow: s.way.flow.window,
		Congestion:    path.control(),
		Buffer:        buffer,
	}
}

// recall takes back what is on its way, to be sent again.
func (s *stream) recall(now instant) {
	s.unsent += s.inSpans()
	s.spans = queue[span]{}
	if s.end == io.EOF && s.endComing(now) {
		s.endAt = never
	}
}

// endComing reports whether the end has not arrived, be it that a pause holds it.
func (s *stream) endComing(now instant) bool { return s.endAt > s.way.lane.horizon(now) }

func (s *stream) inSpans() (n int) {
	for i := range s.spans.len() {
		n += s.spans.at(i).size
	}
	return n
}

// swallow is what a cut does: all that is on its way is lost, and is sent again.
func (s *stream) swallow(now instant) {
	s.loseReset(now)
	if s.readerGone || s.settled {
		return
	}
	inFlight := s.spans.len() > 0 || s.unsent > 0 || s.end == io.EOF && s.endComing(now) && s.endAt != never
	if s.model == nil && inFlight {
		s.recall(now)
		s.adopt(now)
	}
	if s.model != nil {
		s.model.Cut(sender.Instant(now))
	}
	s.alarm.wake()
	s.writer.wake()
}

// loseReset loses a reset that is on its way, in either direction.
func (s *stream) loseReset(now instant) {
	if s.end != io.EOF && s.endComing(now) {
		s.endAt = never
	}
	if s.brokenAt > now {
		s.brokenAt = never
	}
}

// strand makes the stream one that nothing comes out of any more, not even its
// end.
func (s *stream) strand(now instant) {
	s.loseReset(now)
	if s.endComing(now) {
		s.endAt = never
	}
	s.dropAll(forgotten)
	s.alarm.wake()
	s.writer.wake()
}

// breaks ends the stream now by a reset from the middle, on both sides.
func (s *stream) breaks(now instant) {
	if s.end == nil || s.endComing(now) {
		s.end, s.endAt = syscall.ECONNRESET, now
	}
	s.dropAll(byAbort)
	s.breakAt(now, syscall.ECONNRESET)
	s.alarm.wake()
}

// freeze is what a pause does.
func (s *stream) freeze(now instant) {
	if s.model != nil {
		s.frozen = s.model.Readable(sender.Instant(now))
		s.endKnown = s.model.Ended(sender.Instant(now))
	}
}
