package wire_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"

	"example.com/wiretest/netlog"
	"example.com/wiretest/netlog/wire"
)

const host = "origin.test:443"

// dialPlan says what becomes of each dial in order; the last one counts for
// all that follow.
type dialPlan struct {
	mu    sync.Mutex
	steps []dialStep
	count int
}

type dialStep struct {
	takes time.Duration
	err   error
}

func (d *dialPlan) next() dialStep {
	d.mu.Lock()
	defer d.mu.Unlock()
	step := d.steps[min(d.count, len(d.steps)-1)]
	d.count++
	return step
}

func (d *dialPlan) dialled() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.count
}

// planned is a pool over p whose dials go by plan.
func (p *pair) planned(cfg wire.PoolConfig, steps ...dialStep) (*wire.Pool, *dialPlan) {
	plan := &dialPlan{steps: steps}
	cfg.Dial = func(ctx context.Context, _ string) (*wire.ClientConn, error) {
		step := plan.next()
		select {
		case <-time.After(step.takes):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if step.err != nil {
			return nil, step.err
		}
		return p.connect(ctx)
	}
	return p.pool(cfg), plan
}

// poolCase runs body in virtual time over a server that sleeps as asked.
func poolCase(t *testing.T, s spoken, body func(t *testing.T, p *pair)) {
	t.Helper()
	inMemory(t, func(t *testing.T, w *world) {
		body(t, (&pair{t: t, world: w, spoken: s}).start(sleeper))
	})
}

var (
	plainH1 = spoken{"h1-plain", "http/1.1", false}
	plainH2 = spoken{"h2c", "h2", false}
)

func ms(n int) time.Duration { return time.Duration(n) * time.Millisecond }

// sameJobs are n jobs at once, each of the same time.
func sameJobs(n int, work time.Duration) []*job {
	jobs := make([]*job, n)
	for i := range jobs {
		jobs[i] = &job{work: work}
	}
	return jobs
}

// starts are when the jobs started, without the nanoseconds of their order.
func starts(jobs []*job) (all []time.Duration) {
	for _, j := range jobs {
		all = append(all, j.start.Round(time.Microsecond))
	}
	return all
}

func kinds(jobs []*job) (all []string) {
	for _, j := range jobs {
		all = append(all, j.stalled)
	}
	return all
}

func TestWhoWaitsLongestTakesWhatIsFreeFirst(t *testing.T) {
	poolCase(t, plainH1, func(t *testing.T, p *pair) {
		pool, plan := p.planned(wire.PoolConfig{MaxConns: 6}, dialStep{takes: ms(300)}, dialStep{takes: ms(100)})
		jobs := sameJobs(2, ms(50))
		p.run(pool, jobs)
		require.Equal(t, 2, plan.dialled())
		require.Equal(t, []time.Duration{ms(100), ms(150)}, starts(jobs),
			"the first takes what was dialled for the second, the second what the first released")
		require.Equal(t, []string{"", ""}, kinds(jobs))
	})
}

// outcome is what Get returned.
type outcome struct {
	lease *wire.Lease
	err   error
}

// getLater calls Get after so many nanoseconds, which makes an order.
func (p *pair) getLater(pool *wire.Pool, after time.Duration) <-chan outcome {
	return getLater(context.Background(), pool, after)
}

func getLater(ctx context.Context, pool *wire.Pool, after time.Duration) <-chan outcome {
	done := make(chan outcome, 1)
	go func() {
		time.Sleep(after)
		lease, err := pool.Get(ctx, host)
		done <- outcome{lease, err}
	}()
	return done
}

func TestWhoGoesKeepsTheOrderOfTheOthers(t *testing.T) {
	poolCase(t, plainH1, func(t *testing.T, p *pair) {
		pool, _ := p.planned(wire.PoolConfig{MaxConns: 1}, dialStep{})
		busy := <-p.getLater(pool, 0)
		require.NoError(t, busy.err)
		ctx, cancel := context.WithCancelCause(context.Background())
		first, gone, last := p.getLater(pool, 1), getLater(ctx, pool, 2), p.getLater(pool, 3)
		time.Sleep(ms(10))
		why := errors.New("no longer wanted")
		cancel(why)
		require.ErrorIs(t, (<-gone).err, why)
		busy.lease.Release(true)
		got := <-first
		require.NoError(t, got.err)
		synctest.Wait()
		require.Empty(t, last)
		got.lease.Release(true)
		got.lease.Release(true) // is idempotent
		require.NoError(t, (<-last).err)
	})
}

func TestConnectionThatIsNotReusedLeaves(t *testing.T) {
	for _, s := range []spoken{plainH1, plainH2} {
		t.Run(s.name, func(t *testing.T) {
			poolCase(t, s, func(t *testing.T, p *pair) {
				pool, plan := p.planned(wire.PoolConfig{MaxConns: 1}, dialStep{})
				for i := range 3 {
					lease, err := pool.Get(t.Context(), host)
					require.NoError(t, err)
					fetch(t, lease.Conn, p.get("/0"))
					lease.Release(false)
					<-lease.Conn.Done()
					require.Equal(t, i+1, plan.dialled())
				}
			})
		})
	}
}

func TestLastUsedConnectionIsTakenFirst(t *testing.T) {
	poolCase(t, plainH1, func(t *testing.T, p *pair) {
		pool := p.pool(wire.PoolConfig{})
		a, err := pool.Get(t.Context(), host)
		require.NoError(t, err)
		b, err := pool.Get(t.Context(), host)
		require.NoError(t, err)
		b.Release(true)
		a.Release(true)
		c, err := pool.Get(t.Context(), host)
		require.NoError(t, err)
		require.Same(t, a.Conn, c.Conn)
		c.Release(true)
	})
}

func TestBrokenIdleConnectionIsNotHandedOut(t *testing.T) {
	eachProtocol(t, func(t *testing.T, p *pair) {
		p.start(func(w http.ResponseWriter, r *http.Request) {})
		pool := p.pool(wire.PoolConfig{MaxConns: 1})
		lease, err := pool.Get(t.Context(), host)
		require.NoError(t, err)
		fetch(t, lease.Conn, p.get("/"))
		lease.Release(true)
		old := lease.Conn
		old.Close()
		<-old.Done()
		lease, err = pool.Get(t.Context(), host)
		require.NoError(t, err)
		require.NotSame(t, old, lease.Conn)
		fetch(t, lease.Conn, p.get("/"))
		lease.Release(true)
	})
}

func TestAfterGoAwayTheNextRequestIsDialledFor(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		var log netlog.Log
		pool, conn := framedPool(t, w, &log)
		first, err := pool.Get(t.Context(), host)
		require.NoError(t, err)
		answered := make(chan error, 1)
		go func() {
			req, _ := http.NewRequest("GET", "http://origin.test/slow", nil)
			resp, err := first.Conn.RoundTrip(req, nil)
			if err == nil {
				resp.Body.Close()
			}
			answered <- err
		}()
		synctest.Wait()
		require.NoError(t, conn(0).WriteGoAway(1, http2.ErrCodeNo, nil))
		<-first.Conn.Done()
		second, err := pool.Get(t.Context(), host)
		require.NoError(t, err)
		require.NotSame(t, first.Conn, second.Conn)
		synctest.Wait()
		require.Empty(t, answered, "what is in flight goes on")
		conn(0).answer(1, "200", true)
		require.NoError(t, <-answered)
		first.Release(true)
		second.Release(true)
		synctest.Wait()
		all := log.Connections()
		require.Len(t, all, 2)
		require.False(t, all[0].Closed.IsZero(), "the old connection is closed with its last lease")
		require.True(t, all[1].Closed.IsZero())
	})
}

