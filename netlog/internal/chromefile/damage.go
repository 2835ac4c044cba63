package chromefile

import "fmt"

// Damage is one place where a file is not what Chromium writes.
type Damage struct {
	Offset  int64  // in the stream after decompression
	Events  int    // whole events before it
	What    string // what is wrong, as "cut off inside an event"
	Missing string // what is not there because of it; "" is nothing
}

func (d Damage) String() string {
	text := fmt.Sprintf("byte %d, after %d whole events: %s", d.Offset, d.Events, d.What)
	if d.Missing != "" {
		text += "; missing: " + d.Missing
	}
	return text
}

// mostDamage bounds the report on a file that is damaged all over.
const mostDamage = 100

func (f *file) damage(offset int64, what, missing string) {
	switch n := len(f.found.Damage); {
	case n < mostDamage:
		f.found.Damage = append(f.found.Damage, Damage{offset, f.found.Events, what, missing})
	case n == mostDamage:
		f.found.Damage = append(f.found.Damage, Damage{offset, f.found.Events, "more damage, not listed", ""})
	}
}
