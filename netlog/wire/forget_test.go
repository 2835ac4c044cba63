package wire_test

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"

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

// A proxy's client that goes away gives its requests up and has its host forgotten
// at once: Get may find the host gone when it wants to leave its queue.
func TestForgottenWhileGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := wire.NewPool(wire.PoolConfig{Dial: func(ctx context.Context, _ string) (*wire.ClientConn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}})
		for range 64 { // either may be first
			ctx, giveUp := context.WithCancel(t.Context())
			ended := make(chan error)
			go func() {
				_, err := pool.Get(ctx, "host")
				ended <- err
			}()
			synctest.Wait()
			giveUp()
			pool.Forget("host")
			require.Error(t, <-ended)
		}
		require.NoError(t, pool.Close())
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
