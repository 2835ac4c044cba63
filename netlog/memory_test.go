package netlog_test

import (
	"context"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// memory is a listener that is dialled in memory, without any delay, so that a
// bubble's clock is the only one.
type memory struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newMemory() *memory {
	return &memory{conns: make(chan net.Conn), done: make(chan struct{})}
}

func (m *memory) DialContext(ctx context.Context, _, _ string) (net.Conn, error) {
	a, b := memoryPair()
	select {
	case m.conns <- b:
		return a, nil
	case <-m.done:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (m *memory) Accept() (net.Conn, error) {
	select {
	case c := <-m.conns:
		return c, nil
	case <-m.done:
		return nil, net.ErrClosed
	}
}

func (m *memory) Close() error {
	m.once.Do(func() { close(m.done) })
	return nil
}

func (m *memory) Addr() net.Addr { return memoryAddr{} }

type memoryAddr struct{}

func (memoryAddr) Network() string { return "tcp" }
func (memoryAddr) String() string  { return "192.0.2.1:443" }

// memoryConn is one end. Unlike net.Pipe's its writes do not wait to be read.
type memoryConn struct {
	in, out *flow
}

func memoryPair() (a, b *memoryConn) {
	up, down := newFlow(), newFlow()
	return &memoryConn{down, up}, &memoryConn{up, down}
}

func (c *memoryConn) Read(p []byte) (int, error)  { return c.in.read(p) }
func (c *memoryConn) Write(p []byte) (int, error) { return c.out.write(p) }
func (c *memoryConn) LocalAddr() net.Addr         { return memoryAddr{} }
func (c *memoryConn) RemoteAddr() net.Addr        { return memoryAddr{} }
func (c *memoryConn) CloseWrite() error           { c.out.end(io.EOF); return nil }

func (c *memoryConn) Close() error {
	c.in.end(net.ErrClosed)
	c.out.end(io.EOF)
	c.SetReadDeadline(time.Time{})
	return nil
}

func (c *memoryConn) SetDeadline(t time.Time) error      { return c.SetReadDeadline(t) }
func (c *memoryConn) SetWriteDeadline(t time.Time) error { return nil } // no write waits
func (c *memoryConn) SetReadDeadline(t time.Time) error  { c.in.expire(t); return nil }

// flow is one direction.
type flow struct {
	mu      sync.Mutex
	changed *sync.Cond
	data    []byte
	ended   error
	expired bool
	timer   *time.Timer
}

func newFlow() *flow {
	f := new(flow)
	f.changed = sync.NewCond(&f.mu)
	return f
}

func (f *flow) read(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for {
		switch {
		case f.ended == net.ErrClosed:
			return 0, f.ended
		case f.expired:
			return 0, os.ErrDeadlineExceeded
		case len(f.data) > 0:
			n := copy(p, f.data)
			f.data = f.data[n:]
			return n, nil
		case f.ended != nil:
			return 0, f.ended
		}
		f.changed.Wait()
	}
}

func (f *flow) write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended != nil {
		return 0, io.ErrClosedPipe
	}
	f.data = append(f.data, p...)
	f.changed.Broadcast()
	return len(p), nil
}

func (f *flow) end(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended != net.ErrClosed {
		f.ended = err
	}
	f.changed.Broadcast()
}

func (f *flow) expire(t time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.timer != nil {
		f.timer.Stop()
		f.timer = nil
	}
	left := time.Until(t)
	if f.expired = !t.IsZero() && left <= 0; !f.expired && !t.IsZero() {
		f.timer = time.AfterFunc(left, func() { f.expire(t) })
	}
	f.changed.Broadcast()
}
