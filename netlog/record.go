package netlog

import (
	"slices"
	"time"
)

// All times that a record sets by itself are taken under the Log's lock, so
// that the order of IDs is the order of times.

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
// and Protocol are Unknown unless given. Requests is counted by the records of
// requests, not by the caller.
func (l *Log) Open(c Connection) *ConnectionRecord {
	if c.ALPN == "" {
		c.ALPN = Unknown
	}
	if c.Protocol == "" {
		c.Protocol = Unknown
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.Opened.IsZero() {
		c.Opened = time.Now()
	}
	c.ID = int64(len(l.connections)) + 1
	r := &ConnectionRecord{log: l, c: c}
	l.connections = append(l.connections, r)
	return r
}

// Log is where the record is kept.
func (r *ConnectionRecord) Log() *Log { return r.log }

// Update changes the connection under the Log's lock; change must not block or
// call the Log. A slice that it sets is the record's from then on.
func (r *ConnectionRecord) Update(change func(*Connection)) {
	r.log.mu.Lock()
	defer r.log.mu.Unlock()
	change(&r.c)
}

// Connection returns a copy of what is recorded so far.
func (r *ConnectionRecord) Connection() Connection {
	r.log.mu.Lock()
	defer r.log.mu.Unlock()
	return r.snapshot(nil)
}

// snapshot shares nothing with r. The caller holds the Log's lock.
func (r *ConnectionRecord) snapshot(epoch *time.Time) Connection {
	c := r.c
	c.Offered = slices.Clone(c.Offered)
	c.epoch = epoch
	return c
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
	r.log.mu.Lock()
	defer r.log.mu.Unlock()
	rec := r.log.request(q)
	rec.attach(r)
	return rec
}

// Request records a request that no connection carries yet. ID is set; Start
// is now unless given.
func (l *Log) Request(q Request) *RequestRecord {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.request(q)
}

// Sizes of the blocks in which records of requests are allocated: small at
// first, as most tests make few.
const (
	firstBlock   = 4
	largestBlock = 256
)

func (l *Log) request(q Request) *RequestRecord {
	if q.Start.IsZero() {
		q.Start = time.Now()
	}
	if len(l.spare) == 0 {
		l.spare = make([]RequestRecord, min(max(len(l.requests), firstBlock), largestBlock))
	}
	rec := &l.spare[0]
	l.spare = l.spare[1:]
	q.ID = int64(len(l.requests)) + 1
	rec.log, rec.q = l, q
	l.requests = append(l.requests, rec)
	return rec
}

// Log is where the record is kept.
func (q *RequestRecord) Log() *Log { return q.log }

// Attach says which connection, of the same Log, carries the request. Attached
// again, as after a replay, the request counts on both connections and belongs
// to the last.
func (q *RequestRecord) Attach(r *ConnectionRecord) {
	q.log.mu.Lock()
	defer q.log.mu.Unlock()
	q.attach(r)
}

func (q *RequestRecord) attach(r *ConnectionRecord) {
	q.release()
	q.conn = r
	q.q.Leg = r.c.Leg
	r.c.Requests++
	if r.c.FirstUsed.IsZero() {
		r.c.FirstUsed = time.Now()
	}
	r.answered(q.q.Status)
	if !q.q.End.IsZero() {
		return
	}
	q.open = true
	r.inFlight++
	r.c.MaxStreams = max(r.c.MaxStreams, r.inFlight)
}

// answered notes the status for the filter of that name; 0 is none yet.
func (r *ConnectionRecord) answered(status int) {
	if status != 0 && !slices.Contains(r.statuses, status) {
		r.statuses = append(r.statuses, status)
	}
}

// Update changes the request under the Log's lock; change must not block or
// call the Log.
func (q *RequestRecord) Update(change func(*Request)) {
	q.log.mu.Lock()
	defer q.log.mu.Unlock()
	change(&q.q)
	if q.conn != nil {
		q.conn.answered(q.q.Status)
	}
}

// Request returns a copy of what is recorded so far.
func (q *RequestRecord) Request() Request {
	q.log.mu.Lock()
	defer q.log.mu.Unlock()
	read := reader{log: q.log, copies: make(map[*ConnectionRecord]*Connection)}
	return read.request(q)
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

// Pair ties the two requests of a proxy's legs together, both of the same Log.
// Paired again, as after a retry upstream, a request names the last; the earlier
// ones go on naming it.
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
