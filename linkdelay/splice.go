package linkdelay

import (
	"errors"
	"io"
	"net"
	"sync/atomic"
	"time"
)

// splice joins a socket to one end of a connection over a link: what the
// socket's peer sends goes over the link, and what comes over the link goes to
// the peer; FIN as FIN, a reset as a reset. Two goroutines of a crew do so,
// one for each direction; the second to end closes the socket.
type splice struct {
	crew   *crew
	socket net.Conn
	end    *conn
	begin  instant // before it nothing from the socket goes over the link
	left   atomic.Int32
	broken atomic.Bool // ends by a reset
	drains atomic.Bool // reads only what is there
	half   atomic.Bool // has sent FIN
}

// linkError is what the link answered, in contrast to the socket.
type linkError struct{ error }

// join starts to splice; if the crew is closed, both sides end by a reset.
func (c *crew) join(socket net.Conn, end *conn, begin instant) {
	s := &splice{crew: c, socket: socket, end: end, begin: begin}
	s.left.Store(2)
	if end.through {
		end.in.sendTo(socket)
	}
	c.keep(s)
	if !c.start("copying from a socket to its link", s.send) {
		s.finished()
	}
	if !c.start("copying from a link to its socket", s.receive) {
		s.finished()
	}
}

// abort ends both sides at once.
func (s *splice) abort() {
	s.end.abort()
	s.breaks()
}

// breaks resets the connection of the socket.
func (s *splice) breaks() {
	s.broken.Store(true)
	s.closeSocket()
}

func (s *splice) closeSocket() {
	if tcp, ok := s.socket.(interface{ SetLinger(int) error }); ok && s.broken.Load() {
		tcp.SetLinger(0)
	}
	s.socket.Close()
}

// finished is called at the end of each direction.
func (s *splice) finished() {
	if s.left.Add(-1) > 0 {
		return
	}
	s.crew.drop(s)
	s.closeSocket()
	s.end.Close()
}

// send carries what the socket's peer sends.
func (s *splice) send() {
	defer s.finished()
	if err := s.crew.clock.sleep(s.crew.ctx, s.begin, nil); err != nil {
		return // aborted
	}
	err := s.sendAll()
	var refused *linkError
	switch {
	case err == nil && !s.wasReset():
		s.end.CloseWrite()
	case errors.As(err, &refused):
		s.broken.Store(true) // receive first delivers what came before the refusal
	default:
		s.end.reset(s.crew.clock.now())
		s.breaks()
	}
}

func (s *splice) sendAll() error {
	var buf copyBuffer
	kernel, _ := s.socket.(*net.TCPConn)
	for {
		if s.drains.Load() {
			s.readOn()
		}
		n, err := s.socket.Read(buf.space())
		if n > 0 {
			if _, err := s.end.Write(buf.taken(n)); err != nil {
				return &linkError{err}
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if kernel != nil && n >= smallSplice {
			s.end.out.splice(kernel)
		}
	}
}

// wasReset tells a FIN from a reset of which receive has the error: a write got
// it, or is about to.
func (s *splice) wasReset() bool {
	dead := isDead(s.socket)
	return s.drains.Load() || dead && !s.half.Load()
}

// receive carries what is for the socket's peer.
func (s *splice) receive() {
	defer s.finished()
	err := s.receiveAll()
	var refused *linkError
	switch {
	case err == nil:
		s.finish()
	case errors.As(err, &refused): // a reset came over the link, or an abort
		s.breaks()
	default:
		s.drain()
	}
}

func (s *splice) receiveAll() error {
	var buf copyBuffer
	for {
		n, err := s.end.Read(buf.space())
		if n > 0 {
			if _, err := s.socket.Write(buf.taken(n)); err != nil {
				return err
			}
		}
		var failed *sinkError
		switch {
		case err == io.EOF:
			return nil
		case errors.As(err, &failed):
			return failed.error
		case err != nil:
			return &linkError{err}
		}
	}
}

// finish passes FIN on, and then waits for what may become of the other
// direction: that it is refused, though the peer sends nothing any more, or
// that nobody will read it.
func (s *splice) finish() {
	s.half.Store(true) // before: see wasReset
	if half, ok := s.socket.(interface{ CloseWrite() error }); ok {
		half.CloseWrite()
	}
	switch s.end.out.outcome() {
	case wasRefused:
		s.breaks()
	case wasAbandoned:
		s.closeSocket()
	}
}

// drain is for a socket that takes nothing any more: its peer has reset it. What
// the peer had sent before is still there to be read, and goes first.
func (s *splice) drain() {
	s.broken.Store(true)
	s.end.refuse(s.crew.clock.now())
	s.drains.Store(true)
	s.readOn()
}

// readOn gives a read some time: the reset that ends it is there already.
func (s *splice) readOn() { s.socket.SetReadDeadline(time.Now().Add(time.Second)) }

// copyBuffer grows with what is read at a time: a connection that asks little
// costs little, and one that moves much is as fast as a splice in the kernel.
type copyBuffer struct {
	buf  []byte
	next int
}

const (
	smallCopy = 4 << 10
	largeCopy = 256 << 10
)

func (b *copyBuffer) space() []byte {
	if b.next = max(b.next, smallCopy); len(b.buf) < b.next {
		b.buf = make([]byte, b.next)
	}
	return b.buf
}

func (b *copyBuffer) taken(n int) []byte {
	if n == len(b.buf) {
		b.next = min(4*n, largeCopy)
	}
	return b.buf[:n]
}
