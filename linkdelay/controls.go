package linkdelay

import (
	"fmt"
	"testing"

	"example.com/wiretest/netlog"
)

// Wire is a Link at work, which can be changed while it carries traffic: that
// of two hosts is [Network.Wire], a Relay and a Wrapper have one of their own. No
// method but WaitFor blocks, and none reorders what is on its way. All may be
// called from several goroutines at once.
type Wire struct {
	wire *wire
	from string // the side that Up leads from
	fail func(error)
}

// clientWire is that of what has clients on one side: mistakes panic.
func clientWire(c clock, link Link) *Wire {
	return &Wire{wire: newWire(c, "client", "target", link), from: "client", fail: func(err error) { panic(err) }}
}

// ownedBy has a test fail by mistakes, and close at its end what the wire is of.
func (w *Wire) ownedBy(tb testing.TB, close func() error) {
	w.fail = func(err error) { tb.Helper(); tb.Fatal(err) }
	tb.Cleanup(func() {
		if err := close(); err != nil {
			tb.Error(err)
		}
		w.wire.reportTo(tb)
	})
}

// Direction is one of the two of a Wire.
type Direction int

// Up leads from the side that is named first, of a relay from the clients.
const (
	Up Direction = iota
	Down
)

// String is "up" or "down".
func (d Direction) String() string {
	if d == Up {
		return "up"
	}
	return "down"
}

func (w *Wire) lane(d Direction) *lane {
	up := w.wire.from(w.from)
	if d == Up {
		return &w.wire.lanes[up]
	}
	return &w.wire.lanes[1-up]
}

// SetLink changes the link, now: what is sent from now on travels by it, and
// overtakes nothing that was sent before; what was sent keeps its time. A
// mistaken link fails the test, or panics if there is none.
func (w *Wire) SetLink(link Link) {
	if err := link.validate(); err != nil {
		w.fail(err)
		return
	}
	w.wire.set(w.from, link)
}

// do changes the wire at an instant until which all has been played.
func (w *Wire) do(what string, change func(now instant)) {
	w.wire.mu.Lock()
	defer w.wire.mu.Unlock()
	now := w.wire.clock.now()
	w.wire.play(now)
	w.wire.journal.note(event{at: now, what: what})
	change(now)
	w.wire.wake()
}

// Cut swallows everything, what is on its way and what is sent from now on,
// until Heal; nobody is told. Datagrams are lost. Connections send again what
// was lost, ever more seldom, as Linux does, and so go on some time after Heal;
// when nothing has come back for about 15 minutes they fail with ETIMEDOUT.
func (w *Wire) Cut() {
	w.do("Cut", func(now instant) {
		w.wire.epoch++
		for i := range w.wire.lanes {
			l := &w.wire.lanes[i]
			l.cut = true
			for k := range l.tracks {
				l.tracks[k].line.clear(now)
			}
		}
		w.wire.eachStream(func(s *stream) { s.way.own.clear(now) })
		w.wire.eachSocketWay(func(way *way) {
			way.own.clear(now)
			way.swallow(byCut, now)
		})
		w.wire.eachStream(func(s *stream) { s.swallow(now) })
	})
}

// Heal ends what Cut, BlockUDP and BlockAfter began.
func (w *Wire) Heal() {
	w.do("Heal", func(instant) {
		for i := range w.wire.lanes {
			w.wire.lanes[i].cut = false
			w.wire.lanes[i].blocked = [2]bool{}
		}
		w.wire.limit = Count{}
	})
}

// Forget strands the connections that are open now, and the sockets that have
// exchanged datagrams: nothing of theirs arrives any more, not even their end,
// and nobody is told, as when a NAT has lost its state. New connections, and
// datagrams from new sockets, pass.
func (w *Wire) Forget() {
	w.do("Forget", func(now instant) {
		for _, f := range w.wire.open {
			f.strand(now)
		}
	})
}

// Abort resets the connections that are open, on both sides at once: what is on
// its way is lost, what has arrived can be read. Datagrams pass.
func (w *Wire) Abort() {
	w.do("Abort", func(now instant) {
		w.wire.eachStream(func(s *stream) { s.breaks(now) })
	})
}

// Pause stops one direction until Resume. Nothing is lost: what would arrive in
// the meantime arrives then, in its order. Those who connect have to wait.
func (w *Wire) Pause(d Direction) {
	w.do("Pause "+d.String(), func(now instant) {
		l := w.lane(d)
		if l.paused() {
			return
		}
		l.pausedAt = now
		l.eachStream(func(s *stream) { s.freeze(now) })
		l.eachSocketWay(func(way *way) { way.box.hold(way, now) })
	})
}

// Resume ends a Pause.
func (w *Wire) Resume(d Direction) {
	w.do("Resume "+d.String(), func(now instant) {
		l := w.lane(d)
		l.pausedAt = never
		l.eachSocketWay(func(way *way) { way.box.release(way, now) })
	})
}

func (l *lane) eachStream(do func(*stream)) {
	l.wire.eachStream(func(s *stream) {
		if s.way.lane == l {
			do(s)
		}
	})
}

func (l *lane) eachSocketWay(do func(*way)) {
	l.wire.eachSocketWay(func(w *way) {
		if w.lane == l {
			do(w)
		}
	})
}

// BlockUDP loses every datagram that is sent from now on, in both directions,
// until Heal. Connections pass.
func (w *Wire) BlockUDP() {
	w.do("BlockUDP", func(instant) { w.wire.block("datagrams blocked", datagrams) })
}

// BlockAfter lets so much pass, counted from now in both directions, and loses
// what is sent then, until Heal: after n.Datagrams all datagrams, after n.Bytes
// everything. Zero does not limit. It replaces an earlier one.
func (w *Wire) BlockAfter(n Count) {
	if n.Datagrams < 0 || n.Bytes < 0 {
		w.fail(fmt.Errorf("linkdelay: BlockAfter: %d datagrams and %d bytes: a count is negative", n.Datagrams, n.Bytes))
		return
	}
	w.do(fmt.Sprintf("BlockAfter %d datagrams, %d bytes", n.Datagrams, n.Bytes), func(instant) { w.wire.limit = n })
}

// Rebind gives each socket that has exchanged datagrams a new port, as the
// other side sees it: what Up leads from is behind a NAT that loses its state
// and makes it anew. What the other side sends to the old address is lost.
// Connections do not change.
func (w *Wire) Rebind() {
	w.do("Rebind", func(instant) { w.wire.rebind(w.wire.from(w.from)) })
	w.wire.mu.Lock()
	hooks := w.wire.onRebind
	w.wire.mu.Unlock()
	for _, hook := range hooks {
		hook()
	}
}

// Record writes every drop and every change from now on into a netlog, as Notes
// of the types EventDrop and EventChange. Nil ends it.
func (w *Wire) Record(log *netlog.Log) { w.wire.journal.recordIn(log) }

// Link is the link as it is now.
func (w *Wire) Link() Link {
	w.wire.mu.Lock()
	defer w.wire.mu.Unlock()
	return w.wire.link.clone()
}

// String is the seed and the last events, for the message of a test that fails.
func (w *Wire) String() string { return w.wire.describe() }

func (w *wire) describe() string {
	w.mu.Lock()
	seed, names := w.seed, [2]string{w.hosts.a, w.hosts.b}
	if w.up == 1 {
		names[0], names[1] = names[1], names[0]
	}
	w.mu.Unlock()
	s := fmt.Sprintf("link from %s to %s, seed %d", names[0], names[1], seed)
	if events := w.journal.String(); events != "" {
		s += ", last events:\n" + events
	}
	return s
}
