package netlog

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Measures of lanes, in pixels.
const (
	queueHeight = 46 // of the number that waits
	laneGap     = 5
)

// lane is a connection, with its requests in as many rows as went at once.
type lane struct {
	c    *Connection
	rows [][]*Request
}

// allLanes are those of all used connections. Requests whose connection is
// unknown have one of their own, at the end.
func (p *panel) allLanes() []lane {
	requests := make(map[int64][]*Request)
	for i := range p.requests {
		if q := &p.requests[i]; !q.Sent.IsZero() {
			id := int64(0)
			if q.Connection != nil {
				id = q.Connection.ID
			}
			requests[id] = append(requests[id], q)
		}
	}
	var all []lane
	for i := range p.connections {
		c := &p.connections[i]
		all = append(all, lane{c, p.packed(requests[c.ID])})
	}
	if rest := requests[0]; len(rest) > 0 {
		all = append(all, lane{nil, p.packed(rest)})
	}
	return all
}

// packed puts each request into the first row that is free.
func (p *panel) packed(requests []*Request) (rows [][]*Request) {
	slices.SortStableFunc(requests, func(a, b *Request) int { return a.Sent.Compare(b.Sent) })
	var free []time.Time
	for _, q := range requests {
		i := slices.IndexFunc(free, func(t time.Time) bool { return !t.After(q.Sent) })
		if i < 0 {
			i = len(rows)
			rows, free = append(rows, nil), append(free, time.Time{})
		}
		rows[i] = append(rows[i], q)
		free[i] = firstOfTimes(q.End, p.last)
	}
	return rows
}

// rowHeight is the smaller the more rows there are.
func (l *lane) rowHeight() float64 {
	switch n := len(l.rows); {
	case n <= 1:
		return 18
	case n <= 12:
		return 8
	case n <= 40:
		return 5
	}
	return 1.6
}

func (l *lane) height() float64 { return max(l.rowHeight()*float64(len(l.rows)), 18) }

func (p *panel) lanesHeight() (sum float64) {
	if len(p.stalls) > 0 {
		sum = queueHeight + laneGap
	}
	for _, l := range p.allLanes() {
		sum += l.height() + laneGap
	}
	return sum
}

func (p *picture) lanes(one *panel) {
	y := p.y
	if len(one.stalls) > 0 {
		p.queue(one, y)
		y += queueHeight + laneGap
	}
	for _, l := range one.allLanes() {
		p.put(`<rect x="%d" y="%s" width="%d" height="%s" fill="#000" fill-opacity="0.035"/>`, margin, px(y), plotRight-margin, px(l.height()))
		for i, line := range l.label() {
			p.put(`<text x="%d" y="%s">%s</text>`+"\n", margin+4, px(y+13+15*float64(i)), escaped(line))
		}
		for i, row := range l.rows {
			for _, q := range row {
				p.carried(one, q, y+float64(i)*l.rowHeight(), l.rowHeight())
			}
		}
		y += l.height() + laneGap
	}
}

// label has a line for what it is, and if there is room one for how many went at
// once.
func (l *lane) label() []string {
	n := 0
	for _, row := range l.rows {
		n += len(row)
	}
	if l.c == nil {
		return []string{"connection unknown: " + count(n, "request")}
	}
	lines := []string{fmt.Sprintf("connection %d, %s: %s", l.c.ID, l.c.Protocol, count(n, "request"))}
	if most := len(l.rows); most > 1 && l.height() > 30 {
		lines = append(lines, fmt.Sprintf("%d at once", most))
	}
	return lines
}

// carried is the part of a request that a connection saw.
func (p *picture) carried(one *panel, q *Request, y, size float64) {
	segments := one.segments(q)
	story := q.story(segments)
	segments = slices.DeleteFunc(segments, func(s segment) bool { return s.phase < waitingPhase })
	p.put(`<g><title>%s</title>`, escaped(story))
	p.bars(one, segments, y, size)
	if from := p.x(q.Sent.Sub(one.zero)); size > 10 { // one after the other: where each begins
		p.put(`<line x1="%s" y1="%s" x2="%s" y2="%s" stroke="#fff" stroke-width="0.8"/>`, px(from), px(y+size*0.1), px(from), px(y+size*0.9))
	}
	p.put("</g>\n")
}

// change is of the number of requests that wait.
type change struct {
	at time.Duration
	by int
}

// changes are in order of time, and most is the highest number.
func (p *panel) changes() (all []change, most int) {
	for _, s := range p.stalls {
		begin := s.Start.Sub(p.zero)
		all = append(all, change{begin, 1}, change{begin + s.Duration, -1})
	}
	slices.SortStableFunc(all, func(a, b change) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(b.by, a.by)) })
	now := 0
	for _, c := range all {
		now += c.by
		most = max(most, now)
	}
	return all, most
}

// queue is how many requests wait, as an area: to one scale in all panels.
func (p *picture) queue(one *panel, y float64) {
	scale := 0
	for _, other := range p.panels {
		_, most := other.changes()
		scale = max(scale, most)
	}
	changes, most := one.changes()
	bottom, now := y+queueHeight, 0
	p.put(`<path fill="%s" d="M%s %s`, stalledPhase.look().colour, px(p.x(0)), px(bottom))
	for _, c := range changes {
		now += c.by
		p.put("H%sV%s", px(p.x(c.at)), px(bottom-queueHeight*float64(now)/float64(scale)))
	}
	p.put("V%sZ\"/>\n", px(bottom))
	p.put(`<text x="%d" y="%s">stalled: up to %s</text>`+"\n", margin+4, px(y+13), count(most, "request"))
}
