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
	s.alarm = newAlarm(c, &s.mu)
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
		if now >= s.endAt {
			return 0, s.end
		}
		s.alarm.wait(min(s.next(), s.readBy))
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
		}
	}
	s.data.read(p[:n])
	return n
}

func (s *stream) write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.now()
	switch {
	case s.writerGone:
		return 0, net.ErrClosed
	case now >= s.writeBy:
		return 0, os.ErrDeadlineExceeded
	case now >= s.brokenAt:
		return 0, s.broken
	case s.end != nil:
		return 0, syscall.EPIPE // after CloseWrite
	case len(p) == 0:
		return 0, nil
	}
	s.append(p, s.arrival(now))
	return len(p), nil
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
	if tail := s.spans.back(); tail.at == at {
		tail.size += len(p)
		return
	}
	s.spans.push(span{at, len(p)})
}

// breakAt makes writes fail from an instant on; the earliest counts.
func (s *stream) breakAt(at instant, why error) {
	if at < s.brokenAt {
		s.broken, s.brokenAt = why, at
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
	s.endWith(io.EOF, s.clock.now())
	return nil
}

// cut sends a reset at an instant, after what was written, and returns when it
// arrives. After FIN the reader does not notice.
func (s *stream) cut(sent instant) instant {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writerGone = true
	s.endWith(syscall.ECONNRESET, sent)
	return max(s.last, sent.add(s.ahead.delay()))
}

func (s *stream) endWith(how error, sent instant) {
	if s.end != nil {
		return
	}
	s.end, s.endAt = how, s.arrival(sent)
	s.alarm.wake()
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
	s.alarm.stop()
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
	return nil
}
