package wire

import (
	"context"
	"time"

	"example.com/wiretest/netlog"
)

// PoolConfig says how a Pool opens connections.
type PoolConfig struct {
	// Dial opens a connection to host ("host:port").
	Dial func(ctx context.Context, host string) (*ClientConn, error)
	// MaxConns is the limit of http/1.1 connections to one host; 0 is none.
	MaxConns int
	// ExpectH2 says that a host may choose h2: to a host whose protocol is not
	// known yet, one connection is dialled and all wait for what it speaks.
	// Without it each request dials its own at once, up to MaxConns.
	ExpectH2 bool
}

// Pool hands out connections first come first served: one h2 connection to a
// host, whose limit of streams it keeps, or as many http/1.1 ones as there are
// requests in flight, up to MaxConns.
type Pool struct{}

// NewPool returns an empty Pool. Close it.
func NewPool(cfg PoolConfig) *Pool { panic("to be written") }

// Lease is the right to one request on a connection. Release it when the
// answer has ended.
type Lease struct {
	Conn    *ClientConn
	Wait    time.Duration // from Get to the lease
	Stalled string        // a netlog.Stalled… kind if a limit made it wait, else ""
	StallAt time.Time     // when that wait began
}

// Release gives the right back; idempotent. A connection that is Done, or that
// reuse is false for, leaves the pool.
func (l *Lease) Release(reuse bool) { panic("to be written") }

// Get waits for the right to send one request to host. Callers are served in
// the order of their calls. Waiting ends with ctx, with a failed dial (whose
// error the caller for whom it was dialled gets), or with Close.
func (p *Pool) Get(ctx context.Context, host string) (*Lease, error) { panic("to be written") }

// Close closes all connections, ends all waiting and waits for dials to end.
func (p *Pool) Close() error { panic("to be written") }

var _ = netlog.StalledMaxStreams
