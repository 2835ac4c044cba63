package netlog

import "time"

// wait is the time that an exchange has no connection.
type wait struct {
	since   time.Time // zero: it does not wait
	dialled time.Time // when the dial for it began; zero: it did not
	place   group
	full    bool // the limit was reached when it asked
	freed   int  // slots given back when it asked
}

// asks is the beginning of a wait. net/http calls it once or twice for each.
func (x *exchange) asks() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.wait.since.IsZero() {
		return
	}
	x.wait = wait{since: time.Now(), place: x.place}
	x.wait.full, x.wait.freed = x.t.slots.ask(x.place)
}

// dials notes that a dial begins, for x unless x is nil, and says whose slot it
// takes.
func (x *exchange) dials() group {
	if x == nil {
		return group{}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if w := &x.wait; !w.since.IsZero() && w.dialled.IsZero() {
		w.dialled = time.Now()
		x.t.slots.settle(w.place)
	}
	return x.place
}

// settle ends the wait and records what of it was spent in net/http's queue.
// ready is whether the connection lay ready at the instant that it is given.
func (x *exchange) settle(ready func(time.Time) bool) {
	x.mu.Lock()
	w := x.wait
	x.wait = wait{}
	x.mu.Unlock()
	if w.since.IsZero() {
		return
	}
	if w.dialled.IsZero() {
		x.t.slots.settle(w.place)
	}
	if queued := w.queued(x.t.slots.freed(w.place), ready); queued > 0 {
		x.t.log.Stall(Stall{
			Kind: StalledMaxSocketsPerGroup, Host: x.host, URL: x.url, Request: x.id,
			Start: w.since, Duration: queued,
		})
	}
}

// queued is how long the request lay in the queue. The proof that one which
// dialled at last did so is a slot that came free meanwhile; of one that did not
// dial, that the connection it got was busy or not there when it asked.
func (w *wait) queued(freed int, ready func(time.Time) bool) time.Duration {
	switch {
	case !w.full:
		return 0
	case w.dialled.IsZero() && ready(w.since):
		return 0
	case w.dialled.IsZero():
		return time.Since(w.since)
	case freed == w.freed:
		return 0
	}
	return w.dialled.Sub(w.since)
}
