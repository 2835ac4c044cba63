package linkdelay

import (
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"example.com/wiretest/linkdelay/internal/sender"
)

// stream is one direction of a connection: a writer puts bytes in, a reader
// takes out what has come due. No goroutine moves anything: a byte's time is
// known when it is written, or can be computed when somebody waits for it.
type stream struct {
	clock clock
	way   *way

	mu     *sync.Mutex // of the wire
	alarm  alarm       // the readers'
	writer alarm       // the writers', who wait for room or for the end
	bound  int         // of bytes that wait to be sent or read; 0 is none
	buffer int         // of bytes that were written and not read; 0 is no bound

	// The bytes in order: those that have come due, those on their way, and
	// those that wait for the line; or else the model knows.
	data   fifo
	ripe   int
	spans  queue[span]
	unsent int
	model  *sender.Sender

	widths  *sender.Widths // of unsent
	cutAt   int64          // bytes with width that are in segments
	waiting bool           // for its line
	writing bool           // a write is under way, and others wait

	cut cutThrough

	ripened   int64 // bytes that were ever in spans and have come due
	modelled  int64 // that the model got
	modelRead int64 // of those
	settled   bool  // nothing more becomes of its bytes

	frozen   int // bytes of the model's that may be read while the lane is paused
	endKnown bool

	end   error // how it ends, after the last byte: io.EOF or a reset; nil is not yet
	endAt instant

	broken   error // what Write returns once the peer has refused bytes
	brokenAt instant

	readBy, writeBy        instant // deadlines
	readerGone, writerGone bool    // closed by their owners
}

// span is bytes that come due together.
type span struct {
	at   instant
	size int
}

func newStream(w *way) *stream {
	wire := w.lane.wire
	s := &stream{
		clock: wire.clock, way: w, mu: &wire.mu, buffer: w.path().Buffer,
		endAt: never, brokenAt: never, readBy: never, writeBy: never,
	}
	s.alarm, s.writer = newAlarm(s.clock, s.mu), newAlarm(s.clock, s.mu)
	return s
}

func (s *stream) read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	waited := false
	for {
		now := s.clock.now()
		switch {
		case s.readerGone:
			return 0, net.ErrClosed
		case now >= s.readBy:
			return 0, os.ErrDeadlineExceeded
		case len(p) == 0:
			return 0, nil
		}
		due := s.play(now)
		if n := s.take(p, now); n > 0 {
			if waited && due != never {
				s.way.lane.late.note(time.Duration(now - due))
			}
			return n, nil
		}
		if s.cut.failed != nil {
			return 0, &sinkError{s.cut.failed}
		}
		if err := s.ended(now); err != nil {
			return 0, err
		}
		waited = true
		s.park(min(s.next(now), s.readBy))
	}
}

// take fills p with what has come due.
func (s *stream) take(p []byte, now instant) int {
	n := min(len(p), s.ripe)
	s.ripe -= n
	if n < len(p) && s.model != nil {
		n += s.takeFromModel(len(p)-n, now)
	}
	s.data.read(p[:n])
	s.relieve(n)
	return n
}

func (s *stream) takeFromModel(most int, now instant) int {
	if s.spans.len() > 0 || s.ripe > 0 {
		return 0 // they are before
	}
	n := s.model.Read(sender.Instant(now), min(most, s.readable(now)))
	s.frozen -= n
	s.modelRead += int64(n)
	return n
}

// write blocks only where there is a bound.
func (s *stream) write(p []byte) (n int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	turn := false
	defer func() { s.yield(turn) }()
	for {
		now := s.clock.now()
		if err := s.writable(now); err != nil {
			return n, err
		}
		if n == len(p) {
			return n, nil
		}
		if s.writing && !turn {
			s.writer.wait(min(s.writeBy, s.brokenAt))
			continue
		}
		s.play(now)
		if s.passable() {
			s.pass(p[n:])
			return len(p), nil
		}
		if room := s.room(now); room > 0 {
			k := min(room, len(p)-n)
			s.put(p[n:n+k], now)
			n += k
			continue
		}
		s.writing, turn = true, true
		s.writer.wait(min(s.nextRoom(now), s.writeBy, s.brokenAt))
	}
}

// yield lets the next write go on.
func (s *stream) yield(turn bool) {
	if turn {
		s.writing = false
		s.writer.wake()
	}
}

func (s *stream) writable(now instant) error {
	switch {
	case s.writerGone:
		return net.ErrClosed
	case now >= s.writeBy:
		return os.ErrDeadlineExceeded
	case now >= s.brokenAt:
		return s.broken
	case s.end != nil:
		return syscall.EPIPE // after CloseWrite
	case s.timedOut(now):
		return syscall.ETIMEDOUT
	}
	return nil
}

// timedOut reports whether the writer's kernel gave up.
func (s *stream) timedOut(now instant) bool {
	return s.model != nil && s.model.TimedOut(sender.Instant(now))
}

// put sends p now.
func (s *stream) put(p []byte, now instant) {
	s.way.in.Bytes += int64(len(p))
	wire := s.way.lane.wire
	switch {
	case s.way.flow.stranded:
		s.way.drop(forgotten, 0, len(p))
	case s.readerGone:
		s.way.drop(noReceiver, 0, len(p))
		s.breakAt(s.way.arrival(now).add(s.way.backDelay()), syscall.EPIPE)
	default:
		p = s.upToTheBlock(p, now)
		s.send(p, now)
	}
	wire.passed(0, len(p))
}

// upToTheBlock sends what may still pass before BlockAfter, and returns the rest.
func (s *stream) upToTheBlock(p []byte, now instant) []byte {
	wire := s.way.lane.wire
	if k := wire.allowed(len(p)); k < len(p) {
		s.send(p[:k], now)
		wire.passed(0, k)
		return p[k:]
	}
	return p
}

func (s *stream) send(p []byte, now instant) {
	if len(p) == 0 {
		return
	}
	if s.model == nil && (s.way.path().modelled() || s.way.stops() != none) {
		s.adopt(now)
	}
	s.data.write(p)
	switch {
	case s.model != nil:
		s.modelled += int64(len(p))
		s.model.Write(sender.Instant(now), p)
		s.alarm.wake()
	case s.way.line().rate > 0 || s.unsent > 0:
		s.queue(p, now)
	default:
		s.carry(len(p), now)
	}
}

func (s *stream) setReadDeadline(t time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.readerGone {
		return net.ErrClosed
	}
	s.readBy = s.clock.at(t)
	s.alarm.wake()
	return nil
}

func (s *stream) setWriteDeadline(t time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.writerGone {
		return net.ErrClosed
	}
	s.writeBy = s.clock.at(t)
	s.writer.wake()
	return nil
}
