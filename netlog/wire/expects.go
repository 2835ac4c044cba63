package wire

// ExpectsContinue reports whether the request came with Expect: 100-continue,
// which net/http's server takes out of the header on HTTP/2. On HTTP/1.1 it is
// false, because there the header has it, and when the stream is over.
func (s *Stream) ExpectsContinue() bool {
	s.tap.mu.Lock()
	defer s.tap.mu.Unlock()
	h2 := s.tap.openStream(s.id)
	return h2 != nil && h2.expects
}

// RequestEnded reports whether the end of the request has come, so that whoever
// reads its body will not have to wait for the client.
func (s *Stream) RequestEnded() bool {
	s.tap.mu.Lock()
	defer s.tap.mu.Unlock()
	return s.ended()
}

// ended is called with tap.mu held.
func (s *Stream) ended() bool {
	if s.id == 0 {
		return s.whole
	}
	h2 := s.tap.openStream(s.id)
	return h2 == nil || h2.asked
}

// askedAll reports whether what was last asked on HTTP/1.1 has ended; false in a
// tunnel.
func (t *Tap) askedAll() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.last != nil && t.last.whole && !t.opaque
}
