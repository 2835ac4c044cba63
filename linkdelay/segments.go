package linkdelay

import (
	"time"

	"example.com/wiretest/linkdelay/internal/sender"
)

// segments is a way as the path of the model's segments.
type segments struct{ way *way }

// Send decides about a segment that leaves at an instant.
func (g segments) Send(sent sender.Instant, s sender.Segment) (sender.Instant, bool) {
	w, at := g.way, instant(sent)
	t, l := w.lane.track(streams), w.line()
	d := dice{w.key, s}
	why := w.stops()
	if why == none {
		why = t.lost(d, w.packetOf(at, s), at)
	}
	if why == none && s.Width > 0 && t.path.control() != sender.NoWindow {
		l.depart(at)
		if l.full(s.Size) {
			why = queueFull
		}
	}
	if why != none {
		w.lost[why]++
		w.note(at, why, s.Size, indexOf(s), s.Attempt)
		w.lane.wire.changed()
		return 0, true
	}
	left := l.passes(at)
	if s.Width > 0 {
		l.depart(at)
		left = l.enter(at, s.Width, leaving{size: s.Size, way: w})
	}
	arrives := max(left.add(d.delay(&t.path)), w.last)
	return sender.Instant(arrives), false
}

// Back is when an acknowledgement arrives that leaves at an instant.
func (g segments) Back(sent sender.Instant) sender.Instant {
	return sender.Instant(instant(sent).add(g.way.backDelay()))
}

// Least is a delay that no segment undercuts.
func (g segments) Least() time.Duration {
	p := g.way.path()
	if p.Jitter == 0 {
		return p.Delay
	}
	if p.Shape == Normal {
		return max(0, p.Delay-3*p.Jitter)
	}
	return p.Delay - p.Jitter
}

func (w *way) packetOf(sent instant, s sender.Segment) Packet {
	return Packet{
		Network: "tcp", Connection: int(w.flow.ordinal), Index: indexOf(s), Attempt: s.Attempt,
		Handshake: s.Cell < 0, Size: s.Size, Sent: time.Duration(sent),
	}
}

// indexOf is 0 for a SYN, whose cell is -1.
func indexOf(s sender.Segment) int { return int(s.Cell) + 1 }