func TestLimitOfStreamsIsFollowed(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		var log netlog.Log
		limit := func(n uint32) http2.Setting { return http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: n} }
		pool, conn := framedPool(t, w, &log, limit(3))
		first, err := pool.Get(t.Context(), host)
		require.NoError(t, err)
		synctest.Wait()
		require.Equal(t, 3, first.Conn.Limit())
		leases := []*wire.Lease{first}
		for range 2 {
			l, err := pool.Get(t.Context(), host)
			require.NoError(t, err)
			leases = append(leases, l)
		}
		fourth := getLater(t.Context(), pool, 0)
		synctest.Wait()
		require.Empty(t, fourth)

		// Lowered to 1 with three in flight: two ends are not enough.
		require.NoError(t, conn(0).WriteSettings(limit(1)))
		synctest.Wait()
		leases[0].Release(true)
		leases[1].Release(true)
		time.Sleep(ms(70))
		synctest.Wait()
		require.Empty(t, fourth)
		leases[2].Release(true)
		got := <-fourth
		require.NoError(t, got.err)
		require.Equal(t, ms(70), got.lease.Wait)
		require.Equal(t, netlog.StalledMaxStreams, got.lease.Stalled)

		// Raised to 2 it lets the next go by itself.
		fifth := getLater(t.Context(), pool, 0)
		time.Sleep(ms(30))
		require.NoError(t, conn(0).WriteSettings(limit(2)))
		got5 := <-fifth
		require.NoError(t, got5.err)
		require.Equal(t, ms(30), got5.lease.Wait)
		got5.lease.Release(true)
		got.lease.Release(true)
	})
}

func TestHTTP1ConnectionsLeaveWhenTheHostSpeaksH2(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		server := wire.NewServer(wire.ServerConfig{})
		defer server.Close(t.Context())
		pool := wire.NewPool(wire.PoolConfig{Dial: turncoat(t, w, server)})
		defer pool.Close()
		first, second := getLater(t.Context(), pool, 0), getLater(t.Context(), pool, 1)
		old := <-first
		require.NoError(t, old.err)
		require.Equal(t, "http/1.1", old.lease.Conn.Protocol())
		third := getLater(t.Context(), pool, 0)
		now := <-second
		require.NoError(t, now.err)
		require.Equal(t, "h2", now.lease.Conn.Protocol())
		shared := <-third
		require.NoError(t, shared.err)
		require.Same(t, now.lease.Conn, shared.lease.Conn)
		old.lease.Release(true)
		<-old.lease.Conn.Done()
		now.lease.Release(true)
		shared.lease.Release(true)
	})
}

