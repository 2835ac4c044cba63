package origin

import (
	"sync"
	"time"

	"example.com/wiretest/netlog"
	"example.com/wiretest/netlog/wire"
)

// idler closes connections that carry no request for a while.
type idler struct {
	after time.Duration
	hard  bool // by a reset

	mu    sync.Mutex
	conns map[*netlog.ConnectionRecord]*idleConn // guarded by mu
}

// idleConn is guarded by idler.mu.
type idleConn struct {
	control *wire.Control
	serving int
	timer   *time.Timer
	over    bool
	closing sync.WaitGroup // the timer's function
}

func (i *idler) open(c *wire.Control) {
	i.mu.Lock()
	defer i.mu.Unlock()
	conn := &idleConn{control: c}
	i.conns[c.Record()] = conn
	i.rest(conn)
}

// rest needs mu.
func (i *idler) rest(conn *idleConn) {
	conn.timer = time.AfterFunc(i.after, func() {
		i.mu.Lock()
		idle := conn.serving == 0 && !conn.over
		if idle {
			conn.over = true
			conn.closing.Add(1)
		}
		i.mu.Unlock()
		if !idle {
			return
		}
		defer conn.closing.Done()
		if i.hard {
			conn.control.Abort()
			return
		}
		conn.control.Close()
	})
}

func (i *idler) begin(rec *netlog.ConnectionRecord) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if conn := i.conns[rec]; conn != nil {
		conn.serving++
		conn.timer.Stop()
	}
}

func (i *idler) end(rec *netlog.ConnectionRecord) {
	i.mu.Lock()
	defer i.mu.Unlock()
	conn := i.conns[rec]
	if conn == nil {
		return
	}
	if conn.serving--; conn.serving == 0 {
		i.rest(conn)
	}
}

// forget waits until the timer's function, if it runs, has ended.
func (i *idler) forget(rec *netlog.ConnectionRecord) {
	i.mu.Lock()
	conn := i.conns[rec]
	delete(i.conns, rec)
	if conn != nil {
		conn.over = true
		conn.timer.Stop()
	}
	i.mu.Unlock()
	if conn != nil {
		conn.closing.Wait()
	}
}
