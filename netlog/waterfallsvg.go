package netlog

import (
	"bufio"
	"encoding/xml"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// picture is one SVG.
type picture struct {
	opt    *WaterfallOptions
	w      *bufio.Writer
	panels []*panel
	span   time.Duration
	y      float64
}

// Measures, in pixels.
const (
	pictureWidth = 1200
	plotLeft     = 250
	plotRight    = 1170
	margin       = 20
	titleHeight  = 34
	legendHeight = 30
	panelHead    = 46 // name and axis
	panelGap     = 18
)

// draw makes each panel first, as the height of the whole stands at the top.
func (p *picture) draw() {
	p.span = p.opt.Span
	for _, one := range p.panels {
		if p.opt.Span == 0 {
			p.span = max(p.span, one.done, one.last.Sub(one.zero))
		}
	}
	if p.opt.Span == 0 {
		p.span += p.span / 64
	}
	p.span = max(p.span, time.Microsecond)
	height := float64(margin + legendHeight)
	if p.opt.Title != "" {
		height += titleHeight
	}
	for _, one := range p.panels {
		height += panelHead + p.bodyHeight(one) + panelGap
	}
	p.begin(height)
	for _, one := range p.panels {
		p.panel(one)
	}
	p.put("</svg>\n")
}

func (p *picture) put(format string, args ...any) { fmt.Fprintf(p.w, format, args...) } // the error is Flush's

func (p *picture) begin(height float64) {
	p.put(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%s" viewBox="0 0 %d %s" role="img" font-family="Helvetica, Arial, sans-serif" font-size="12" fill="#222">`+"\n",
		pictureWidth, px(height), pictureWidth, px(height))
	p.put("<title>%s</title>\n", escaped(p.describe()))
	p.put(`<rect width="100%%" height="100%%" fill="#fff"/>` + "\n")
	p.y = margin
	if p.opt.Title != "" {
		p.put(`<text x="%d" y="%s" font-size="20" font-weight="bold">%s</text>`+"\n", margin, px(p.y+14), escaped(p.opt.Title))
		p.y += titleHeight
	}
	p.legend()
}

// describe is for those who cannot see it.
func (p *picture) describe() string {
	parts := []string{}
	if p.opt.Title != "" {
		parts = append(parts, p.opt.Title)
	}
	for _, one := range p.panels {
		parts = append(parts, joinWords(one.name, one.summary()))
	}
	return strings.Join(parts, "; ")
}

func (p *picture) legend() {
	x := float64(margin)
	for kind := stalledPhase; kind <= failedPhase; kind++ {
		if p.opt.Lanes && (kind == queuedPhase || kind == connectingPhase) || kind == failedPhase && !p.anyFailed() {
			continue
		}
		look := kind.look()
		if p.opt.Lanes && kind == stalledPhase {
			look.name, look.height = "number of requests that a limit makes wait", 1
		}
		h := 12 * look.height
		p.put(`<rect x="%s" y="%s" width="26" height="%s" fill="%s"/>`, px(x), px(p.y+6-h/2), px(h), look.colour)
		p.put(`<text x="%s" y="%s">%s</text>`+"\n", px(x+32), px(p.y+10), look.name)
		x += 32 + 6.2*float64(len(look.name)) + 24
	}
	p.y += legendHeight
}

func (p *picture) anyFailed() bool {
	for _, one := range p.panels {
		for i := range one.requests {
			if one.requests[i].Err != "" {
				return true
			}
		}
	}
	return false
}

func (p *picture) bodyHeight(one *panel) float64 {
	if p.opt.Lanes {
		return one.lanesHeight()
	}
	return lineHeight(len(one.requests)) * float64(len(one.requests))
}

func (p *picture) panel(one *panel) {
	p.put(`<text x="%d" y="%s" font-size="14" font-weight="bold">%s</text>`, margin, px(p.y+12), escaped(one.name))
	x := margin + 8.2*float64(len([]rune(one.name))) + 10
	if one.name == "" {
		x = margin
	}
	p.put(`<text x="%s" y="%s" fill="#555">%s</text>`+"\n", px(x), px(p.y+12), escaped(one.summary()))
	p.y += panelHead
	height := p.bodyHeight(one)
	p.axis(height)
	if p.opt.Lanes {
		p.lanes(one)
	} else {
		p.lines(one)
	}
	p.done(one, height)
	p.y += height + panelGap
}

// summary is what a panel shows, in figures.
func (p *panel) summary() string {
	text := count(len(p.requests), "request")
	if n := len(p.connections); n > 0 {
		text += " on " + count(n, "connection")
		if kinds := enumerate(p.connections, spokeWords); strings.HasPrefix(kinds, "all ") {
			text += " " + strings.TrimPrefix(kinds, "all ")
		} else {
			text += " (" + kinds + ")"
		}
	}
	if n := waiters(p.stalls); n > 0 {
		text += fmt.Sprintf(", %d waited for a limit, median %s", n, brief(p.stalls.Median()))
	}
	return text
}

// brief has three digits, or none that nobody reads.
func brief(d time.Duration) string {
	switch {
	case d >= 10*time.Second:
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s"
	case d >= time.Second:
		return strconv.FormatFloat(d.Seconds(), 'f', 2, 64) + " s"
	case d >= 10*time.Millisecond:
		return strconv.FormatInt(d.Milliseconds(), 10) + " ms"
	}
	return strconv.FormatFloat(float64(d)/float64(time.Millisecond), 'g', 2, 64) + " ms"
}

// axis has five to ten marks.
func (p *picture) axis(height float64) {
	step := p.step()
	for at := time.Duration(0); at <= p.span; at += step {
		x := p.x(at)
		p.put(`<line x1="%s" y1="%s" x2="%s" y2="%s" stroke="#ddd"/>`, px(x), px(p.y-5), px(x), px(p.y+height))
		p.put(`<text x="%s" y="%s" font-size="11" fill="#555" text-anchor="middle">%s</text>`+"\n", px(x), px(p.y-9), mark(at))
	}
}

func (p *picture) step() time.Duration {
	const marks = 10
	step := time.Duration(math.Pow(10, math.Floor(math.Log10(float64(p.span)/marks))))
	for _, by := range []time.Duration{1, 2, 5, 10} {
		if p.span <= by*step*marks {
			return by * max(step, 1)
		}
	}
	return 10 * step
}

func mark(at time.Duration) string {
	switch {
	case at == 0:
		return "0"
	case at >= time.Second:
		return strconv.FormatFloat(at.Seconds(), 'g', -1, 64) + " s"
	case at >= time.Millisecond:
		return strconv.FormatFloat(float64(at)/float64(time.Millisecond), 'g', -1, 64) + " ms"
	}
	return strconv.FormatFloat(float64(at)/float64(time.Microsecond), 'g', -1, 64) + " µs"
}

// done is a line where the page was.
func (p *picture) done(one *panel, height float64) {
	if one.done <= 0 || one.done > p.span {
		return
	}
	x := p.x(one.done)
	p.put(`<line x1="%s" y1="%s" x2="%s" y2="%s" stroke="#222" stroke-width="1.5" stroke-dasharray="4 3"/>`, px(x), px(p.y-5), px(x), px(p.y+height))
	side, anchor := 6.0, "start"
	if x > (plotLeft+plotRight)/2 {
		side, anchor = -6, "end"
	}
	p.put(`<text x="%s" y="%s" font-weight="bold" text-anchor="%s" stroke="#fff" stroke-width="3" paint-order="stroke">done: %s</text>`+"\n",
		px(x+side), px(p.y+14), anchor, brief(one.done))
}

func (p *picture) x(at time.Duration) float64 {
	at = min(max(at, 0), p.span)
	return plotLeft + (plotRight-plotLeft)*float64(at)/float64(p.span)
}

// lineHeight gets smaller the more there are, but stays legible.
func lineHeight(n int) float64 {
	switch {
	case n <= 40:
		return 18
	case n <= 100:
		return 12
	}
	return 9
}

// lines are the requests.
func (p *picture) lines(one *panel) {
	size := lineHeight(len(one.requests))
	for i := range one.requests {
		q, y := &one.requests[i], p.y+float64(i)*size
		if i%2 == 1 {
			p.put(`<rect x="%d" y="%s" width="%d" height="%s" fill="#000" fill-opacity="0.035"/>`, margin, px(y), plotRight-margin, px(size))
		}
		segments := one.segments(q)
		p.put(`<g><title>%s</title>`, escaped(q.story(segments)))
		p.put(`<text x="%d" y="%s" font-size="%s">%s</text>`, margin, px(y+size*0.78), px(min(size-1, 12)), escaped(shorten(q.label(), 40)))
		p.bars(one, segments, y, size)
		p.put("</g>\n")
	}
}

// label is the method, unless it is the usual one, and the path.
func (q *Request) label() string {
	text := q.URL
	if u := pathOf(q.URL); u.Host != "" {
		text = u.RequestURI()
	}
	if q.Method != "" && q.Method != "GET" {
		text = q.Method + " " + text
	}
	return text
}

// story is the request in words.
func (q *Request) story(segments []segment) string {
	text := q.label()
	if q.Connection != nil {
		text += fmt.Sprintf(", connection %d", q.Connection.ID)
	}
	for _, s := range segments {
		text += ", " + s.phase.look().name + " " + brief(s.to.Sub(s.from))
	}
	return joinWords(text, q.Err)
}

func (p *picture) bars(one *panel, segments []segment, y, size float64) {
	for _, s := range segments {
		from, to := p.x(s.from.Sub(one.zero)), p.x(s.to.Sub(one.zero))
		look := s.phase.look()
		h := look.height * size * 0.8
		p.put(`<rect x="%s" y="%s" width="%s" height="%s" fill="%s"/>`, px(from), px(y+(size-h)/2), px(max(to-from, 1)), px(h), look.colour)
	}
}

func px(v float64) string { return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64) }

func escaped(s string) string {
	var b strings.Builder
	xml.EscapeText(&b, []byte(s)) // of a Builder
	return b.String()
}
