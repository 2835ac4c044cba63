package netlog

import (
	"sync"
	"testing"
)

// Log is the record of connections and requests. Its zero value is ready; all
// of its methods may be called from several goroutines at once, and what they
// return are copies.
type Log struct {
	mu          sync.Mutex
	connections []*ConnectionRecord
	requests    []*RequestRecord
	stalls      []Stall
}

// New returns an empty Log for one test, and prints it when that test fails.
func New(tb testing.TB) *Log {
	log := new(Log)
	tb.Cleanup(func() {
		if tb.Failed() {
			tb.Logf("netlog of the failed test:\n%s", log)
		}
	})
	return log
}

// String is the whole ledger as tables: connections, then requests in short.
func (l *Log) String() string { return l.Connections().String() }

// Connections returns the connections that match every filter, in order of
// opening.
func (l *Log) Connections(filters ...Filter) Connections {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all Connections
	for _, r := range l.connections {
		c := r.c
		if matchConnection(filters, &c, r.statuses) {
			all = append(all, c)
		}
	}
	return all
}

// Requests returns the requests that match every filter, in order of their
// start.
func (l *Log) Requests(filters ...Filter) []Request {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []Request
	copies := make(map[*ConnectionRecord]*Connection)
	for _, r := range l.requests {
		q := r.q
		q.Connection = copyOf(r.conn, copies)
		if matchRequest(filters, &q) {
			all = append(all, q)
		}
	}
	return all
}

// copyOf lets the requests of one answer share the copy of their connection.
func copyOf(r *ConnectionRecord, copies map[*ConnectionRecord]*Connection) *Connection {
	if r == nil {
		return nil
	}
	c, ok := copies[r]
	if !ok {
		snapshot := r.c
		c = &snapshot
		copies[r] = c
	}
	return c
}

// Stalls returns the stalls that match every filter, in order of their start.
func (l *Log) Stalls(filters ...Filter) Stalls {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all Stalls
	for _, s := range l.stalls {
		if matchStall(filters, &s) {
			all = append(all, s)
		}
	}
	return all
}
