package linkdelay

import (
	"net"
	"sync/atomic"
	"time"
)

// conn is one end of a connection in memory.
type conn struct {
	memory        *memory
	local, remote *Addr
	in, out       *stream
	call          *call // on the dialler's end: the port to give back
	closed        atomic.Bool
	abortive      atomic.Bool // Close resets
}

func newPair(m *memory, c call, up, down *lane) (client, server *conn) {
	there, back := newStream(m.clock, up, down), newStream(m.clock, down, up)
	near, far := newAddr("tcp", c.local), newAddr("tcp", c.remote)
	client = &conn{memory: m, local: near, remote: far, in: back, out: there, call: &c}
	server = &conn{memory: m, local: far, remote: near, in: there, out: back}
	return client, server
}

// Read returns what has arrived, and waits until something has.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.in.read(p)
	return n, c.failed("read", err)
}

// Write never blocks.
func (c *conn) Write(p []byte) (int, error) {
	n, err := c.out.write(p)
	return n, c.failed("write", err)
}

// CloseWrite sends FIN; the other direction goes on.
func (c *conn) CloseWrite() error { return c.failed("close", c.out.finish(false)) }

// Close sends what was written and then FIN, or a reset after SetLinger(0). It
// ends Read and Write on this end at once.
func (c *conn) Close() error {
	if !c.closed.CompareAndSwap(false, true) {
		return c.failed("close", net.ErrClosed)
	}
	c.forget()
	if c.abortive.Load() {
		c.reset(c.memory.clock.now())
		return nil
	}
	c.out.finish(true)
	c.in.abandon()
	return nil
}

// reset ends both directions by a packet that is sent at an instant.
func (c *conn) reset(sent instant) {
	c.forget()
	arrives := c.out.cut(sent)
	c.in.refuse(arrives)
}

// abort ends both directions at once, on both ends.
func (c *conn) abort() {
	c.out.kill()
	c.in.kill()
}

func (c *conn) forget() {
	c.memory.remove(c)
	if c.call != nil {
		c.memory.release(*c.call)
	}
}

// SetLinger with 0 makes Close send a reset, as on a net.TCPConn; anything else
// changes nothing, because Close delivers what was written in any case.
func (c *conn) SetLinger(sec int) error {
	c.abortive.Store(sec == 0)
	return nil
}

func (c *conn) LocalAddr() net.Addr  { return c.local }
func (c *conn) RemoteAddr() net.Addr { return c.remote }

func (c *conn) SetDeadline(t time.Time) error {
	if err := c.SetReadDeadline(t); err != nil {
		return err
	}
	return c.SetWriteDeadline(t)
}

func (c *conn) SetReadDeadline(t time.Time) error {
	return c.failed("set", c.in.setReadDeadline(t))
}

func (c *conn) SetWriteDeadline(t time.Time) error {
	return c.failed("set", c.out.setWriteDeadline(t))
}

func (c *conn) failed(op string, err error) error {
	return opError(op, "tcp", c.local, c.remote, err)
}
