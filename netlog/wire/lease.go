package wire

import (
	"context"
	"sync/atomic"
	"time"
)

// Lease is the right to one request on a connection. Release it when the
// answer has ended.
type Lease struct {
	Conn    *ClientConn
	Wait    time.Duration // from Get to the lease
	Stalled string        // a netlog.Stalled… kind if a limit made it wait, else ""
	StallAt time.Time     // when that wait began

	conn     *pooledConn
	released atomic.Bool
}

// Release gives the right back; idempotent. A connection that is Done, or that
// reuse is false for, leaves the pool, and is closed when its last lease is
// released.
func (l *Lease) Release(reuse bool) {
	if l.released.CompareAndSwap(false, true) {
		l.conn.host.release(l.conn, reuse)
	}
}

// waiter is a call of Get. All but ctx and since is guarded by Pool.mu until
// ready is closed.
type waiter struct {
	ctx   context.Context
	since time.Time
	dial  *dial // the one that runs for it; nil is none

	stalled string
	stallAt time.Time

	ready chan struct{}
	lease *Lease
	err   error
}

// serve gives w the right to a request on conn.
func (w *waiter) serve(conn *pooledConn, now time.Time) {
	conn.inFlight++
	w.lease = &Lease{
		Conn:    conn.client,
		Wait:    now.Sub(w.since),
		Stalled: w.stalled,
		StallAt: w.stallAt,
		conn:    conn,
	}
	close(w.ready)
}

func (w *waiter) fail(err error) {
	w.err = err
	close(w.ready)
}

// stall notes that a limit holds w up, the first time.
func (w *waiter) stall(kind string, now time.Time) {
	if w.stalled == "" {
		w.stalled, w.stallAt = kind, now
	}
}
