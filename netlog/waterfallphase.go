package netlog

import "time"

// phase is what a request was about.
type phase int

const (
	stalledPhase phase = iota
	queuedPhase
	connectingPhase
	waitingPhase
	receivingPhase
	failedPhase
)

// look is how a phase is drawn.
type look struct {
	name   string
	colour string  // Okabe and Ito's; grey is safe as well
	height float64 // of the line's
}

func (p phase) look() look {
	return [...]look{
		stalledPhase:    {"stalled by a limit", "#E69F00", 0.42},
		queuedPhase:     {"queued", "#999999", 0.42},
		connectingPhase: {"connecting", "#CC79A7", 0.7},
		waitingPhase:    {"waiting for the answer", "#56B4E9", 1},
		receivingPhase:  {"receiving", "#0072B2", 1},
		failedPhase:     {"failed", "#D55E00", 1},
	}[p]
}

type segment struct {
	phase    phase
	from, to time.Time
}

// segments are the phases of a request, in order and without gaps.
func (p *panel) segments(q *Request) []segment {
	end := firstOfTimes(q.End, p.last)
	until := firstOfTimes(q.Sent, end)
	all := p.waited(q, until)
	add := func(kind phase, from, to time.Time) {
		if to.After(from) {
			all = append(all, segment{kind, from, to})
		}
	}
	if !q.Sent.IsZero() {
		answered := firstOfTimes(q.FirstByte, end)
		add(waitingPhase, q.Sent, answered)
		add(receivingPhase, later(q.FirstByte, q.Sent), end)
	}
	if q.Err != "" {
		if len(all) == 0 {
			all = append(all, segment{failedPhase, end, end})
		}
		all[len(all)-1].phase = failedPhase
	}
	return all
}

// waited is the time until the request was sent.
func (p *panel) waited(q *Request, until time.Time) (all []segment) {
	at := q.Start
	add := func(kind phase, to time.Time) {
		if to.After(until) {
			to = until
		}
		if to.After(at) {
			all = append(all, segment{kind, at, to})
			at = to
		}
	}
	ready := readyAt(q.Connection)
	for _, s := range p.byRequest[q.ID] {
		if q.ID != 0 {
			add(connectingPhase, earlierOf(ready, s.Start))
			add(queuedPhase, s.Start)
			add(stalledPhase, s.Start.Add(s.Duration))
		}
	}
	add(connectingPhase, ready)
	add(queuedPhase, until)
	return all
}

// readyAt is when a connection could be used; zero if that is unknown.
func readyAt(c *Connection) time.Time {
	if c == nil {
		return time.Time{}
	}
	return firstOfTimes(c.Handshaken, c.Opened)
}

func earlierOf(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
