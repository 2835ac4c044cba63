package wire

import (
	"context"
	"errors"
	"sync"
	"time"
)

// PoolConfig says how a Pool opens connections.
type PoolConfig struct {
	// Dial opens a connection to host ("host:port"). Its context has the values
	// of the caller's, but ends with the Pool alone: a connection whose caller
	// has gone or was served otherwise is for the next. DialReason says why it
	// is called.
	Dial func(ctx context.Context, host string) (*ClientConn, error)
	// MaxConns is the limit of http/1.1 connections to one host; 0 is none.
	MaxConns int
	// ExpectH2 says that a host may choose h2, or be reached by a ForeignConn: to a
	// host whose protocol is not known yet, one connection is dialled and all wait for
	// what it speaks. Without it each request dials its own at once, up to MaxConns.
	ExpectH2 bool
	// Abandon ends a dial when the caller for whom it runs goes away and nobody
	// else waits for it. A connection that somebody was only served before is
	// still for the next.
	Abandon bool
}

// Pool hands out connections first come first served: one h2 connection to a
// host, whose limit of streams it keeps, or as many http/1.1 ones as there are
// requests in flight, up to MaxConns. Of idle connections the one that was
// used last is taken, as browsers do.
//
// What a host speaks is learned from each new connection and kept. A host that
// is known to speak h2 is dialled once at a time, whatever ExpectH2 says; an h2
// connection that others have made superfluous before it was used is closed.
type Pool struct {
	cfg    PoolConfig
	ctx    context.Context // of all dials; ends with Close
	cancel context.CancelFunc
	tasks  sync.WaitGroup // dials, and closing of connections

	mu     sync.Mutex // never held while blocking
	hosts  map[string]*poolHost
	closed bool
}

// NewPool returns an empty Pool. Close it.
func NewPool(cfg PoolConfig) *Pool {
	p := &Pool{cfg: cfg, hosts: make(map[string]*poolHost)}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	return p
}

var errPoolClosed = errors.New("wire: pool: closed")

// Get waits for the right to send one request to host. Callers are served in
// the order of their calls; whichever connection is free first, a new one or a
// used one, goes to the one who waits longest. Waiting ends with ctx, with a
// failed dial (whose error the caller for whom it was dialled gets), or with
// Close.
func (p *Pool) Get(ctx context.Context, host string) (*Lease, error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	w := &waiter{ctx: ctx, since: time.Now(), ready: make(chan struct{})}
	h, err := p.enqueue(host, w)
	if err != nil {
		return nil, err
	}
	select {
	case <-w.ready:
	case <-ctx.Done():
		p.leave(h, w, context.Cause(ctx))
	}
	return w.lease, w.err
}

func (p *Pool) enqueue(host string, w *waiter) (*poolHost, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, errPoolClosed
	}
	h := p.hosts[host]
	if h == nil {
		h = &poolHost{pool: p, name: host, conns: make(map[*pooledConn]struct{})}
		p.hosts[host] = h
	}
	h.waiting = append(h.waiting, w)
	h.schedule()
	return h, nil
}

// leave takes w out of the queue of h, which may be forgotten by now, or gives back
// what it has just been given.
func (p *Pool) leave(h *poolHost, w *waiter, cause error) {
	p.mu.Lock()
	d := w.dial
	if h.drop(w) {
		w.err = cause
		h.schedule()
		if d != nil && d.owner == nil && p.cfg.Abandon {
			h.abandon(d, cause)
		}
		p.mu.Unlock()
		return
	}
	p.mu.Unlock()
	if w.lease != nil {
		w.lease.Release(true)
		w.lease, w.err = nil, cause
	}
}

// Forget closes all connections to host, also those in use, ends all waiting for
// one, and what was known of it is known no more.
func (p *Pool) Forget(host string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.hosts[host]
	if h == nil {
		return
	}
	delete(p.hosts, host)
	for _, d := range h.dials {
		d.cancel(errForgotten)
	}
	h.forgotten = true
	h.shut(errForgotten)
}

var errForgotten = errors.New("wire: pool: its connections are not wanted anymore")

// Conns are the open connections, in no order.
func (p *Pool) Conns() (all []*ClientConn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, h := range p.hosts {
		for conn := range h.conns {
			all = append(all, conn.client)
		}
	}
	return all
}

// Close closes all connections, ends all waiting and waits for dials to end.
// It is idempotent.
func (p *Pool) Close() error {
	p.mu.Lock()
	p.closed = true
	for _, h := range p.hosts {
		h.shut(errPoolClosed)
	}
	p.mu.Unlock()
	p.cancel()
	p.tasks.Wait()
	return nil
}
