package chromefile

import "fmt"

// mostKeys is how many keys are remembered to say what a file looks like.
const mostKeys = 4

// key reads a key and, unless events are inside, its value.
func (f *file) key() {
	start := f.w.offset()
	name, ok := f.keyName()
	if !ok {
		return
	}
	if len(f.keys) < mostKeys {
		f.keys = append(f.keys, name)
	}
	switch name {
	case "constants":
		f.constants(start)
	case "events":
		f.place = "between events"
	case "event":
		f.lines = true
	case "type":
		f.lineType()
	default:
		f.polled = f.polled || name == "polledData"
		f.passValue(start, name)
	}
}

// keyName takes the key and what stands before its value.
func (f *file) keyName() (string, bool) {
	start := f.w.offset()
	for {
		c := cursor{b: f.w.ahead()}
		v := c.text()
		switch {
		case v == whole:
			name := text(c.b[:c.i])
			f.w.skip(c.i)
			return name, true
		case v == bad:
			f.torn("something torn")
			return "", false
		case !f.w.more():
			f.cutOff(start, "inside a key", "its value")
			return "", false
		}
	}
}

func colonOrSpace(ch byte) bool { return ch == ':' || isSpace(ch) }

// held is the value that comes next, in one piece; nil if it is not to be had.
func (f *file) held(start int64, what string) []byte {
	if _, ok := f.w.peek(colonOrSpace); !ok {
		f.cutOff(start, "before the value of "+what, what)
		return nil
	}
	for {
		c := cursor{b: f.w.ahead()}
		v := c.value(0)
		switch {
		case v == whole:
			f.w.skip(c.i)
			return c.b[:c.i]
		case v == bad:
			f.torn("something torn")
			return nil
		case f.w.more():
		case f.w.err == nil:
			f.tooLarge(start, what)
			return nil
		default:
			f.cutOff(start, "inside "+what, "the rest of it")
			return nil
		}
	}
}

func (f *file) constants(start int64) {
	if value := f.held(start, "the constants"); value != nil && f.found.Constants == nil {
		f.found.Constants = parseConstants(value)
		f.waiting.flush(f.give)
	}
	f.place = "before the events"
}

// lineType is the member that says what a line of the other form is.
func (f *file) lineType() {
	start := f.w.offset()
	switch value := f.held(start, "a line's type"); text(value) {
	case "end":
		f.lines, f.end = true, true
	case "constants", "event", "polledData":
		f.lines = true
	}
}

func (f *file) passValue(start int64, name string) {
	if _, ok := f.w.peek(colonOrSpace); !ok {
		f.cutOff(start, "before the value of "+name, name)
		return
	}
	if !f.w.pass() {
		f.cutOff(start, "inside "+name, "the rest of it")
	}
	f.place = "after " + name
}

// tooLarge leaves out a value that would fill the memory.
func (f *file) tooLarge(start int64, what string) {
	if !f.w.pass() {
		f.cutOff(start, "inside "+what, "the rest of it")
		return
	}
	f.damage(start, fmt.Sprintf("%s: more than %d bytes", what, largestValue), what)
}
