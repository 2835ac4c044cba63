package mitm

import (
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// streamConn is a stream of HTTP/2, whose two directions are a body and a
// writer, as a connection with deadlines. Flow control is the stream's: what
// nobody reads is not read from the stream, but for one buffer.
type streamConn struct {
	local, remote net.Addr
	body          io.ReadCloser
	out           streamWriter

	// Of reading. One goroutine at a time reads.
	chunks chan []byte // closed behind the last one
	end    error       // why there is no more; written before chunks is closed
	left   []byte      // of the last chunk
	read   *deadline
	pump   sync.WaitGroup // whoever makes the streamConn waits by finish

	// Of writing.
	turn  chan struct{} // held by who writes, and in the end by finish for ever
	write *deadline

	mu       sync.Mutex // never held while waiting for who writes
	writing  bool       // or ending; guarded by mu
	halfShut bool       // guarded by mu
	finished bool       // out must not be touched anymore; guarded by mu
	reset    bool       // guarded by mu

	once   sync.Once
	closed chan struct{}
}

// streamWriter is what is written to.
type streamWriter interface {
	Write(p []byte) (int, error) // returns when p was handed on
	CloseWrite() error           // ends it, and leaves the other direction open
	Interrupt()                  // ends a Write or CloseWrite that waits, and all that follow; does not wait
}

func newStreamConn(local, remote net.Addr, body io.ReadCloser, out streamWriter) *streamConn {
	c := &streamConn{
		local: local, remote: remote,
		body: body, out: out,
		chunks: make(chan []byte),
		read:   newDeadline(nil),
		turn:   make(chan struct{}, 1),
		closed: make(chan struct{}),
	}
	c.write = newDeadline(c.interrupt)
	c.pump.Go(c.take)
	return c
}

// take reads ahead by one buffer, because a body knows no deadline after which
// it can be read again. A buffer is used again when the one behind it was taken.
func (c *streamConn) take() {
	var buffers [2][bufferSize / 2]byte
	for i := 0; ; i ^= 1 {
		n, err := c.body.Read(buffers[i][:])
		if n > 0 {
			select {
			case c.chunks <- buffers[i][:n]:
			case <-c.closed:
				err = net.ErrClosed
			}
		}
		if err != nil {
			c.end = err
			close(c.chunks)
			return
		}
	}
}

func (c *streamConn) Read(p []byte) (int, error) {
	if isClosed(c.read.wait()) {
		return 0, c.failed("read", os.ErrDeadlineExceeded)
	}
	if len(c.left) == 0 {
		if err := c.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, c.left)
	c.left = c.left[n:]
	return n, nil
}

func (c *streamConn) next() error {
	select {
	case chunk, ok := <-c.chunks:
		switch {
		case ok:
			c.left = chunk
			return nil
		case isClosed(c.closed):
			return c.failed("read", net.ErrClosed)
		case c.end == io.EOF:
			return io.EOF
		}
		return c.failed("read", c.end)
	case <-c.read.wait():
		return c.failed("read", os.ErrDeadlineExceeded)
	case <-c.closed:
		return c.failed("read", net.ErrClosed)
	}
}

func (c *streamConn) Write(p []byte) (int, error) {
	select {
	case c.turn <- struct{}{}:
	case <-c.closed:
		return 0, c.failed("write", net.ErrClosed)
	}
	defer func() { <-c.turn }()
	if err := c.begin(); err != nil {
		return 0, c.failed("write", err)
	}
	defer c.wrote()
	n, err := c.out.Write(p)
	if err != nil {
		err = c.failed("write", c.interrupted(err))
	}
	return n, err
}

// interrupted is why out has failed, which is c's own doing or err.
func (c *streamConn) interrupted(err error) error {
	switch {
	case isClosed(c.closed):
		return net.ErrClosed
	case isClosed(c.write.wait()):
		return os.ErrDeadlineExceeded
	}
	return err
}

func (c *streamConn) begin() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case isClosed(c.closed), c.finished:
		return net.ErrClosed
	case isClosed(c.write.wait()):
		return os.ErrDeadlineExceeded
	case c.halfShut:
		return io.ErrClosedPipe
	}
	c.writing = true
	return nil
}

func (c *streamConn) wrote() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writing = false
}

// interrupt ends a Write or a CloseWrite that waits, if there is one.
func (c *streamConn) interrupt() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.writing && !c.finished {
		c.out.Interrupt()
	}
}

// CloseWrite ends what is written.
func (c *streamConn) CloseWrite() error {
	select {
	case c.turn <- struct{}{}:
	case <-c.closed:
		return c.failed("close", net.ErrClosed)
	}
	defer func() { <-c.turn }()
	if !c.beginEnd() {
		return nil
	}
	defer c.wrote()
	if err := c.out.CloseWrite(); err != nil {
		return c.failed("close", c.interrupted(err))
	}
	return nil
}

// beginEnd reports whether there is something to end.
func (c *streamConn) beginEnd() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.halfShut || c.finished {
		return false
	}
	c.halfShut, c.writing = true, true
	return true
}

// Close ends both directions. It does not wait.
func (c *streamConn) Close() error {
	c.once.Do(func() {
		close(c.closed)
		c.interrupt()
		c.body.Close()
	})
	return nil
}

// finish closes c and returns when nobody touches the stream anymore, and whether
// it is to be reset.
func (c *streamConn) finish() (reset bool) {
	c.Close()
	c.turn <- struct{}{} // who held it was interrupted
	c.pump.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.finished = true
	return c.reset
}

// SetLinger of 0, as of a TCP connection, makes the end of the stream a reset.
func (c *streamConn) SetLinger(seconds int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reset = seconds == 0
	return nil
}

func (c *streamConn) LocalAddr() net.Addr                { return c.local }
func (c *streamConn) RemoteAddr() net.Addr               { return c.remote }
func (c *streamConn) SetReadDeadline(t time.Time) error  { c.read.set(t); return nil }
func (c *streamConn) SetWriteDeadline(t time.Time) error { c.write.set(t); return nil }

func (c *streamConn) SetDeadline(t time.Time) error {
	c.read.set(t)
	c.write.set(t)
	return nil
}

func (c *streamConn) failed(op string, err error) error {
	return &net.OpError{Op: op, Net: "tcp", Source: c.local, Addr: c.remote, Err: err}
}
