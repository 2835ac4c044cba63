package wire_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/wiretest/netlog/wire"
)

func TestForgottenHostIsDialledAnew(t *testing.T) {
	eachProtocol(t, func(t *testing.T, p *pair) {
		p.start(func(http.ResponseWriter, *http.Request) {})
		pool := wire.NewPool(wire.PoolConfig{Dial: func(ctx context.Context, _ string) (*wire.ClientConn, error) { return p.connect(ctx) }})
		t.Cleanup(func() { pool.Close() })
		pool.Forget("a host that nobody has asked for")
		one, err := pool.Get(t.Context(), "host")
		require.NoError(t, err)
		require.Equal(t, []*wire.ClientConn{one.Conn}, pool.Conns())
		pool.Forget("host")
		<-one.Conn.Closed()
		one.Release(true)
		require.Empty(t, pool.Conns())
		other, err := pool.Get(t.Context(), "host")
		require.NoError(t, err)
		require.NotSame(t, one.Conn, other.Conn)
		other.Release(true)
	})
}

// Who waits for a connection of a host that is forgotten waits no more.
func TestForgettingEndsWaiting(t *testing.T) {
	dialling := make(chan struct{})
	pool := wire.NewPool(wire.PoolConfig{Dial: func(ctx context.Context, _ string) (*wire.ClientConn, error) {
		close(dialling)
		<-ctx.Done()
		return nil, ctx.Err()
	}})
	failed := make(chan error, 1)
	go func() {
		_, err := pool.Get(t.Context(), "host")
		failed <- err
	}()
	<-dialling
	pool.Forget("host")
	require.EqualError(t, <-failed, "wire: pool: its connections are not wanted anymore")
	require.NoError(t, pool.Close())
}
