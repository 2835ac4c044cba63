package linkdelay

import (
	"context"
	"errors"
	"math"
	"net"
	"time"
)

// instant is a point in time, counted from when its Network was made.
type instant int64

const never instant = math.MaxInt64

func (i instant) add(d time.Duration) instant { return i + instant(d) }

// clock is the time of a Network: virtual if it was made in a bubble.
type clock struct {
	epoch time.Time
	waker *waker // nil in a bubble, whose timers are exact
}

func newClock() clock {
	c := clock{epoch: time.Now()}
	if !virtual(c.epoch) {
		c.waker = &waker{clock: c}
	}
	return c
}

// virtual tells the time in a bubble, which begins in the year 2000: a bubble
// says in no other way that it is one.
func virtual(now time.Time) bool { return now.Year() < 2020 }

// close ends what keeps the time; nothing waits for it any more.
func (c clock) close() {
	if c.waker != nil {
		c.waker.close()
	}
}

func (c clock) now() instant { return instant(time.Since(c.epoch)) }

// at is the instant of a deadline, whose zero value means never.
func (c clock) at(deadline time.Time) instant {
	if deadline.IsZero() {
		return never
	}
	return instant(deadline.Sub(c.epoch))
}

var errForeign = errors.New("the Network was made on the other side of a synctest bubble's wall")

// check tells a Network that is used in a bubble but was made outside of it,
// or the reverse: the clocks are decades apart. Its channels would not count
// as blocked in virtual time, and the test would hang without a word.
func (c clock) check() error {
	const decade = 10 * 365 * 24 * time.Hour
	if now := c.now(); now < 0 || now > instant(decade) {
		return errForeign
	}
	return nil
}

// sleep waits until at. It ends early with the context's error, or with
// net.ErrClosed once done is closed.
func (c clock) sleep(ctx context.Context, at instant, done <-chan struct{}) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	left := at - c.now()
	if left <= 0 {
		return nil
	}
	rung := make(chan struct{}, 1)
	b := bell{ring: func() { rung <- struct{}{} }}
	c.set(&b, at)
	defer c.stop(&b)
	select {
	case <-rung:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-done:
		return net.ErrClosed
	}
}
