package netlog

import (
	"maps"
	"slices"
	"time"
)

// Note is something that happened beside connections and requests, such as a
// packet that a link dropped.
type Note struct {
	Time   time.Time
	Type   string         // "package.what"
	Params map[string]any // named by the package that the type begins with
}

// Note records an event. Time is now unless given.
func (l *Log) Note(e Note) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.Time.IsZero() {
		e.Time = time.Now()
	}
	l.notes = append(l.notes, e)
}

// Notes returns the events of these types, or all if none is given, in order
// of their time.
func (l *Log) Notes(types ...string) []Note {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []Note
	for _, e := range l.notes {
		if len(types) == 0 || slices.Contains(types, e.Type) {
			e.Params = maps.Clone(e.Params)
			all = append(all, e)
		}
	}
	slices.SortStableFunc(all, func(a, b Note) int { return a.Time.Compare(b.Time) })
	return all
}
