package pageload

import (
	"context"
	"fmt"
	"net/url"
	"sync"
	"time"

	"example.com/wiretest/netlog"
	"example.com/wiretest/netlog/wire"
)

// Result is a finished load.
type Result struct {
	// Duration is from the start of the first dial to the last byte of the
	// last answer.
	Duration time.Duration
	// Log has every connection, request and stall of the load.
	Log *netlog.Log
}

// Load loads a page, or one batch, and closes what it opened. Redirects are followed,
// 20 at most for each URL, and each is a request of the Log. An answer with an error
// status is an answer. A request without one makes Load return an
// error that names the first such, beside the Result: the rest was loaded. One that
// the server says it has not processed, by REFUSED_STREAM, a GOAWAY of NO_ERROR or
// H3_REQUEST_REJECTED, is sent up to three times, which is Chrome's bound, before it
// counts as such; so is one whose TCP connection had carried others and was gone.
func Load(ctx context.Context, cfg *Config) (*Result, error) {
	p, err := cfg.plan()
	if err != nil {
		return nil, err
	}
	pools := newPools(p)
	defer pools.close()
	start := time.Now()
	err = p.load(ctx, pools)
	return &Result{Duration: time.Since(start), Log: p.log}, err
}

func (p *plan) load(ctx context.Context, pools *pools) error {
	batch := p.batch
	if p.page != nil {
		doc, err := p.fetch(pools, p.page, true).run(ctx)
		if err != nil {
			return err
		}
		batch = subresources(doc.base, doc.body)
	}
	return p.loadBatch(ctx, pools, batch)
}

// loadBatch starts a goroutine per request and waits for all of them. Each
// takes its place in the queue before the next one starts: that is what the
// nanosecond is for, since virtual time only passes when all have come to rest.
func (p *plan) loadBatch(ctx context.Context, pools *pools, batch []*url.URL) error {
	errs := make([]error, len(batch))
	var wg sync.WaitGroup
	for i, u := range batch {
		part := p.fetch(pools, u, false)
		wg.Go(func() { _, errs[i] = part.run(ctx) })
		time.Sleep(time.Nanosecond)
	}
	wg.Wait()
	return summary(errs)
}

func (p *plan) fetch(pools *pools, at *url.URL, keep bool) *fetch {
	return &fetch{plan: p, pools: pools, url: at, asked: time.Now(), keep: keep}
}

func summary(errs []error) error {
	failed := 0
	for _, err := range errs {
		if err != nil {
			failed++
		}
	}
	first := firstOf(errs)
	if failed < 2 {
		return first
	}
	return fmt.Errorf("%w (and %d more of %d failed)", first, failed-1, len(errs))
}

func firstOf(errs []error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// pools are the connections of one load: proxied and direct hosts alike, but
// plain http and https apart.
type pools struct {
	byScheme map[string]*wire.Pool
	sessions *sessions
}

func newPools(p *plan) *pools {
	all := &pools{byScheme: make(map[string]*wire.Pool), sessions: newSessions(p)}
	for _, scheme := range []string{"http", "https"} {
		d := &dialer{plan: p, scheme: scheme}
		all.byScheme[scheme] = wire.NewPool(wire.PoolConfig{
			Dial:     d.dial,
			MaxConns: p.perHost,
			ExpectH2: d.offersH2(),
		})
	}
	return all
}

func (all *pools) close() {
	all.sessions.close()
	for _, pool := range all.byScheme {
		pool.Close()
	}
}
