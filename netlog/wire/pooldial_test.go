package wire_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/wiretest/netlog"
	"example.com/wiretest/netlog/wire"
)

func TestUnknownHostIsDialledOnceWhereH2MayCome(t *testing.T) {
	poolCase(t, plainH2, func(t *testing.T, p *pair) {
		pool, plan := p.planned(wire.PoolConfig{MaxConns: 6, ExpectH2: true}, dialStep{takes: ms(100)})
		jobs := sameJobs(20, ms(10))
		p.run(pool, jobs)
		require.Equal(t, 1, plan.dialled())
		for i, j := range jobs {
			require.Equal(t, ms(100), j.start, "job %d", i)
			require.Empty(t, j.stalled, "job %d waited for the dial that it shares", i)
		}
	})
}

func TestOthersDialTheirOwnOnceTheHostSpeaksHTTP1(t *testing.T) {
	poolCase(t, plainH1, func(t *testing.T, p *pair) {
		pool, plan := p.planned(wire.PoolConfig{MaxConns: 3, ExpectH2: true}, dialStep{takes: ms(100)})
		jobs := sameJobs(5, ms(1000))
		p.run(pool, jobs)
		require.Equal(t, 3, plan.dialled())
		require.Equal(t, []time.Duration{ms(100), ms(200), ms(200), ms(1100), ms(1200)}, starts(jobs))
		stall := netlog.StalledMaxSocketsPerGroup
		require.Equal(t, []string{"", "", "", stall, stall}, kinds(jobs))
		require.Equal(t, ms(1000), jobs[3].stall.Round(time.Microsecond), "it was stalled from when the protocol was known")
	})
}

func TestEachDialsItsOwnWhereNoH2IsExpected(t *testing.T) {
	poolCase(t, plainH1, func(t *testing.T, p *pair) {
		pool, plan := p.planned(wire.PoolConfig{MaxConns: 3}, dialStep{takes: ms(100)})
		jobs := sameJobs(4, ms(1000))
		p.run(pool, jobs)
		require.Equal(t, 3, plan.dialled())
		require.Equal(t, []time.Duration{ms(100), ms(100), ms(100), ms(1100)}, starts(jobs))
		require.Equal(t, []string{"", "", "", netlog.StalledMaxSocketsPerGroup}, kinds(jobs))
		require.Equal(t, ms(1100), jobs[3].stall.Round(time.Microsecond))
	})
}

func TestNoLimitOfConnections(t *testing.T) {
	poolCase(t, plainH1, func(t *testing.T, p *pair) {
		pool, plan := p.planned(wire.PoolConfig{}, dialStep{takes: ms(100)})
		jobs := sameJobs(50, ms(1000))
		p.run(pool, jobs)
		require.Equal(t, 50, plan.dialled())
		for _, j := range jobs {
			require.Equal(t, ms(100), j.start.Round(time.Microsecond))
			require.Empty(t, j.stalled)
		}
	})
}

func TestOneH2ConnectionStaysOfThoseDialledAtOnce(t *testing.T) {
	poolCase(t, plainH2, func(t *testing.T, p *pair) {
		pool, plan := p.planned(wire.PoolConfig{MaxConns: 6}, dialStep{takes: ms(100)}, dialStep{takes: ms(200)})
		jobs := sameJobs(10, ms(1000))
		p.run(pool, jobs)
		require.Equal(t, 6, plan.dialled())
		for _, j := range jobs {
			require.Equal(t, ms(100), j.start.Round(time.Microsecond))
		}
		conns := p.clientLog.Connections()
		require.Len(t, conns, 6)
		require.Equal(t, 10, conns[0].Requests)
		for _, c := range conns[1:] {
			require.False(t, c.Used())
			require.Equal(t, "closed by client: there is another h2 connection", c.CloseReason)
		}
	})
}

func TestDialFailureGoesToWhomItWasFor(t *testing.T) {
	broken := errors.New("no route")
	poolCase(t, plainH1, func(t *testing.T, p *pair) {
		pool, plan := p.planned(wire.PoolConfig{ExpectH2: true}, dialStep{takes: ms(100), err: broken}, dialStep{takes: ms(100)})
		first, second := p.getLater(pool, 0), p.getLater(pool, 1)
		require.ErrorIs(t, (<-first).err, broken)
		got := <-second
		require.NoError(t, got.err)
		require.Equal(t, ms(200), got.lease.Wait.Round(time.Microsecond))
		require.Equal(t, 2, plan.dialled())
		got.lease.Release(true)
	})
	poolCase(t, plainH1, func(t *testing.T, p *pair) {
		pool, _ := p.planned(wire.PoolConfig{}, dialStep{takes: ms(300), err: broken}, dialStep{takes: ms(100)})
		first, second := p.getLater(pool, 0), p.getLater(pool, 1)
		got := <-first
		require.NoError(t, got.err, "it has the connection of the second")
		got2 := <-second
		require.ErrorIs(t, got2.err, broken, "it was left with the dial of the first")
		got.lease.Release(true)
	})
}

func TestWhoGoesLeavesTheDialToTheNext(t *testing.T) {
	poolCase(t, plainH1, func(t *testing.T, p *pair) {
		pool, plan := p.planned(wire.PoolConfig{MaxConns: 1}, dialStep{takes: ms(100)})
		ctx, cancel := context.WithTimeout(context.Background(), ms(50))
		defer cancel()
		first := getLater(ctx, pool, 0)
		require.ErrorIs(t, (<-first).err, context.DeadlineExceeded)
		second := <-p.getLater(pool, 0)
		require.NoError(t, second.err)
		require.Equal(t, ms(50), second.lease.Wait)
		require.Empty(t, second.lease.Stalled, "a dial ran for it")
		second.lease.Release(true)
		third := <-p.getLater(pool, 0)
		require.NoError(t, third.err)
		require.Zero(t, third.lease.Wait)
		third.lease.Release(true)
		require.Equal(t, 1, plan.dialled())
	})
}

func TestConnectionThatEndsBeforeItsUseIsAFailedDial(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		var log netlog.Log
		dials := 0
		pool := wire.NewPool(wire.PoolConfig{Dial: func(ctx context.Context, _ string) (*wire.ClientConn, error) {
			dials++
			near, far := connected(t, w)
			c, err := wire.NewClientConn(near, wire.ClientConfig{Record: log.Open(netlog.Connection{})})
			far.Close()
			<-c.Done()
			return c, err
		}})
		defer pool.Close()
		_, err := pool.Get(t.Context(), host)
		require.ErrorContains(t, err, "wire: pool: dial origin.test:443: the connection ended before it was used: ")
		require.Equal(t, 1, dials)
	})
}

func TestDialWithoutOutcome(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		pool := wire.NewPool(wire.PoolConfig{Dial: func(context.Context, string) (*wire.ClientConn, error) { return nil, nil }})
		defer pool.Close()
		_, err := pool.Get(t.Context(), host)
		require.EqualError(t, err, "wire: pool: dial origin.test:443: no connection and no error")
	})
}

func TestDialSeesTheCallersValuesNotItsEnd(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		type key struct{}
		seen := make(chan any, 1)
		pool := wire.NewPool(wire.PoolConfig{Dial: func(ctx context.Context, _ string) (*wire.ClientConn, error) {
			seen <- ctx.Value(key{})
			<-ctx.Done()
			return nil, ctx.Err()
		}})
		ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "value"))
		got := getLater(ctx, pool, 0)
		require.Equal(t, "value", <-seen)
		cancel()
		require.ErrorIs(t, (<-got).err, context.Canceled)
		require.NoError(t, pool.Close())
	})
}
