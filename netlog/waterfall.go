package netlog

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"time"
)

// Named is a Log under a name, one of several that are set side by side.
type Named struct {
	Name    string
	Log     *Log
	Filters []Filter      // of its requests, connections and stalls; nil is all
	Done    time.Duration // of the page, by its own clock; 0 is the end of its last request
}

// WaterfallOptions change how a waterfall is drawn. The zero value is what
// WriteWaterfall uses.
type WaterfallOptions struct {
	Title string // above all; "" is none

	// Lanes draws a lane for each connection instead of a line for each request:
	// what it carried, from when it was sent, side by side where that was at once.
	// Above the lanes is how many requests waited for a limit.
	Lanes bool

	// Span is what the width stands for; 0 is as long as the longest Log. Pictures
	// that are looked at side by side need the same.
	Span time.Duration
}

// WriteWaterfall draws the requests as an SVG: a line for each, in order of
// start, with a bar for each of
//
//   - stalled: it waited because a limit was reached (see Stall)
//   - queued: it waited for some other reason, as a browser's own order of
//     what matters first
//   - connecting: it waited while the connection that it went over was opened
//   - waiting: it was sent, and its answer had not begun
//   - receiving: until the last byte.
//
// Bars differ in height, too, and their colours are those that Okabe and Ito
// chose so that nobody confuses them. The legs of a proxy are apart, below each
// other, on the same axis. Time counts from the first request. A request that
// has not ended is drawn to the end of the Log. Equal Logs make equal pictures:
// in virtual time, each run the same. Its error is that of writing to w.
func (l *Log) WriteWaterfall(w io.Writer) error { return l.WriteWaterfallWith(w, nil) }

// WriteWaterfallWith is WriteWaterfall with options; nil is none.
func (l *Log) WriteWaterfallWith(w io.Writer, opt *WaterfallOptions) error {
	return WriteWaterfalls(w, opt, Named{Log: l})
}

// WriteWaterfalls draws several Logs below each other, each from its own first
// request, on the same axis; nil options are none.
func WriteWaterfalls(w io.Writer, opt *WaterfallOptions, logs ...Named) error {
	if opt == nil {
		opt = new(WaterfallOptions)
	}
	p := &picture{opt: opt, w: bufio.NewWriter(w)}
	for _, one := range logs {
		p.panels = append(p.panels, one.panels()...)
	}
	p.draw()
	if err := p.w.Flush(); err != nil {
		return fmt.Errorf("netlog: waterfall: %w", err)
	}
	return nil
}

// panel is what is drawn on one axis: a Log, or a leg of one.
type panel struct {
	name        string
	zero        time.Time // what its time counts from
	requests    Requests
	connections Connections
	stalls      Stalls
	done        time.Duration
	byRequest   map[int64]Stalls
	last        time.Time // that anything was seen
}

// panels are the legs, in the order in which they appear.
func (n *Named) panels() []*panel {
	requests, connections, stalls := n.Log.Requests(n.Filters...), n.Log.Connections(n.Filters...), n.Log.Stalls(n.Filters...)
	var legs []Leg
	for i := range requests {
		if leg := requests[i].Leg; !slices.Contains(legs, leg) {
			legs = append(legs, leg)
		}
	}
	if len(legs) == 0 {
		legs = []Leg{""}
	}
	var all []*panel
	for _, leg := range legs {
		p := &panel{
			name:        n.Name,
			requests:    slices.DeleteFunc(slices.Clone(requests), func(q Request) bool { return q.Leg != leg }),
			connections: slices.DeleteFunc(slices.Clone(connections), func(c Connection) bool { return c.Leg != leg || !c.Used() }),
			stalls:      slices.DeleteFunc(slices.Clone(stalls), func(s Stall) bool { return s.Leg != leg }),
		}
		if leg != "" {
			p.name = joinWords(n.Name, string(leg))
		}
		p.measure(requests, n.Done)
		all = append(all, p)
	}
	return all
}

func joinWords(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + ", " + b
}

// measure finds the ends of time: the beginning is the same on all legs.
func (p *panel) measure(whole Requests, done time.Duration) {
	if len(whole) > 0 {
		p.zero = whole[0].Start
	}
	p.byRequest = make(map[int64]Stalls)
	for _, s := range p.stalls {
		p.byRequest[s.Request] = append(p.byRequest[s.Request], s)
		p.last = later(s.Start.Add(s.Duration), p.last)
	}
	ended := p.zero
	for i := range p.requests {
		q := &p.requests[i]
		ended = later(q.End, ended)
		for _, t := range []time.Time{q.Start, q.Sent, q.FirstByte, q.End} {
			if t.After(p.last) {
				p.last = t
			}
		}
	}
	if ended.IsZero() {
		ended = p.zero
	}
	if p.done = done; done == 0 && ended.After(p.zero) {
		p.done = ended.Sub(p.zero)
	}
}
