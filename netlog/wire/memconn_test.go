package wire_test

import (
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// memConn is one end of a connection in memory whose writes never block, as
// long as the other end has room. What net.Pipe has not is buffers, without
// which both ends of HTTP/2 can wait for each other's read.
type memConn struct {
	in, out     *memHalf
	name, other memAddr
}

// memHalf is one direction. Everything that waits for it waits for a channel,
// so that virtual time goes on.
type memHalf struct {
	mu       sync.Mutex
	buffer   []byte
	room     int // bytes that fit; 0 is no limit
	ended    bool
	broken   bool
	change   chan struct{} // closed and replaced at each change
	deadline [2]time.Time  // of reading and of writing
}

const (
	reading = iota
	writing
)

type memAddr string

func (a memAddr) Network() string { return "tcp" }
func (a memAddr) String() string  { return string(a) }

// newMemConns returns both ends of a connection.
func newMemConns(client, server string, room int) (*memConn, *memConn) {
	up := &memHalf{change: make(chan struct{}), room: room}
	down := &memHalf{change: make(chan struct{}), room: room}
	return &memConn{in: down, out: up, name: memAddr(client), other: memAddr(server)},
		&memConn{in: up, out: down, name: memAddr(server), other: memAddr(client)}
}

// changeLocked wakes all that wait.
func (h *memHalf) changeLocked() {
	close(h.change)
	h.change = make(chan struct{})
}

// wait calls ready under the lock until it is true.
func (h *memHalf) wait(which int, ready func() bool) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	for !ready() {
		if err := h.waitLocked(which); err != nil {
			return err
		}
	}
	return nil
}

func (h *memHalf) waitLocked(which int) error {
	var expired <-chan time.Time
	if at := h.deadline[which]; !at.IsZero() {
		if !at.After(time.Now()) {
			return os.ErrDeadlineExceeded
		}
		timer := time.NewTimer(time.Until(at))
		defer timer.Stop()
		expired = timer.C
	}
	change := h.change
	h.mu.Unlock()
	defer h.mu.Lock()
	select {
	case <-change:
	case <-expired:
	}
	return nil
}

func (c *memConn) Read(p []byte) (n int, err error) {
	h := c.in
	werr := h.wait(reading, func() bool {
		switch {
		case h.broken:
			err = net.ErrClosed
		case !h.deadline[reading].IsZero() && !h.deadline[reading].After(time.Now()):
			err = os.ErrDeadlineExceeded
		case len(h.buffer) > 0:
			n = copy(p, h.buffer)
			h.buffer = h.buffer[n:]
			h.changeLocked()
		case h.ended:
			err = io.EOF
		default:
			return len(p) == 0
		}
		return true
	})
	if werr != nil {
		return 0, werr
	}
	return n, err
}

func (c *memConn) Write(p []byte) (n int, err error) {
	h := c.out
	werr := h.wait(writing, func() bool {
		switch {
		case h.ended || h.broken:
			err = net.ErrClosed
			return true
		case h.room > 0 && len(h.buffer) >= h.room:
			return false
		}
		part := p[n:]
		if h.room > 0 {
			part = part[:min(len(part), h.room-len(h.buffer))]
		}
		h.buffer = append(h.buffer, part...)
		n += len(part)
		h.changeLocked()
		return n == len(p)
	})
	if werr != nil {
		return n, werr
	}
	return n, err
}

func (h *memHalf) set(change func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	change()
	h.changeLocked()
}

func (c *memConn) Close() error {
	c.out.set(func() { c.out.ended = true })
	c.in.set(func() { c.in.broken = true })
	return nil
}

func (c *memConn) CloseWrite() error {
	c.out.set(func() { c.out.ended = true })
	return nil
}

func (c *memConn) LocalAddr() net.Addr  { return c.name }
func (c *memConn) RemoteAddr() net.Addr { return c.other }

func (c *memConn) SetDeadline(t time.Time) error {
	c.SetReadDeadline(t)
	return c.SetWriteDeadline(t)
}

func (c *memConn) SetReadDeadline(t time.Time) error {
	c.in.set(func() { c.in.deadline[reading] = t })
	return nil
}

func (c *memConn) SetWriteDeadline(t time.Time) error {
	c.out.set(func() { c.out.deadline[writing] = t })
	return nil
}
