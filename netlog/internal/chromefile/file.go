package chromefile

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

// Options change how a file is read.
type Options struct {
	// Constants is the table for a file that has none of its own, as a part cut
	// out of a log: that of another log by the same build. See ReadConstants.
	Constants *Constants
}

// Found is what a file was made of.
type Found struct {
	Events    int        // whole ones, understood or not
	Constants *Constants // by which they were named
	Damage    []Damage
}

// Read gives every whole event of a NetLog to visit, in the order of the file.
// The NetLog may be plain, gzip or zip, by its first bytes. Damage is in Found;
// an error is only that nothing is there to be read: r holds something else, or
// no event of it is whole.
func Read(r io.Reader, opt *Options, visit func(*Event)) (*Found, error) {
	if opt == nil {
		opt = new(Options)
	}
	plain, err := decompress(r)
	if err != nil {
		return nil, err
	}
	f := &file{w: newWindow(plain), visit: visit, place: "at the beginning"}
	if what := f.looks(); what != "" {
		return nil, notALog(what)
	}
	f.structure()
	f.ended(opt.Constants)
	return &f.found, f.judge()
}

// ReadConstants reads the table of a NetLog and nothing behind it.
func ReadConstants(r io.Reader) (*Constants, error) {
	plain, err := decompress(r)
	if err != nil {
		return nil, err
	}
	f := &file{w: newWindow(plain), visit: func(*Event) {}, headOnly: true, place: "at the beginning"}
	if what := f.looks(); what != "" {
		return nil, notALog(what)
	}
	if f.structure(); f.found.Constants == nil {
		return nil, errors.New("no constants: the file ends, or its events begin, before any are whole")
	}
	return f.found.Constants, nil
}

// file is one being read.
type file struct {
	w        *window
	visit    func(*Event)
	headOnly bool

	found   Found
	waiting pending
	event   Event

	open    []byte // brackets that are open, as far as that is known
	keys    []string
	polled  bool   // polledData was seen
	lines   bool   // it is the form of one object per line
	end     bool   // and its end was seen
	orphans int    // events that found no constants in time
	place   string // what was passed last, in words
	cut     bool   // nothing more is to be read
	begun   bool   // there was what looks like an event
	binary  bool   // the first bytes are no text
}

// structure goes over everything. Brackets and commas are taken as they come:
// what a value is, is said by its key or by its own look.
func (f *file) structure() {
	for !f.cut && !(f.headOnly && f.found.Constants != nil) {
		ch, ok := f.w.peek(func(ch byte) bool { return isSpace(ch) || ch == ',' || ch == ':' })
		if !ok {
			return
		}
		switch ch {
		case '{':
			f.object()
		case '[':
			f.enter(ch)
		case '}', ']':
			f.leave(ch)
		case '"':
			f.key()
		default:
			f.torn("something torn")
		}
	}
}

// deepest is how far brackets are remembered; a log has two.
const deepest = 16

func (f *file) enter(bracket byte) {
	if len(f.open) < deepest {
		f.open = append(f.open, bracket)
	}
	f.w.skip(1)
}

func (f *file) leave(bracket byte) {
	if len(f.open) > 0 {
		f.open = f.open[:len(f.open)-1]
	}
	if f.w.skip(1); bracket == ']' {
		f.place = "after the events"
	}
}

// object is an event, or something that has one inside.
func (f *file) object() {
	start := f.w.offset()
	for {
		looks, v := looksLikeEvent(f.w.ahead())
		switch {
		case v == short && f.w.more():
		case v == short:
			f.cutOff(start, "at the beginning of an object", "the rest of it")
			return
		case looks:
			f.single()
			return
		default:
			f.enter('{')
			return
		}
	}
}

// looksLikeEvent goes by the first key: containers have others.
func looksLikeEvent(b []byte) (bool, verdict) {
	c, m := cursor{b: b}, members{depth: 1}
	if v := m.nextKey(&c); v != whole {
		return v == bad, v // what is torn is looked at closer
	}
	switch string(m.key) {
	case "params", "phase", "source", "time":
		return true, whole
	case "type":
		if c.i == len(b) {
			return false, short
		}
		return b[c.i] != '"' || len(b) > c.i+1 && b[c.i+1] >= '0' && b[c.i+1] <= '9', whole
	}
	return false, whole
}

// single reads one event.
func (f *file) single() {
	start := f.w.offset()
	f.begun = true
	for {
		c := cursor{b: f.w.ahead()}
		var raw rawEvent
		ok, v := c.event(&raw)
		switch {
		case v == whole && ok:
			f.take(&raw, c.b[:c.i], start)
			f.w.skip(c.i)
		case v == whole:
			f.damage(start, "an object among the events is none: it lacks a type, a source or a time", "")
			f.w.skip(c.i)
		case v == bad:
			f.torn("something torn")
		case f.w.more():
			continue
		case f.w.err == nil:
			f.torn(fmt.Sprintf("an event of more than %d bytes", largestValue))
		default:
			f.torn("an event")
		}
		return
	}
}

func (f *file) take(raw *rawEvent, text []byte, offset int64) {
	f.found.Events++
	switch {
	case f.found.Constants != nil:
		f.give(raw, offset)
	case f.headOnly:
		f.cut = true
	case !f.waiting.add(text, offset):
		f.orphans++
	}
}

func (f *file) give(raw *rawEvent, offset int64) {
	f.found.Constants.resolve(raw, offset, &f.event)
	f.visit(&f.event)
}

// cutOff is the end of a file in the middle of something.
func (f *file) cutOff(start int64, where, missing string) {
	f.cut = true
	f.place = where
	parts := f.missing()
	if missing != "" {
		parts = append([]string{missing}, parts...)
	}
	what := "cut off " + where
	if err := f.w.err; err != nil && err != io.EOF {
		what += fmt.Sprintf(" (%v)", err)
	}
	f.damage(start, what, strings.Join(parts, ", "))
}

// missing is what a whole file has and this one has not.
func (f *file) missing() (parts []string) {
	if f.found.Constants == nil {
		parts = append(parts, "constants")
	}
	if f.lines {
		if !f.end {
			parts = append(parts, "the line that marks the end")
		}
		return parts
	}
	var closing strings.Builder
	for i := len(f.open) - 1; i >= 0; i-- {
		closing.WriteByte(f.open[i] + 2) // in ASCII
	}
	if closing.Len() > 0 {
		parts = append(parts, "closing "+closing.String())
		if !f.polled {
			parts = append(parts, "polledData")
		}
	}
	return parts
}

// ended settles what the end of the stream leaves open.
func (f *file) ended(table *Constants) {
	open := len(f.open) > 0 || f.lines && !f.end
	if !f.cut && !f.headOnly && (open || f.w.err != io.EOF) {
		f.cutOff(f.w.offset(), f.place, "")
	}
	f.useTable(table)
	if f.orphans > 0 {
		f.damage(f.w.offset(), "the constants come late", fmt.Sprintf("the meaning of %d events beyond the first %d bytes", f.orphans, largestPending))
	}
}

// useTable names the events of a file without constants: by table, or not at
// all.
func (f *file) useTable(table *Constants) {
	if f.found.Constants != nil {
		return
	}
	if f.found.Events > 0 && table == nil {
		f.damage(0, "no constants", "the names of events; the constants of another log by the same build can stand in")
	}
	if table == nil {
		table = new(Constants)
	}
	own := *table
	own.invert() // names are added to it
	f.found.Constants = &own
	f.waiting.flush(f.give)
}
