package linkdelay

import (
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// stream is one direction of a connection: a writer puts bytes in, a reader
// takes out what has come due. No goroutine moves anything: a byte's time is
// known when it is written, and the reader waits for it.
type stream struct {
	clock clock
	ahead *lane // carries the bytes
	back  *lane // carries the reset, if nobody reads them

	mu    sync.Mutex
	alarm alarm // the readers'
	data  fifo
	spans queue[span] // when the bytes of data come due
	last  instant     // when the last one does; nothing overtakes it

	bound  int   // of bytes that are due and not read; 0 is none
	ripe   ripe  // those, if there is a bound
	writer alarm // the writers', who wait for room or for the end

	cut cutThrough

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

func newStream(c clock, ahead, back *lane) *stream {
	s := &stream{clock: c, ahead: ahead, back: back, endAt: never, brokenAt: never, readBy: never, writeBy: never}
	s.alarm, s.writer = newAlarm(c, &s.mu), newAlarm(c, &s.mu)
	return s
}

func (s *stream) read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
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
		if n := s.take(p, now); n > 0 {
			return n, nil
		}
		if s.cut.failed != nil {
			return 0, &sinkError{s.cut.failed}
		}
		if now >= s.endAt {
			return 0, s.end
		}
		s.park(min(s.next(), s.readBy))
	}
}

// next is when there is something to read.
func (s *stream) next() instant {
	if s.spans.len() > 0 {
		return s.spans.front().at
	}
	return s.endAt
}

// take fills p with what has come due.
func (s *stream) take(p []byte, now instant) int {
	n := 0
	for n < len(p) && s.spans.len() > 0 {
		head := s.spans.front()
		if head.at > now {
			break
		}
		k := min(head.size, len(p)-n)
		n += k
		head.size -= k
		if head.size == 0 {
			s.spans.pop()
			s.ripe.spans = max(0, s.ripe.spans-1)
		}
	}
	s.data.read(p[:n])
	s.relieve(n)
	return n
}

// write blocks only where there is a bound.
func (s *stream) write(p []byte) (n int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		now := s.clock.now()
		if err := s.writable(now); err != nil {
			return n, err
		}
		if n == len(p) { // nothing to write
			return n, nil
		}
		if s.full(now) {
			s.writer.wait(min(s.writeBy, s.brokenAt))
			continue
		}
		if s.passable() {
			s.pass(p[n:])
			return len(p), nil
		}
		k := s.portion(len(p) - n)
		s.append(p[n:n+k], s.arrival(now))
		if n += k; n == len(p) {
			return n, nil
		}
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
	}
	return nil
}

// arrival is when what is sent now comes due.
func (s *stream) arrival(now instant) instant {
	s.last = max(s.last, now.add(s.ahead.delay()))
	return s.last
}

func (s *stream) append(p []byte, at instant) {
	if s.readerGone {
		s.breakAt(at.add(s.back.delay()), syscall.EPIPE)
		return
	}
	s.data.write(p)
	if s.spans.len() == 0 {
		s.spans.push(span{at, len(p)})
		s.alarm.wake() // the readers waited for nothing
		return
	}
	if tail := s.spans.back(); tail.at == at && !s.counted() {
		tail.size += len(p)
		return
	}
	s.spans.push(span{at, len(p)})
}

// breakAt makes writes fail from an instant on; the earliest counts.
func (s *stream) breakAt(at instant, why error) {
	if at < s.brokenAt {
		s.broken, s.brokenAt = why, at
		s.writer.wake()
	}
}

// finish sends FIN after what was written. With gone, writes are on a closed
// connection from now on.
func (s *stream) finish(gone bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.writerGone {
		return net.ErrClosed
	}
	s.writerGone = gone
	s.writer.wake()
	s.endWith(io.EOF, s.clock.now())
	return nil
}

// reset sends a reset at an instant, after what was written, and returns when it
// arrives. After FIN the reader does not notice.
func (s *stream) reset(sent instant) instant {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writerGone = true
	s.writer.wake()
	s.endWith(syscall.ECONNRESET, sent)
	return max(s.last, sent.add(s.ahead.delay()))
}

// passes is when a packet arrives that is sent at an instant, behind what was
// written.
func (s *stream) passes(sent instant) instant {
	s.mu.Lock()
	defer s.mu.Unlock()
	return max(s.last, sent.add(s.ahead.delay()))
}

func (s *stream) endWith(how error, sent instant) {
	if s.end != nil {
		return
	}
	s.end, s.endAt = how, s.arrival(sent)
	s.alarm.wake()
	s.writer.wake()
}

// abandon is the reader's close. What is unread, or arrives later, is answered
// by a reset.
func (s *stream) abandon() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.spans.len() > 0 {
		refused := max(s.spans.front().at, s.clock.now())
		s.breakAt(refused.add(s.back.delay()), syscall.EPIPE)
	}
	s.deafen()
}

// refuse is the reader's reset, which reaches the writer at an instant.
func (s *stream) refuse(arrives instant) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.breakAt(arrives, syscall.ECONNRESET)
	s.deafen()
}

// kill ends both sides at once, without a packet.
func (s *stream) kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writerGone = true
	s.deafen()
}

func (s *stream) deafen() {
	s.readerGone = true
	s.data.drop()
	s.spans = queue[span]{}
	s.ripe = ripe{}
	s.alarm.stop()
	s.writer.stop()
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
