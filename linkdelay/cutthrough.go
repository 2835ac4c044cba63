package linkdelay

import (
	"io"
	"net"
)

// cutThrough lets a writer hand its bytes to where the reader would write them:
// on a path that does nothing, a relay is then as fast as one that only copies.
// It is for streams with one writer and one reader, both of a relay.
type cutThrough struct {
	sink   net.Conn // nil is no cut-through
	parked bool     // the reader waits, and so holds nothing that goes first
	failed error    // what the sink came to, for the reader to see
}

// sinkError is what the sink came to, in contrast to the link.
type sinkError struct{ error }

// sendTo makes the reader's socket the sink.
func (s *stream) sendTo(socket net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cut.sink = socket
}

// passable reports whether nothing is on the way, and nothing is done to what
// would be written now.
func (s *stream) passable() bool {
	return s.cut.sink != nil && s.cut.parked && s.cut.failed == nil && s.empty() && s.way.clear()
}

// pass writes to the sink, for as long as that takes, without the mutex. The
// reader goes on waiting: only the writer could give it something to do. A
// failure is the reader's to handle, as if it had written.
func (s *stream) pass(p []byte) {
	s.count(len(p))
	sink := s.cut.sink
	s.mu.Unlock()
	_, err := sink.Write(p)
	s.mu.Lock()
	if err != nil {
		s.cut.failed = err
		s.alarm.wake()
	}
}

// splice moves what can be read from a socket at once to the sink, where the
// kernel can do so without copying. An error shows again when the next bytes
// are read or written.
func (s *stream) splice(from *net.TCPConn) {
	for {
		n := available(from)
		to := s.kernelSink()
		if n < smallSplice || to == nil {
			return
		}
		moved, err := io.CopyN(to, from, int64(n))
		s.moved(int(moved))
		if err != nil {
			return
		}
	}
}

// smallSplice is too little for a splice to be worth its trouble.
const smallSplice = 32 << 10

// kernelSink is the sink if what is written now may go there, and by the kernel.
func (s *stream) kernelSink() *net.TCPConn {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.writable(s.clock.now()) != nil || !s.passable() {
		return nil
	}
	to, _ := s.cut.sink.(*net.TCPConn)
	return to
}

// park waits as a reader.
func (s *stream) park(until instant) {
	s.cut.parked = true
	s.alarm.wait(until)
	s.cut.parked = false
}

// empty reports whether nothing is on its way.
func (s *stream) empty() bool {
	return s.spans.len() == 0 && s.unsent == 0 && s.ripe == 0 && s.model == nil
}

// clear reports whether nothing is done to what passes.
func (w *way) clear() bool {
	p := w.path()
	return p.Delay == 0 && p.Rate == 0 && !p.modelled() &&
		w.stops() == none && !w.lane.paused() && w.lane.wire.limit == Count{}
}

// moved counts what went to the sink.
func (s *stream) moved(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count(n)
}

func (s *stream) count(n int) {
	s.way.in.Bytes += int64(n)
	s.ripened += int64(n)
	s.way.lane.wire.changed()
}
