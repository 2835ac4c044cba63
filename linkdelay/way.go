package linkdelay

import (
	"time"

	"example.com/wiretest/linkdelay/internal/sender"
)

// flow is a connection, or the datagrams between two sockets. The wire's mutex
// guards it.
type flow struct {
	wire     *wire
	kind     kind
	ordinal  uint64    // among those of its kind on the wire, from 1
	ends     [2]string // addresses, on the side of hosts.a and on the other
	opened   instant
	users    int  // ends that are open
	stranded bool // by Forget
	window   int  // the initial one, in segments; 0 is the usual

	ways    [2]*way
	streams [2]*stream // of a connection, by lane
}

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

func newFlow(w *wire, k kind, from int, near, far string) *flow {
	w.ordinals[k]++
	f := &flow{wire: w, kind: k, ordinal: w.ordinals[k], opened: w.clock.now()}
	f.ends[from], f.ends[1-from] = near, far
	for i := range f.ways {
		f.ways[i] = &way{flow: f, lane: &w.lanes[i], key: f.keyOf(i)}
	}
	return f
}

// keyOf is the key of one direction. It belongs to the sides that the link
// names, not to the order of their names.
func (f *flow) keyOf(lane int) sender.Key {
	direction := uint64(lane ^ f.wire.up)
	return sender.NewKey(f.wire.seed, f.ordinal, 2*uint64(f.kind)+direction)
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
