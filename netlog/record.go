package netlog

import (
	"slices"
	"time"
)

// A fixture writes into a Log by records: Open gives one for a connection,
// Request one for a request. They are the writing half of the package; a test
// needs only the reading half.

// ConnectionRecord is a connection that is still being written.
type ConnectionRecord struct {
	log      *Log
	c        Connection // guarded by log.mu
	inFlight int        // guarded by log.mu
	statuses []int      // distinct statuses answered; guarded by log.mu
}

// RequestRecord is a request that is still being written.
type RequestRecord struct {
	log  *Log
	conn *ConnectionRecord // guarded by log.mu
	q    Request           // guarded by log.mu
	open bool              // counted in conn.inFlight; guarded by log.mu
}

// Open records a new connection. ID is set; Opened is now unless given; ALPN
// and Protocol are Unknown unless given.
func (l *Log) Open(c Connection) *ConnectionRecord {
	if c.Opened.IsZero() {
		c.Opened = time.Now()
	}
	if c.ALPN == "" {
		c.ALPN = Unknown
	}
	if c.Protocol == "" {
		c.Protocol = Unknown
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	c.ID = int64(len(l.connections)) + 1
	r := &ConnectionRecord{log: l, c: c}
	l.connections = append(l.connections, r)
	return r
}

// Log is where the record is kept.
func (r *ConnectionRecord) Log() *Log { return r.log }

// Update changes the connection under the Log's lock; change must not block or
// call the Log.
func (r *ConnectionRecord) Update(change func(*Connection)) {
	r.log.mu.Lock()
	defer r.log.mu.Unlock()
	change(&r.c)
}

// Connection returns a copy of what is recorded so far.
func (r *ConnectionRecord) Connection() Connection {
	r.log.mu.Lock()
	defer r.log.mu.Unlock()
	return r.c
}

// Close records the end of the connection; the first call counts.
func (r *ConnectionRecord) Close(reason string) {
	r.log.mu.Lock()
	defer r.log.mu.Unlock()
	if !r.c.Closed.IsZero() {
		return
	}
	r.c.Closed = time.Now()
	r.c.CloseReason = reason
}

// Request records a request that begins on this connection.
func (r *ConnectionRecord) Request(q Request) *RequestRecord {
	rec := r.log.Request(q)
	rec.Attach(r)
	return rec
}

// Request records a request that no connection carries yet. ID is set; Start
// is now unless given.
func (l *Log) Request(q Request) *RequestRecord {
	if q.Start.IsZero() {
		q.Start = time.Now()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	q.ID = int64(len(l.requests)) + 1
	rec := &RequestRecord{log: l, q: q}
	l.requests = append(l.requests, rec)
	return rec
}

// Attach says which connection carries the request. Attached again, as after a
// replay, the request counts on both connections and belongs to the last.
func (q *RequestRecord) Attach(r *ConnectionRecord) {
	q.log.mu.Lock()
	defer q.log.mu.Unlock()
	q.release()
	q.conn, q.open = r, true
	q.q.Leg = r.c.Leg
	r.c.Requests++
	r.inFlight++
	r.c.MaxStreams = max(r.c.MaxStreams, r.inFlight)
	if r.c.FirstUsed.IsZero() {
		r.c.FirstUsed = time.Now()
	}
}

// Update changes the request under the Log's lock; change must not block or
// call the Log.
func (q *RequestRecord) Update(change func(*Request)) {
	q.log.mu.Lock()
	defer q.log.mu.Unlock()
	before := q.q.Status
	change(&q.q)
	if s := q.q.Status; s != before && q.conn != nil && !slices.Contains(q.conn.statuses, s) {
		q.conn.statuses = append(q.conn.statuses, s)
	}
}

// Request returns a copy of what is recorded so far.
func (q *RequestRecord) Request() Request {
	q.log.mu.Lock()
	defer q.log.mu.Unlock()
	snapshot := q.q
	snapshot.Connection = copyOf(q.conn, make(map[*ConnectionRecord]*Connection))
	return snapshot
}

// End records that the request is over: failed if err is not "". The first
// call counts.
func (q *RequestRecord) End(err string) {
	q.log.mu.Lock()
	defer q.log.mu.Unlock()
	q.release()
	if q.q.End.IsZero() {
		q.q.End = time.Now()
		q.q.Err = err
	}
}

// Pair ties the two requests of a proxy's legs together.
func (q *RequestRecord) Pair(other *RequestRecord) {
	q.log.mu.Lock()
	defer q.log.mu.Unlock()
	q.q.Pair, other.q.Pair = other.q.ID, q.q.ID
}

func (q *RequestRecord) release() {
	if q.open {
		q.conn.inFlight--
		q.open = false
	}
}

// Stall records that a request had to wait for a limit.
func (l *Log) Stall(s Stall) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stalls = append(l.stalls, s)
}
