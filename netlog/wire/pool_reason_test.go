package wire_test

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/wiretest/netlog/wire"
)

func TestAbandonedDialEnds(t *testing.T) {
	poolCase(t, plainH1, func(t *testing.T, p *pair) {
		pool, plan := p.planned(wire.PoolConfig{Abandon: true}, dialStep{takes: time.Hour}, dialStep{takes: ms(100)})
		ctx, cancel := context.WithCancel(context.Background())
		first := getLater(ctx, pool, 0)
		time.Sleep(ms(10))
		cancel()
		require.ErrorIs(t, (<-first).err, context.Canceled)
		begin := time.Now()
		second := <-p.getLater(pool, 0)
		require.NoError(t, second.err)
		require.Equal(t, ms(100), time.Since(begin), "it dials its own")
		second.lease.Release(true)
		require.Equal(t, 2, plan.dialled())
	})
}

func TestDialThatAnotherWaitsForIsNotAbandoned(t *testing.T) {
	poolCase(t, plainH2, func(t *testing.T, p *pair) {
		pool, plan := p.planned(wire.PoolConfig{Abandon: true, ExpectH2: true}, dialStep{takes: ms(100)})
		ctx, cancel := context.WithCancel(context.Background())
		first, second := getLater(ctx, pool, 0), p.getLater(pool, 1)
		time.Sleep(ms(10))
		cancel()
		require.ErrorIs(t, (<-first).err, context.Canceled)
		got := <-second
		require.NoError(t, got.err)
		got.lease.Release(true)
		require.Equal(t, 1, plan.dialled())
	})
}

func TestDialSaysWhy(t *testing.T) {
	poolCase(t, plainH1, func(t *testing.T, p *pair) {
		var reasons []string
		pool := p.pool(wire.PoolConfig{Dial: func(ctx context.Context, _ string) (*wire.ClientConn, error) {
			reasons = append(reasons, wire.DialReason(ctx)) // one dial at a time
			return p.connect(ctx)
		}})
		one, two := <-p.getLater(pool, 0), <-p.getLater(pool, 0)
		resp, err := one.lease.Conn.RoundTrip(p.get("/"), nil)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, resp.StatusCode)
		resp.Body.Close()
		one.lease.Release(false)
		two.lease.Release(false)
		synctest.Wait()
		three := <-p.getLater(pool, 0)
		three.lease.Release(true)
		require.Equal(t, []string{
			"first request to it",
			"more requests than connections: 1 open or being opened",
			"connection 2 has ended: closed by client",
		}, reasons)
		require.Empty(t, wire.DialReason(t.Context()))
	})
}
