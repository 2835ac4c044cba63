package linkdelay

import (
	"time"

	"example.com/wiretest/linkdelay/internal/sender"
)

// way is one direction of a flow.
type way struct {
	flow *flow
	lane *lane
	key  sender.Key
	own  line    // with PerConnection
	last instant // when the last packet arrives; nothing overtakes it

	tally
	segments Segments // of models that have ended
	queued   Count

	// Of datagrams:
	box   *mailbox
	ranks [2]int64 // how many were sent, by whether they are large
	met   arrivals // guarded by the mailbox
}

// path is what carries the way's packets now.
func (w *way) path() *Path { return &w.lane.track(w.flow.kind).path }

// arrival is when something without width arrives that is sent at an instant,
// behind everything that was sent before.
func (w *way) arrival(sent instant) instant {
	w.last = max(w.last, w.line().passes(sent).add(w.path().Delay))
	return w.last
}

// backDelay is how long an answer without width takes.
func (w *way) backDelay() time.Duration {
	return w.flow.ways[1-w.lane.index].path().Delay
}

// note writes a drop into the journal.
func (w *way) note(at instant, why cause, size, index, attempt int) {
	w.lane.wire.journal.note(event{
		at: at, network: w.flow.kind.String(), from: w.lane.index,
		why: why, size: size, index: index, attempt: attempt, flow: w.flow.ordinal,
	})
}

func (w *way) datagramLedger(now instant) Ledger {
	l := w.ledger()
	w.departAll(now)
	if w.box == nil {
		return l
	}
	w.box.mu.Lock()
	defer w.box.mu.Unlock()
	w.box.advance(now)
	l.Delivered = w.met.delivered
	l.drop(DroppedNoReceiver, w.met.noReceiver)
	l.drop(DroppedUnread, w.met.unread)
	l.LargestDelivered = w.met.largestDelivered
	l.LargestDropped = max(l.LargestDropped, w.met.largestDropped)
	l.InFlight = w.met.coming
	l.Queued = w.queued.atMost(w.met.coming) // what Forget took is in the queue still
	l.InFlight.take(int(l.Queued.Datagrams), int(l.Queued.Bytes))
	return l
}

// departAll also looks at lines that carry nothing any more.
func (w *way) departAll(now instant) {
	w.own.depart(now)
	for k := range w.lane.tracks {
		w.lane.tracks[k].line.depart(now)
	}
}
