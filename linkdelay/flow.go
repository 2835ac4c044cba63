package linkdelay

import "example.com/wiretest/linkdelay/internal/sender"

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

// connect opens a connection that the end of lane from has dialled.
func (w *wire) connect(from int, near, far string) *flow {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.begin(streams, from, near, far)
}

// clientLane is the one that leads away from the clients of a relay.
const clientLane = 0

// join opens a flow of datagrams between two sockets with their mailboxes, by
// lane: what the first sends is for there.
func (w *wire) join(from int, near, far string, there, back *mailbox) *flow {
	w.mu.Lock()
	defer w.mu.Unlock()
	f := w.begin(datagrams, from, near, far)
	f.users = 1
	f.ways[from].box, f.ways[1-from].box = there, back
	return f
}

// begin opens a flow of two ends.
func (w *wire) begin(k kind, from int, near, far string) *flow {
	f := newFlow(w, k, from, near, far)
	f.users = 2
	w.open = append(w.open, f)
	w.changed()
	return f
}

// carry makes the flow's streams, once it is connected.
func (f *flow) carry() {
	f.wire.mu.Lock()
	defer f.wire.mu.Unlock()
	for i, way := range f.ways {
		f.streams[i] = newStream(way)
	}
	if f.stranded {
		f.strand(f.wire.clock.now())
	}
}

// leave is called once by each end.
func (f *flow) leave() {
	f.wire.mu.Lock()
	defer f.wire.mu.Unlock()
	if f.users--; f.users == 0 {
		f.wire.end(f)
	}
}

func (w *wire) end(f *flow) {
	for i, o := range w.open {
		if o == f {
			w.open = append(w.open[:i], w.open[i+1:]...)
			break
		}
	}
	w.ended = append(w.ended, f)
	w.tidy()
	w.changed()
}

// keptFlows is how many flows that have ended Stats lists.
const keptFlows = 1000

// tidy forgets which flows they were that ended long ago, once nothing of
// theirs is on its way.
func (w *wire) tidy() {
	for len(w.ended) > keptFlows {
		oldest, now := w.ended[0], w.clock.now()
		ledgers := [2]Ledger{oldest.ledger(0, now), oldest.ledger(1, now)}
		if ledgers[0].travelling() || ledgers[1].travelling() {
			return
		}
		for i := range ledgers {
			w.past[i][oldest.kind].plus(ledgers[i])
		}
		w.ended[0] = nil
		w.ended = w.ended[1:]
	}
}

func (f *flow) ledger(lane int, now instant) Ledger {
	if s := f.streams[lane]; s != nil {
		return s.ledger(now)
	}
	return f.ways[lane].datagramLedger(now)
}

func (f *flow) strand(now instant) {
	f.stranded = true
	for i, way := range f.ways {
		way.swallow(forgotten, now)
		if s := f.streams[i]; s != nil {
			s.strand(now)
		}
	}
}
