package wire_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/wiretest/netlog"
	"example.com/wiretest/netlog/wire"
)

// job is a request that takes the server a given time.
type job struct {
	at, work   time.Duration // when it is asked for, and how long it is served
	start, end time.Duration // when the pool let it go, and when it was answered
	stalled    string
	stall      time.Duration
}

// someJobs are n jobs of 100 to 400 ms, of which every spread-th begins 1 ms
// later; all at once if spread is 0.
func someJobs(n, spread int) []*job {
	jobs := make([]*job, n)
	for i := range jobs {
		jobs[i] = &job{work: time.Duration(100+i*7919%300) * time.Millisecond}
		if spread > 0 {
			jobs[i].at = time.Duration(i/spread) * time.Millisecond
		}
	}
	return jobs
}

// firstComeFirstServed says when each job starts on so many slots.
func firstComeFirstServed(jobs []*job, slots int) []time.Duration {
	free := make([]time.Duration, slots)
	starts := make([]time.Duration, len(jobs))
	for i, j := range jobs {
		slices.Sort(free)
		starts[i] = max(j.at, free[0])
		free[0] = starts[i] + j.work
	}
	return starts
}

// sleeper serves as long as the path says, in nanoseconds.
func sleeper(_ http.ResponseWriter, r *http.Request) {
	d, _ := strconv.ParseInt(r.URL.Path[1:], 10, 64)
	select {
	case <-time.After(time.Duration(d)):
	case <-r.Context().Done():
	}
}

// run lets all jobs go through the pool. Jobs of one instant are asked for in
// order, a nanosecond of virtual time apart.
func (p *pair) run(pool *wire.Pool, jobs []*job) {
	begin := time.Now()
	var all sync.WaitGroup
	for i, j := range jobs {
		all.Go(func() {
			time.Sleep(j.at + time.Duration(i))
			lease, err := pool.Get(context.Background(), "origin.test:443")
			if err != nil {
				p.t.Errorf("job %d: %v", i, err)
				return
			}
			j.start, j.stalled = time.Since(begin), lease.Stalled
			if want := j.start - j.at - time.Duration(i); lease.Wait != want {
				p.t.Errorf("job %d waited %v, the lease says %v", i, want, lease.Wait)
			}
			if lease.Stalled != "" {
				j.stall = time.Since(lease.StallAt)
			}
			fetch(p.t, lease.Conn, p.get(fmt.Sprintf("/%d", j.work)))
			j.end = time.Since(begin)
			lease.Release(true)
		})
	}
	all.Wait()
}

func (p *pair) pool(cfg wire.PoolConfig) *wire.Pool {
	if cfg.Dial == nil {
		cfg.Dial = func(ctx context.Context, _ string) (*wire.ClientConn, error) { return p.connect(ctx) }
	}
	pool := wire.NewPool(cfg)
	p.t.Cleanup(func() { pool.Close() })
	return pool
}

func TestPoolIsFirstComeFirstServed(t *testing.T) {
	for _, s := range allSpoken {
		slots, kind := 6, netlog.StalledMaxSocketsPerGroup
		if s.protocol == "h2" {
			slots, kind = 30, netlog.StalledMaxStreams
		}
		for name, spread := range map[string]int{"at once": 0, "staggered": 4} {
			for _, expectH2 := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s/%s/expect h2 %t", s.name, name, expectH2), func(t *testing.T) {
					inMemory(t, func(t *testing.T, w *world) {
						p := &pair{t: t, world: w, spoken: s, config: wire.ServerConfig{MaxConcurrentStreams: 30}}
						p.start(sleeper)
						pool := p.pool(wire.PoolConfig{MaxConns: 6, ExpectH2: expectH2})
						jobs := someJobs(64, spread)
						p.run(pool, jobs)
						requireSchedule(t, jobs, slots, kind)
						conns := p.clientLog.Connections(netlog.Used())
						require.Len(t, conns, map[string]int{"http/1.1": 6, "h2": 1}[s.protocol])
						require.Len(t, p.serverLog.Requests(), len(jobs))
						if s.protocol == "h2" {
							require.Equal(t, slots, conns[0].MaxStreams)
						}
					})
				})
			}
		}
	}
}

// requireSchedule compares with the scheduler of the test. A nanosecond for
// each job is how they were put in order.
func requireSchedule(t testing.TB, jobs []*job, slots int, kind string) {
	t.Helper()
	for i, want := range firstComeFirstServed(jobs, slots) {
		j := jobs[i]
		require.InDelta(t, want, j.start, float64(len(jobs)*2), "start of job %d", i)
		require.InDelta(t, want+j.work, j.end, float64(len(jobs)*2), "end of job %d", i)
		if want == j.at {
			require.Empty(t, j.stalled, "job %d went at once", i)
			continue
		}
		require.Equal(t, kind, j.stalled, "job %d waited %v", i, want-j.at)
		require.InDelta(t, want-j.at, j.stall, float64(len(jobs)*2), "stall of job %d", i)
	}
}

// The server allows more than the hundred that a client begins with: the rest
// goes as soon as its settings are there, and not with the first answer.
func TestRequestsGoWhenTheLimitIsRaised(t *testing.T) {
	for _, s := range allSpoken {
		if s.protocol != "h2" {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			inMemory(t, func(t *testing.T, w *world) {
				p := &pair{t: t, world: w, spoken: s, config: wire.ServerConfig{MaxConcurrentStreams: 256}}
				p.start(sleeper)
				jobs := someJobs(120, 0)
				p.run(p.pool(wire.PoolConfig{ExpectH2: true}), jobs)
				for i, j := range jobs {
					require.InDelta(t, 0, j.start, 1000, "start of job %d", i)
					require.InDelta(t, j.work, j.end, 1000, "end of job %d", i)
				}
				require.Equal(t, 120, p.serverLog.Connections()[0].MaxStreams)
			})
		})
	}
}
