package chromefile

import (
	"bytes"
	"strconv"
	"time"
)

// Phase says which end of something an event is.
type Phase int8

// An event stands for itself, or for the beginning or the end of a time.
const (
	None Phase = iota
	Begin
	End
)

// Source is what an event happened to. IDs are unique in a file; those of other
// processes are negative.
type Source struct {
	ID   int64
	Type string // by the file's constants, or UNKNOWN(n)
}

// Event is one entry of a NetLog. It is valid until the next one is read.
type Event struct {
	Name   string // by the file's constants, or UNKNOWN(n)
	Phase  Phase  // None where it is unknown
	Source Source
	Time   time.Time // from 1970-01-01 on where the file does not say what its clock counts from
	Params Params    // nil is none
	Offset int64     // of its first byte in the stream
}

// rawEvent is an event as it is written: in numbers.
type rawEvent struct {
	kind, phase        int64
	source, sourceKind int64
	at                 time.Duration
	params             []byte
}

// event goes past an object and takes what an event has. An object that lacks
// it is whole, and ok is false.
func (c *cursor) event(e *rawEvent) (ok bool, v verdict) {
	*e = rawEvent{}
	var kind, source, at bool
	m := members{depth: 1}
	for {
		more, v := m.next(c)
		if v != whole || !more {
			return kind && source && at, v
		}
		switch string(m.key) {
		case "params":
			e.params = m.value
		case "phase":
			e.phase, _ = integer(m.value)
		case "source":
			source = e.takeSource(m.value)
		case "time":
			e.at, at = milliseconds(m.value)
		case "type":
			e.kind, kind = integer(m.value)
		}
	}
}

func (e *rawEvent) takeSource(object []byte) (ok bool) {
	if object[0] != '{' {
		return false
	}
	c, m := cursor{b: object}, members{depth: 2}
	for {
		more, v := m.next(&c)
		if v != whole || !more {
			return ok
		}
		switch string(m.key) {
		case "id":
			e.source, ok = integer(m.value)
		case "type":
			e.sourceKind, _ = integer(m.value)
		}
	}
}

// integer reads a number, which other writers put into a string.
func integer(value []byte) (int64, bool) {
	text := unquoted(value)
	if len(text) > 0 && len(text) < 19 && isDigits(text) { // ParseInt wants a string
		n := int64(0)
		for _, ch := range text {
			n = 10*n + int64(ch-'0')
		}
		return n, true
	}
	if n, err := strconv.ParseInt(string(text), 10, 64); err == nil {
		return n, true
	}
	f, err := strconv.ParseFloat(string(text), 64)
	return int64(f), err == nil && f == float64(int64(f))
}

func isDigits(text []byte) bool {
	for _, ch := range text {
		if ch < '0' || ch > '9' {
			return false
		}
	}
	return true
}

// milliseconds reads a time, which may have a fraction.
func milliseconds(value []byte) (time.Duration, bool) {
	const largest = int64(1<<63-1) / int64(time.Millisecond)
	if n, ok := integer(value); ok {
		return time.Duration(n) * time.Millisecond, n <= largest && n >= -largest
	}
	f, err := strconv.ParseFloat(string(unquoted(value)), 64)
	f *= float64(time.Millisecond)
	return time.Duration(f), err == nil && f < 1<<62 && f > -1<<62
}

func unquoted(value []byte) []byte {
	if len(value) >= 2 && value[0] == '"' {
		return bytes.TrimSpace(value[1 : len(value)-1])
	}
	return value
}
