package linkdelay

import (
	"net"
	"os"
	"sync"
	"time"
)

// listener accepts connections in memory. Its backlog has no limit.
type listener struct {
	memory *memory
	addr   *Addr

	mu       sync.Mutex
	alarm    alarm
	backlog  schedule[*conn]
	deadline instant
	closed   bool
}

func newListener(m *memory, at place) *listener {
	l := &listener{memory: m, addr: newAddr("tcp", at), deadline: never}
	l.alarm = newAlarm(m.clock, &l.mu)
	return l
}

// deliver queues a connection that is complete at the instant given.
func (l *listener) deliver(c *conn, at instant) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.backlog.add(at, c)
	l.alarm.wake()
	return true
}

// Accept returns the next connection, in the order of their arrival.
func (l *listener) Accept() (net.Conn, error) {
	c, err := l.accept()
	if err != nil {
		return nil, opError("accept", "tcp", nil, l.addr, err)
	}
	return c, nil
}

func (l *listener) accept() (*conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		now := l.memory.clock.now()
		switch {
		case l.closed:
			return nil, net.ErrClosed
		case now >= l.deadline:
			return nil, os.ErrDeadlineExceeded
		case l.backlog.next() <= now:
			return l.backlog.pop(), nil
		}
		l.alarm.wait(min(l.backlog.next(), l.deadline))
	}
}

// Close resets the connections that were not accepted.
func (l *listener) Close() error {
	waiting, err := l.stop()
	if err != nil {
		return opError("close", "tcp", nil, l.addr, err)
	}
	l.memory.removeListener(l)
	now := l.memory.clock.now()
	for _, c := range waiting {
		c.what.reset(max(now, c.at))
	}
	return nil
}

func (l *listener) abort() { l.stop() }

func (l *listener) stop() ([]due[*conn], error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, net.ErrClosed
	}
	l.closed = true
	waiting := l.backlog.heap
	l.backlog.heap = nil
	l.alarm.stop()
	return waiting, nil
}

// Addr is an *Addr.
func (l *listener) Addr() net.Addr { return l.addr }

// SetDeadline is for Accept, as of a net.TCPListener.
func (l *listener) SetDeadline(t time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return opError("set", "tcp", nil, l.addr, net.ErrClosed)
	}
	l.deadline = l.memory.clock.at(t)
	l.alarm.wake()
	return nil
}
