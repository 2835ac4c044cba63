package linkdelay

import (
	"context"
	"fmt"
	"time"
)

// Condition is what WaitFor waits for. It must be one that, once true, Stats
// goes on to show, and must not call the Wire.
type Condition func(Stats) bool

// DroppedOver is that a datagram of more than so many bytes was dropped, in
// either direction, for any cause.
func DroppedOver(size int) Condition {
	return func(s Stats) bool {
		return max(s.Up.Datagrams.LargestDropped, s.Down.Datagrams.LargestDropped) > size
	}
}

// Dropped is that at least so many datagrams and segments were dropped for a
// cause, in both directions together.
func Dropped(why Cause, n int64) Condition {
	return func(s Stats) bool {
		var sum int64
		for _, t := range []Traffic{s.Up, s.Down} {
			sum += t.Datagrams.Dropped[why].Datagrams + t.Streams.Segments.Lost[why]
		}
		return sum >= n
	}
}

// Delivered is that at least so many bytes have arrived in a direction, of streams
// and datagrams together.
func Delivered(d Direction, bytes int64) Condition {
	return func(s Stats) bool {
		t := s.Up
		if d == Down {
			t = s.Down
		}
		return t.Streams.Delivered.Bytes+t.Datagrams.Delivered.Bytes >= bytes
	}
}

// Opened is that at least so many connections ("tcp"), or pairs of sockets ("udp"),
// were ever opened, though they may be closed by now. A connection counts from
// when it is dialled.
func Opened(network string, n int) Condition {
	return func(s Stats) bool { return s.Opened(network) >= n }
}

// WaitFor waits until a condition is true, without polling; it costs a look at
// Stats whenever something happens on the link. Its error is the context's, and
// says what the Stats were then.
func (w *Wire) WaitFor(ctx context.Context, cond Condition) error {
	for {
		stats, change, next := w.look()
		if cond(stats) {
			return nil
		}
		if err := w.await(ctx, change, next); err != nil {
			return fmt.Errorf("linkdelay: WaitFor: %w; until then:\n%v", err, stats)
		}
	}
}

// look also returns what is closed by the next change that somebody makes, and
// when the next one happens by itself.
func (w *Wire) look() (Stats, <-chan struct{}, instant) {
	w.wire.mu.Lock()
	defer w.wire.mu.Unlock()
	now := w.wire.clock.now()
	w.wire.play(now)
	next := w.wire.next(now) // first: a receiver may meanwhile take what the Stats still have on its way
	stats := w.stats(now)
	if w.wire.change == nil {
		w.wire.change = make(chan struct{})
	}
	return stats, w.wire.change, next
}

func (w *Wire) await(ctx context.Context, change <-chan struct{}, next instant) error {
	var due <-chan time.Time
	if next != never {
		timer := time.NewTimer(time.Duration(next - w.wire.clock.now()))
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-change:
		return nil
	case <-due:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// next is when something may arrive or leave.
func (w *wire) next(now instant) instant {
	at := never
	w.eachStream(func(s *stream) { at = min(at, s.nextEvent(now)) })
	w.eachSocketWay(func(way *way) { at = min(at, way.box.next(way)) })
	for i := range w.lanes {
		for k := range w.lanes[i].tracks {
			if q := &w.lanes[i].tracks[k].line.leaving; q.len() > 0 {
				at = min(at, q.front().at)
			}
		}
	}
	if at == never {
		return never
	}
	return max(at, now+1)
}

// next is when a datagram arrives, perhaps of the way.
func (b *mailbox) next(w *way) instant {
	b.mu.Lock()
	defer b.mu.Unlock()
	if w.met.coming.Datagrams == 0 {
		return never
	}
	return b.coming.next()
}
