package linkdelay

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// crew is what works for a relay, a wrapper or a Network on sockets: goroutines
// that it starts, and what has to be aborted for them to end. Its close waits
// for all of them.
type crew struct {
	clock  clock
	ctx    context.Context // ends with the crew
	cancel context.CancelFunc

	mu     sync.Mutex
	closed bool
	open   map[aborter]struct{}
	works  map[string]int // how many goroutines do what
	idle   chan struct{}  // closed once the crew is closed and nobody works
}

func newCrew(clock clock) *crew {
	c := &crew{
		clock: clock,
		open:  make(map[aborter]struct{}),
		works: make(map[string]int),
		idle:  make(chan struct{}),
	}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c
}

// start runs do in a goroutine of the crew, unless the crew is closed.
func (c *crew) start(what string, do func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.works[what]++
	go func() {
		defer c.ended(what)
		do()
	}()
	return true
}

func (c *crew) ended(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.works[what]--; c.works[what] == 0 {
		delete(c.works, what)
	}
	c.settle()
}

func (c *crew) settle() {
	if c.closed && len(c.works) == 0 {
		close(c.idle)
	}
}

// keep remembers what close has to abort; too late it aborts it now.
func (c *crew) keep(a aborter) bool {
	c.mu.Lock()
	closed := c.closed
	if !closed {
		c.open[a] = struct{}{}
	}
	c.mu.Unlock()
	if closed {
		a.abort()
	}
	return !closed
}

func (c *crew) drop(a aborter) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.open, a)
}

// pause waits for as long as a failing socket should be left alone; its error
// is that the crew is closed.
func (c *crew) pause() error {
	return c.clock.sleep(c.ctx, c.clock.now().add(10*time.Millisecond), nil)
}

// closeWithin is how long close waits for what it has aborted.
const closeWithin = 10 * time.Second

// close aborts everything and waits for it, but not for ever: its error names
// what hangs. Closing again waits again.
func (c *crew) close(name string) error {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return c.await(name)
	}
	all := slices.Collect(maps.Keys(c.open))
	c.closed = true
	c.open = nil
	c.settle()
	c.mu.Unlock()

	c.cancel()
	for _, a := range all {
		a.abort()
	}
	err := c.await(name)
	c.clock.close()
	return err
}

func (c *crew) await(name string) error {
	late := time.NewTimer(closeWithin)
	defer late.Stop()
	select {
	case <-c.idle:
		return nil
	case <-late.C:
		return fmt.Errorf("linkdelay: %s: Close: after %v still running: %s", name, closeWithin, c.working())
	}
}

func (c *crew) working() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []string
	for what, n := range c.works {
		all = append(all, fmt.Sprintf("%s (%d)", what, n))
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}
