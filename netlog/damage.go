package netlog

import (
	"fmt"
	"slices"

	"example.com/wiretest/netlog/internal/chromefile"
)

// Damage is one place where the file that a Log was read from is not whole.
type Damage struct {
	Offset  int64  // byte of the file, after decompression
	Events  int    // whole events before it
	What    string // what is wrong there: "cut off inside an event"
	Missing string // what is not in the Log because of it; "" is nothing
}

// String is one line.
func (d Damage) String() string {
	text := fmt.Sprintf("byte %d, after %d whole events: %s", d.Offset, d.Events, d.What)
	if d.Missing != "" {
		text += "; missing: " + d.Missing
	}
	return text
}

// Damage is what the file lacks that the Log was read from, in the order of the
// file; nil if it is whole, or if the Log was recorded. No more than about a
// hundred places are listed.
func (l *Log) Damage() []Damage {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.origin == nil {
		return nil
	}
	return slices.Clone(l.origin.damage)
}

func damageOf(all []chromefile.Damage) []Damage {
	var out []Damage
	for _, d := range all {
		out = append(out, Damage{Offset: d.Offset, Events: d.Events, What: d.What, Missing: d.Missing})
	}
	return out
}
