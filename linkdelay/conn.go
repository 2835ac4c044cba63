package linkdelay

import (
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// conn is one end of a connection over a link.
type conn struct {
	clock         clock
	local, remote net.Addr
	in, out       *stream
	flow          *flow
	left          sync.Once // the flow
	gone          func()    // called when it closes, perhaps again
	through       bool      // both ends are spliced: see cutThrough
	closed        atomic.Bool
	abortive      atomic.Bool // Close resets
}

// newPair makes both ends of a connection, once it is established. The first is
// the one that lane from leads away from.
func newPair(f *flow, from int, near, far net.Addr) (client, server *conn) {
	f.carry()
	there, back := f.streams[from], f.streams[1-from]
	client = &conn{clock: f.wire.clock, flow: f, local: near, remote: far, in: back, out: there, gone: func() {}}
	server = &conn{clock: f.wire.clock, flow: f, local: far, remote: near, in: there, out: back, gone: func() {}}
	return client, server
}

// Read returns what has arrived, and waits until something has.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.in.read(p)
	return n, c.failed("read", err)
}

// Write blocks only where the Path has a Buffer, while it is full.
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
	c.leave()
	if c.abortive.Load() {
		c.reset(c.clock.now())
		return nil
	}
	c.out.finish(true)
	c.in.abandon()
	return nil
}

// reset ends both directions by a packet that is sent at an instant.
func (c *conn) reset(sent instant) {
	c.leave()
	arrives := c.out.reset(sent)
	c.in.refuse(arrives)
}

// refuse ends the direction that comes in by a reset that is sent at an instant.
func (c *conn) refuse(sent instant) { c.in.refuse(c.out.passes(sent)) }

func (c *conn) leave() {
	c.gone()
	c.left.Do(c.flow.leave)
}

// abort ends both directions at once, on both ends.
func (c *conn) abort() {
	c.out.kill()
	c.in.kill()
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
