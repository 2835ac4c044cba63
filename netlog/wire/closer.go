package wire

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"example.com/wiretest/netlog"
)

// CloseBound is how long the Close of a fixture waits for what does not end by
// itself.
const CloseBound = 5 * time.Second

// Closer closes a fixture once, however often that is asked for. Its zero value is
// ready.
type Closer struct {
	mu   sync.Mutex    // never held while blocking, as a sync.Once would
	done chan struct{} // nil before the first Close, closed when that is over
	err  error         // written before done is closed
}

// Close calls shutdown, whose context ends after CloseBound, and says what it
// said: "fixture: close: what". Of the error of a Server's Close it takes what still
// runs, and leaves out whose Close that was. Any further call waits for the first,
// and returns the same.
func (c *Closer) Close(fixture string, shutdown func(context.Context) error) error {
	c.mu.Lock()
	first := c.done == nil
	if first {
		c.done = make(chan struct{})
	}
	c.mu.Unlock()
	if first {
		c.err = closeBy(fixture, shutdown)
		close(c.done)
	}
	<-c.done
	return c.err
}

func closeBy(fixture string, shutdown func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), CloseBound)
	defer cancel()
	err := shutdown(ctx)
	if err == nil {
		return nil
	}
	if server, ok := errors.AsType[*closeError](err); ok {
		return errors.New(fixture + ": close: " + server.what)
	}
	return fmt.Errorf("%s: close: %w", fixture, err)
}

// Await waits for wg, and reports whether it is over. When ctx ends first, its own
// goroutine waits on with what hangs, which the caller names.
func Await(ctx context.Context, wg *sync.WaitGroup) bool {
	done := make(chan struct{})
	go func() {
		wg.Wait()
		close(done)
	}()
	select {
	case <-done:
		return true
	case <-ctx.Done():
		return false
	}
}

// LeftOpen is the error for connections that a Close has waited for in vain, in
// order of their IDs. If there are none it is the accept loop that remains.
func LeftOpen(all iter.Seq[*netlog.ConnectionRecord]) error {
	var open []netlog.Connection
	for rec := range all {
		open = append(open, rec.Connection())
	}
	if len(open) == 0 {
		return errors.New("still running: the accept loop")
	}
	slices.SortFunc(open, func(a, b netlog.Connection) int { return cmp.Compare(a.ID, b.ID) })
	var errs []error
	for _, c := range open {
		errs = append(errs, fmt.Errorf("still running: connection %d from %s to %s (%.1fs)", c.ID, c.Remote, c.Host, time.Since(c.Opened).Seconds()))
	}
	return errors.Join(errs...)
}
