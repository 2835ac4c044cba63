package chrome

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"
)

// Browser is a browser that runs, with one page, which Open navigates. Version
// is not to be changed.
type Browser struct {
	Version string // as "Chrome/156.0.8078.114"

	cfg     *Config
	dir     folder
	process *process
	conn    *conn
	session string // with the page

	ctx    context.Context // ends when the browser ends, or Finish begins; its cause says which
	cancel context.CancelCauseFunc
	turn   chan struct{} // holds a token while no Open runs

	mu     sync.Mutex
	target string           // the page, as the browser calls it; guarded by mu
	loads  map[string]*load // by loader; guarded by mu
	onPage func(error)      // ends the Open that runs; guarded by mu
	shown  string           // the loader of what the page shows; belongs to the goroutine that reads
	ending bool             // guarded by mu

	finished   chan struct{} // closed when Finish is over
	result     *Result       // written before finished is closed
	finishErr  error         // likewise
	complaints string        // what the browser wrote; likewise
	closeBound time.Duration
}

const (
	// startBound is how long a browser may take to answer. It takes a fraction
	// of a second, or several on a machine that runs many.
	startBound = time.Minute

	// closeBound is how long it may take to finish its NetLog and end.
	closeBound = 30 * time.Second
)

// New starts a browser for one test. It is ready when New returns, and closed
// by tb.Cleanup; tb fails when the browser did not end well. A mistaken cfg
// fails tb at once, and so does a browser that is not installed: see Find.
func New(tb testing.TB, cfg *Config) *Browser {
	tb.Helper()
	own := Config{}
	if cfg != nil {
		own = *cfg
	}
	if own.NetLog == "" {
		own.NetLog = artifact(tb)
	}
	b, err := Start(&own)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { b.cleanUp(tb) })
	return b
}

// artifact is a file of its own for each browser of a test.
func artifact(tb testing.TB) string {
	tb.Helper()
	file, err := os.CreateTemp(tb.ArtifactDir(), "chrome-*.json")
	if err != nil {
		tb.Fatalf("chrome: NetLog: %v", err)
	}
	file.Close()
	return file.Name()
}

func (b *Browser) cleanUp(tb testing.TB) {
	tb.Helper()
	known := b.isFinished() // and its error is the caller's
	if err := b.Close(); err != nil && !known {
		tb.Error(err)
	}
	if tb.Failed() {
		tb.Logf("chrome: the NetLog is %s (go test -artifacts keeps it)%s", b.cfg.NetLog, b.complaints)
	}
}

// Start starts a browser, which the caller closes, by Finish or by Close. It is
// ready when Start returns. The error names the field of cfg that is mistaken,
// and its value.
func Start(cfg *Config) (*Browser, error) { return start(context.Background(), cfg) }

func start(ctx context.Context, cfg *Config) (*Browser, error) {
	c, err := cfg.resolved()
	if err != nil {
		return nil, fmt.Errorf("chrome: %w", err)
	}
	dir, err := newFolder()
	if err != nil {
		return nil, fmt.Errorf("chrome: start: %w", err)
	}
	if c.NetLog == "" {
		c.NetLog = dir.netLog()
	}
	b, err := launched(c, dir)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("chrome: start: %w", err), dir.remove())
	}
	if err := b.greet(ctx); err != nil {
		ended := b.ctx.Err() != nil // and err says what it wrote
		b.process.kill()
		<-b.conn.ended
		if !ended {
			err = fmt.Errorf("%w%s", err, dir.complaints())
		}
		return nil, errors.Join(fmt.Errorf("chrome: start: %s: %w", c.Binary, err), dir.remove())
	}
	return b, nil
}

func launched(c *Config, dir folder) (*Browser, error) {
	p, err := launch(c, dir)
	if err != nil {
		return nil, err
	}
	b := &Browser{
		cfg: c, dir: dir, process: p,
		turn:     make(chan struct{}, 1),
		loads:    make(map[string]*load),
		finished: make(chan struct{}), closeBound: closeBound,
	}
	b.turn <- struct{}{}
	b.ctx, b.cancel = context.WithCancelCause(context.Background())
	b.conn = newConn(p.commands, b.heard)
	go b.conn.read(p.answers) // ends with the browser; Finish waits
	go b.watch()              // ends with the browser, for which kill waits
	return b, nil
}

// watch makes known that the browser ended.
func (b *Browser) watch() {
	<-b.process.ended
	b.cancel(fmt.Errorf("the browser has ended (%v)%s", b.process.cmd.ProcessState, b.dir.complaints()))
}

// greet waits until the browser has a page, and takes charge of that.
func (b *Browser) greet(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startBound, fmt.Errorf("no answer within %v", startBound))
	defer cancel()
	ctx, stop := b.whileAlive(ctx)
	defer stop()
	var version struct{ Product string }
	if err := b.conn.call(ctx, "", "Browser.getVersion", nil, &version); err != nil {
		return b.why(ctx, err)
	}
	b.Version = version.Product
	return b.why(ctx, b.attach(ctx))
}

// whileAlive is ctx, which also ends with the browser.
func (b *Browser) whileAlive(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(b.ctx, func() { cancel(context.Cause(b.ctx)) })
	return ctx, func() { stop(); cancel(nil) }
}

// why is the cause of err: where ctx has ended, errors follow from that. How the
// browser ended is known a moment after that it did.
func (b *Browser) why(ctx context.Context, err error) error {
	if errors.Is(err, errGone) {
		return orCause(ctx, err, time.Second)
	}
	return orCause(ctx, err, 0)
}

// orCause is why ctx has ended, or ends before long, or else err. No error stays
// none.
func orCause(ctx context.Context, err error, long time.Duration) error {
	if err == nil {
		return nil
	}
	soon, cancel := context.WithTimeout(ctx, long)
	defer cancel()
	<-soon.Done()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// attach opens a page of our own: which of those that a browser begins with is
// the one to be seen differs.
func (b *Browser) attach(ctx context.Context) error {
	if err := b.conn.call(ctx, "", "Target.setDiscoverTargets", params{"discover": true}, nil); err != nil {
		return err
	}
	var page struct{ TargetID string }
	if err := b.conn.call(ctx, "", "Target.createTarget", params{"url": "about:blank"}, &page); err != nil {
		return err
	}
	b.mu.Lock()
	b.target = page.TargetID
	b.mu.Unlock()
	var attached struct{ SessionID string }
	err := b.conn.call(ctx, "", "Target.attachToTarget", params{"targetId": page.TargetID, "flatten": true}, &attached)
	if err != nil {
		return err
	}
	b.session = attached.SessionID
	if err := b.conn.call(ctx, b.session, "Page.enable", nil, nil); err != nil { // answered when it is blank
		return err
	}
	return b.conn.call(ctx, b.session, "Page.setLifecycleEventsEnabled", params{"enabled": true}, nil)
}

type params map[string]any
