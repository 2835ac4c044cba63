package chromefile

import (
	"fmt"
	"strings"
)

// torn looks for the next place from which reading can go on: a whole event, or
// a part that has some inside. What is left out is called what.
//
// It looks inside of what is left out, too: the list in the middle of which one
// write ended may go on with the events of the next one.
func (f *file) torn(what string) {
	start := f.w.offset()
	f.w.skip(1)
	for f.candidate() {
		if f.resumes() {
			f.damage(start, "not to be read: "+what, fmt.Sprintf("up to %d bytes", f.w.offset()-start))
			return
		}
		f.w.skip(1)
	}
	f.cutOff(start, "inside "+what, "the rest of it")
}

// candidate goes to the next brace that may begin an element of a list or a
// line. Inside of an event, braces follow a colon.
func (f *file) candidate() bool {
	before := byte('\n')
	_, ok := f.w.peek(func(ch byte) bool {
		if ch == '{' && strings.IndexByte("\n,[}", before) >= 0 {
			return false
		}
		if ch != ' ' && ch != '\r' && ch != '\t' {
			before = ch
		}
		return true
	})
	return ok
}

// resumes reports whether the brace that comes next begins an event, a line or
// a file.
func (f *file) resumes() bool {
	for {
		c := cursor{b: f.w.ahead()}
		var raw rawEvent
		ok, v := c.event(&raw)
		switch {
		case ok && v == whole:
			return true
		case v == short && f.w.more():
		default:
			return isContainer(c.b)
		}
	}
}

// isContainer goes by the first key.
func isContainer(b []byte) bool {
	c, m := cursor{b: b}, members{depth: 1}
	if m.nextKey(&c) != whole {
		return false
	}
	switch string(m.key) {
	case "constants", "events", "event":
		return true
	case "type":
		return c.i < len(b) && b[c.i] == '"'
	}
	return false
}
