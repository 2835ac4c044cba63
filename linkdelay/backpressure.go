package linkdelay

import (
	"math"

	"example.com/wiretest/linkdelay/internal/sender"
)

// maxFlight bounds what a stream with a bound holds in all: what has not come
// due yet is in flight, not in a queue, but it takes memory as well.
const maxFlight = 256 << 20

// room is how many bytes a writer may put in now.
func (s *stream) room(now instant) int {
	switch {
	case !s.bounded() || s.way.flow.stranded || s.readerGone && s.brokenAt == never:
		return math.MaxInt
	case s.readerGone:
		return 0 // the refusal is on its way
	case s.model != nil:
		return max(0, s.model.Space(sender.Instant(now))-s.ripe)
	case s.buffer > 0:
		return max(0, s.buffer-s.data.size)
	case s.data.size >= maxFlight:
		return 0
	}
	return max(0, s.bound-s.ripe-s.unsent)
}

func (s *stream) bounded() bool { return s.bound > 0 || s.buffer > 0 }

// nextRoom is when there may be room although nobody reads.
func (s *stream) nextRoom(now instant) instant {
	at := never
	switch {
	case s.readerGone:
	case s.model != nil:
		at = instant(s.model.NextSpace())
	case s.unsent > 0 && s.buffer == 0:
		at = s.way.line().next()
	}
	return max(at, now+1)
}

// relieve wakes the writers once half of the room is free, not for every byte.
func (s *stream) relieve(read int) {
	if !s.bounded() || read == 0 {
		return
	}
	after, half := s.ripe+s.unsent, (s.bound+1)/2
	if s.buffer > 0 {
		after, half = s.data.size, (s.buffer+1)/2
	}
	if after+read >= half && after < half || s.model != nil || s.data.size >= maxFlight/2 {
		s.writer.wake()
	}
}

// limit bounds a stream that the Path does not.
func (s *stream) limit(bytes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bound == 0 {
		s.bound = bytes
	}
}
