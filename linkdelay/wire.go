package linkdelay

import (
	"sync"
	"testing"
)

// pair is two hosts, in the order of their names.
type pair struct{ a, b string }

func pairOf(one, other string) pair {
	if one > other {
		one, other = other, one
	}
	return pair{one, other}
}

// wire is the Link between two hosts, one lane for each direction. It is the
// same one for as long as the Network lives: what changes is what it does.
// Its mutex also guards the streams that it carries, because they may share a
// line; nothing blocks under it but by waiting for an alarm.
type wire struct {
	clock   clock
	hosts   pair
	journal journal

	mu    sync.Mutex
	lanes [2]lane // from hosts.a, and from hosts.b
	up    int     // the lane that Link.Up became last
	seed  uint64
	link  Link

	open     []*flow // in order of opening
	ended    []*flow
	past     [2][2]Ledger // of flows forgotten, by lane and kind
	ordinals [2]uint64    // by kind
	sockets  map[socketPair]*flow
	nat      nat
	onRebind []func() // called by Rebind, without the mutex

	limit  Count         // what BlockAfter lets pass; 0 is no limit
	epoch  int           // how often it was cut
	change chan struct{} // closed by the next change; nil if nobody waits
}

// socketPair is two sockets for datagrams, as they call themselves.
type socketPair struct{ a, b string }

func newWire(c clock, from, to string, link Link) *wire {
	w := &wire{clock: c, hosts: pairOf(from, to), sockets: make(map[socketPair]*flow)}
	w.journal.clock = c
	w.journal.names = [2]string{w.hosts.a, w.hosts.b}
	for i := range w.lanes {
		w.lanes[i].wire, w.lanes[i].index, w.lanes[i].pausedAt = w, i, never
	}
	w.set(from, link)
	return w
}

// from is the lane that leads away from a host.
func (w *wire) from(host string) int {
	if host == w.hosts.a {
		return 0
	}
	return 1
}

// set changes the link; Up leads away from the host that is named.
func (w *wire) set(from string, link Link) {
	link = link.clone()
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.clock.now()
	w.play(now)
	w.up, w.seed, w.link = w.from(from), link.Seed, link
	w.lanes[w.up].set(link.Up, link.Seed, now)
	w.lanes[1-w.up].set(link.Down, link.Seed, now)
	for _, f := range w.open {
		for i := range f.ways {
			f.ways[i].key = f.keyOf(i)
		}
	}
	w.wake()
}

// random reports whether anything on the link is drawn from its seed.
func (w *wire) random() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range w.lanes {
		for _, k := range []kind{streams, datagrams} {
			if w.lanes[i].track(k).path.random() {
				return true
			}
		}
	}
	return false
}

// wake makes whoever waits for a stream look again.
func (w *wire) wake() {
	w.eachStream(func(s *stream) {
		s.alarm.wake()
		s.writer.wake()
	})
	w.changed()
}

// play plays everything until now.
func (w *wire) play(now instant) {
	for i := range w.lanes {
		w.lanes[i].play(now)
		w.lanes[i].tracks[datagrams].line.depart(now)
	}
	w.eachStream(func(s *stream) { s.play(now) })
}

// reportTo prints the seed and the last events if the test has failed and there
// was something to see.
func (w *wire) reportTo(tb testing.TB) {
	tb.Helper()
	if tb.Failed() && (w.random() || !w.journal.empty()) {
		tb.Logf("linkdelay: %s", w.describe())
	}
}

func (w *wire) eachStream(do func(*stream)) {
	for _, f := range w.open {
		for _, s := range f.streams {
			if s != nil {
				do(s)
			}
		}
	}
}

// eachSocketWay is also for those that are closed: something may be on its way.
func (w *wire) eachSocketWay(do func(*way)) {
	for _, flows := range [][]*flow{w.open, w.ended} {
		for _, f := range flows {
			for _, way := range f.ways {
				if way.box != nil {
					do(way)
				}
			}
		}
	}
}

// allowed is how many of the next bytes may pass before BlockAfter blocks.
func (w *wire) allowed(n int) int {
	if w.limit.Bytes > 0 {
		return int(min(int64(n), w.limit.Bytes))
	}
	return n
}

// passed counts what was sent, against what BlockAfter lets pass.
func (w *wire) passed(packets, bytes int) {
	w.changed()
	if w.limit.Datagrams > 0 && packets > 0 {
		if w.limit.Datagrams--; w.limit.Datagrams == 0 {
			w.block("BlockAfter: datagrams blocked", datagrams)
		}
	}
	if w.limit.Bytes > 0 {
		if w.limit.Bytes = max(0, w.limit.Bytes-int64(bytes)); w.limit.Bytes == 0 {
			w.block("BlockAfter: everything blocked", streams, datagrams)
		}
	}
}

func (w *wire) block(what string, kinds ...kind) {
	for i := range w.lanes {
		for _, k := range kinds {
			w.lanes[i].blocked[k] = true
		}
	}
	w.journal.note(event{at: w.clock.now(), what: what})
	w.changed()
}

// changed wakes whoever waits for a condition.
func (w *wire) changed() {
	if w.change != nil {
		close(w.change)
		w.change = nil
	}
}
