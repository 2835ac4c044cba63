package linkdelay

// maxFlight bounds what a stream with a bound holds in all: what has not come
// due yet is in flight, not in a queue, but it takes memory as well.
const maxFlight = 256 << 20

// ripe counts what has come due and was not read.
type ripe struct{ spans, bytes int }

// full reports whether a writer has to wait until the reader has read.
func (s *stream) full(now instant) bool {
	if s.bound == 0 || s.readerGone {
		return false
	}
	for s.ripe.spans < s.spans.len() && s.spans.at(s.ripe.spans).at <= now {
		s.ripe.bytes += s.spans.at(s.ripe.spans).size
		s.ripe.spans++
	}
	return s.ripe.bytes >= s.bound || s.data.size >= maxFlight
}

// relieve wakes the writers once half of the room is free, not for every byte.
func (s *stream) relieve(read int) {
	if s.bound == 0 {
		return
	}
	before := s.ripe.bytes
	s.ripe.bytes = max(0, before-read)
	if before >= s.bound/2 && s.ripe.bytes < s.bound/2 || s.data.size >= maxFlight/2 {
		s.writer.wake()
	}
}

// portion is how much of a write goes in before the writer looks for room again.
func (s *stream) portion(n int) int {
	if s.bound == 0 {
		return n
	}
	return min(n, s.bound)
}

// counted reports whether ripe has all spans already: the last must not grow.
func (s *stream) counted() bool { return s.ripe.spans == s.spans.len() }

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