// turncoat dials a server that speaks http/1.1 on the first connection and h2
// on all others, each of which takes a tenth of a second longer.
func turncoat(t testing.TB, w *world, server *wire.Server) func(context.Context, string) (*wire.ClientConn, error) {
	var dials atomic.Int64
	return func(context.Context, string) (*wire.ClientConn, error) {
		n := dials.Add(1)
		time.Sleep(time.Duration(n) * ms(100))
		spoken := netlog.Connection{ALPN: "h2"}
		if n == 1 {
			spoken.ALPN = "http/1.1"
		}
		log := new(netlog.Log)
		near, far := connected(t, w)
		go server.ServeConn(far, log.Open(spoken)) // Close waits for it
		return wire.NewClientConn(near, wire.ClientConfig{Record: log.Open(spoken)})
	}
}

func TestIdleConnectionThatGoesAwayIsClosed(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		var log netlog.Log
		pool, conn := framedPool(t, w, &log)
		lease, err := pool.Get(t.Context(), host)
		require.NoError(t, err)
		lease.Release(true)
		synctest.Wait()
		require.True(t, log.Connections()[0].Closed.IsZero())
		require.NoError(t, conn(0).WriteGoAway(0, http2.ErrCodeNo, nil))
		synctest.Wait()
		require.False(t, log.Connections()[0].Closed.IsZero(), "nobody else would close it")
	})
}

func TestClientsOwnLimitOfStreams(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		p := (&pair{t: t, world: w, spoken: plainH2}).start(sleeper)
		pool := p.pool(wire.PoolConfig{ExpectH2: true, Dial: func(ctx context.Context, _ string) (*wire.ClientConn, error) {
			conn, err := p.dial(ctx)
			require.NoError(t, err)
			rec := p.clientLog.Open(p.opened(conn))
			return wire.NewClientConn(conn, wire.ClientConfig{Record: rec, MaxStreams: 2})
		}})
		jobs := sameJobs(5, ms(100))
		p.run(pool, jobs)
		require.Equal(t, []time.Duration{0, 0, ms(100), ms(100), ms(200)}, starts(jobs))
		require.Equal(t, 2, p.serverLog.Connections()[0].MaxStreams)
	})
}

func TestClosedPool(t *testing.T) {
	poolCase(t, plainH1, func(t *testing.T, p *pair) {
		pool, _ := p.planned(wire.PoolConfig{MaxConns: 2}, dialStep{}, dialStep{takes: time.Hour})
		busy := <-p.getLater(pool, 0)
		require.NoError(t, busy.err)
		dialling, stalled := p.getLater(pool, 0), p.getLater(pool, 1)
		time.Sleep(ms(10))
		begin := time.Now()
		require.NoError(t, pool.Close())
		require.Zero(t, time.Since(begin), "the dial ends with the pool")
		require.EqualError(t, (<-dialling).err, "wire: pool: closed")
		require.EqualError(t, (<-stalled).err, "wire: pool: closed")
		<-busy.lease.Conn.Done()
		busy.lease.Release(true)
		_, err := pool.Get(t.Context(), host)
		require.EqualError(t, err, "wire: pool: closed")
		require.NoError(t, pool.Close())
	})
}

// On sockets, in all protocols, with callers that go at random instants.
func TestPoolUnderLoad(t *testing.T) {
	eachProtocol(t, func(t *testing.T, p *pair) {
		p.config.MaxConcurrentStreams = 10
		p.start(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.URL.Path) })
		pool := p.pool(wire.PoolConfig{MaxConns: 4, ExpectH2: true, Dial: p.greeted})
		var all sync.WaitGroup
		for i := range 100 {
			all.Go(func() { p.loadOne(pool, i) })
		}
		all.Wait()
		require.NoError(t, pool.Close())
		for _, c := range p.clientLog.Connections() {
			require.LessOrEqual(t, c.MaxStreams, map[string]int{"http/1.1": 1, "h2": 10}[p.protocol])
			require.False(t, c.Closed.IsZero())
		}
		if p.protocol == "h2" {
			require.Len(t, p.clientLog.Connections(), 1)
		}
	})
}

// greeted is connect for those who want to keep the limit from the start.
func (p *pair) greeted(ctx context.Context, _ string) (*wire.ClientConn, error) {
	c, err := p.connect(ctx)
	if err == nil {
		<-c.Greeted()
	}
	return c, err
}

func (p *pair) loadOne(pool *wire.Pool, i int) {
	ctx := context.Background()
	if i%7 == 3 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(i)*10*time.Microsecond)
		defer cancel()
	}
	lease, err := pool.Get(ctx, host)
	if err != nil {
		if ctx.Err() == nil {
			p.t.Errorf("request %d: %v", i, err)
		}
		return
	}
	path := fmt.Sprintf("/%d", i)
	if body := fetch(p.t, lease.Conn, p.get(path)); body != path {
		p.t.Errorf("request %d was answered with %q", i, body)
	}
	lease.Release(true)
}
