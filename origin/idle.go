package origin

import (
	"net"
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
	end     func() // ends the connection
	serving int
	timer   *time.Timer    // runs out when the rest has been too long; nil while there is none
	ending  sync.WaitGroup // calls of end
}

func newIdler(after time.Duration, hard bool) *idler {
	return &idler{after: after, hard: hard, conns: make(map[*netlog.ConnectionRecord]*idleConn)}
}

func (i *idler) watch(c *wire.Control) {
	end := c.Close
	if i.hard {
		end = c.Abort
	}
	i.open(c.Record(), end)
}

func (i *idler) open(rec *netlog.ConnectionRecord, end func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	conn := &idleConn{end: end}
	i.conns[rec] = conn
	i.rest(conn)
}

// endSilent ends a connection without TLS that has said nothing for too long, and
// so has no Control yet.
func (i *idler) endSilent(conn net.Conn, rec *netlog.ConnectionRecord) {
	reason := "closed by server"
	if l, ok := conn.(interface{ SetLinger(int) error }); ok && i.hard {
		l.SetLinger(0)
		reason = "reset by server"
	}
	rec.Close(reason)
	conn.Close()
}

// rest needs mu.
func (i *idler) rest(conn *idleConn) {
	var timer *time.Timer
	timer = time.AfterFunc(i.after, func() {
		i.mu.Lock()
		due := conn.timer == timer // else it ran out while a request came that is over by now
		if due {
			conn.timer = nil
			conn.ending.Add(1)
		}
		i.mu.Unlock()
		if due {
			defer conn.ending.Done()
			conn.end()
		}
	})
	conn.timer = timer
}

// wake needs mu.
func (conn *idleConn) wake() {
	if conn.timer != nil {
		conn.timer.Stop()
		conn.timer = nil
	}
}

func (i *idler) begin(rec *netlog.ConnectionRecord) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if conn := i.conns[rec]; conn != nil {
		conn.serving++
		conn.wake()
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
		conn.wake()
	}
	i.mu.Unlock()
	if conn != nil {
		conn.ending.Wait()
	}
}
