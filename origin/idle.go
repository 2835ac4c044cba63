package origin

import (
	"net"
	"slices"
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
	end     func()                  // ends the connection
	serving int                     // handlers
	open    []*netlog.RequestRecord // what was not answered to its end, when that was last looked at
	timer   *time.Timer             // runs out when the rest has been too long; nil while there is none
	ending  sync.WaitGroup          // calls of end
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
		due := i.isDue(conn, timer)
		i.mu.Unlock()
		if due {
			defer conn.ending.Done()
			conn.end()
		}
	})
	conn.timer = timer
}

// isDue reports whether the rest that has run out with timer ends the connection. It
// needs mu.
func (i *idler) isDue(conn *idleConn, timer *time.Timer) bool {
	if conn.timer != timer {
		return false // a request came in that moment, and is over by now
	}
	if left := i.after - conn.rested(); left > 0 {
		timer.Reset(left)
		return false
	}
	conn.timer = nil
	conn.ending.Add(1)
	return true
}

// rested is for how long there has been nothing to answer. The end of an answer may
// go out long after its handler has returned, to a client that is slow to read. It
// needs mu, and to be called when a rest has run out.
func (conn *idleConn) rested() time.Duration {
	var last time.Time
	for _, q := range conn.open {
		end := q.Request().End
		if end.IsZero() {
			return 0
		}
		if end.After(last) {
			last = end
		}
	}
	conn.open = nil
	return time.Since(last)
}

// wake needs mu.
func (conn *idleConn) wake() {
	if conn.timer != nil {
		conn.timer.Stop()
		conn.timer = nil
	}
}

// begin is told of a handler that begins; q is nil for CONNECT on HTTP/1.1.
func (i *idler) begin(rec *netlog.ConnectionRecord, q *netlog.RequestRecord) {
	i.mu.Lock()
	defer i.mu.Unlock()
	conn := i.conns[rec]
	if conn == nil {
		return
	}
	conn.serving++
	conn.wake()
	if q != nil {
		conn.open = append(slices.DeleteFunc(conn.open, isOver), q)
	}
}

func isOver(q *netlog.RequestRecord) bool { return !q.Request().End.IsZero() }

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
