package linkdelay

import "example.com/wiretest/linkdelay/internal/sender"

// lane is one direction of a wire. The wire's mutex guards it.
type lane struct {
	wire   *wire
	index  int
	tracks [2]track // of streams, and of datagrams if they have one of their own
	late   lateness

	cut      bool
	blocked  [2]bool // streams, datagrams
	pausedAt instant // never if it is not
	models   []*stream
}

// kind tells streams from datagrams.
type kind int

const (
	streams kind = iota
	datagrams
)

func (k kind) String() string { return [...]string{"tcp", "udp"}[k] }

// track is a Path at work.
type track struct {
	path   Path
	line   line
	bursts bursts
}

// track is what carries a kind now.
func (l *lane) track(k kind) *track {
	if k == datagrams && l.tracks[streams].path.UDP != nil {
		return &l.tracks[datagrams]
	}
	return &l.tracks[streams]
}

// set changes the path. The caller has played the lane until now.
func (l *lane) set(p Path, seed uint64, now instant) {
	if p.UDP != nil {
		l.tracks[datagrams].set(*p.UDP, sender.NewKey(seed, burstsOrdinal, uint64(2+l.index)), now)
	}
	l.tracks[streams].set(p, sender.NewKey(seed, burstsOrdinal, uint64(l.index)), now)
	l.requeue(now)
}

// burstsOrdinal is no connection's.
const burstsOrdinal = 1 << 62

func (t *track) set(p Path, key sender.Key, now instant) {
	t.path = p
	t.line.configure(&p)
	if t.bursts.Burst != p.Burst || t.bursts.key != key {
		t.bursts = bursts{Burst: p.Burst, key: key, start: now}
	}
}

// line is what carries a way's packets now.
func (w *way) line() *line {
	t := w.lane.track(w.flow.kind)
	if !t.path.PerConnection {
		return &t.line
	}
	w.own.configure(&t.path)
	return &w.own
}

// requeue makes streams that wait for a line wait for the one that is theirs
// now.
func (l *lane) requeue(now instant) {
	var waiting []*stream
	collect := func(from *line) {
		for from.waiting.len() > 0 {
			s := from.waiting.pop()
			s.waiting = false
			waiting = append(waiting, s)
		}
	}
	collect(&l.tracks[streams].line)
	for _, f := range l.wire.open {
		if s := f.streams[l.index]; s != nil && s.waiting {
			collect(&s.way.own)
		}
	}
	for _, s := range waiting {
		s.way.line().wait(s, now)
	}
}

// play plays what happens on the lane until now, where one thing depends on
// others: streams that wait for the shared line, and the models of those that
// share it. Each model plays alone where nothing is shared.
func (l *lane) play(now instant) {
	t := &l.tracks[streams]
	if len(l.models) == 0 || t.path.Rate == 0 || t.path.PerConnection {
		t.line.play(now)
		return
	}
	for {
		next, first := t.line.next(), (*stream)(nil)
		for _, s := range l.models {
			if at := instant(s.model.Next()); at < next {
				next, first = at, s
			}
		}
		if next > now {
			break
		}
		if first == nil {
			t.line.play(next)
			continue
		}
		first.model.Advance(sender.Instant(next))
	}
	t.line.play(now)
}

// horizon is until when packets arrive. What arrived in the instant of a pause
// was played before it.
func (l *lane) horizon(now instant) instant { return min(now, l.pausedAt-1) }

func (l *lane) paused() bool { return l.pausedAt != never }

// stops is the cause that loses what is sent now whatever it is, or none.
func (w *way) stops() cause {
	switch {
	case w.flow.stranded:
		return forgotten
	case w.lane.cut:
		return byCut
	case w.lane.blocked[w.flow.kind]:
		return byBlock
	}
	return none
}
