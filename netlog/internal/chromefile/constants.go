package chromefile

import (
	"encoding/json"
	"fmt"
	"time"
)

// Constants is the table at the head of a file. Numbers of event types change
// with every build; names last for years.
type Constants struct {
	EventTypes  map[string]int64
	SourceTypes map[string]int64
	Phases      map[string]int64
	NetErrors   map[string]int64
	Zero        time.Time // what times count from; zero if the file does not say
	CaptureMode string    // "Default", "HeavilyRedacted", …; "" in files before 2024
	Client      string    // name and version of the program; "" if the file does not say

	names [4]map[int64]string // inverse of the four
}

// Names of phases, and the numbers they have had in all builds.
var phaseNames = [...]string{None: "PHASE_NONE", Begin: "PHASE_BEGIN", End: "PHASE_END"}

const heavilyRedacted = "HeavilyRedacted"

// Redacted reports whether hosts, URLs and the like were left out.
func (c *Constants) Redacted() bool { return c != nil && c.CaptureMode == heavilyRedacted }

// parseConstants reads the table; what is not as expected is left out.
func parseConstants(object []byte) *Constants {
	p := Params(object)
	c := &Constants{
		EventTypes:  numbers(p, "logEventTypes"),
		SourceTypes: numbers(p, "logSourceType"),
		Phases:      numbers(p, "logEventPhase"),
		NetErrors:   numbers(p, "netError"),
		CaptureMode: p.Str("logCaptureMode"),
	}
	if at, ok := milliseconds(orNull(p.value("timeTickOffset"))); ok {
		c.Zero = time.UnixMilli(0).UTC().Add(at)
	}
	client := p.Object("clientInfo")
	if c.Client = client.Str("name"); c.Client != "" && client.Str("version") != "" {
		c.Client += " " + client.Str("version")
	}
	c.invert()
	return c
}

func orNull(value []byte) []byte {
	if value == nil {
		return []byte("null")
	}
	return value
}

func numbers(p Params, key string) map[string]int64 {
	var raw map[string]json.RawMessage
	if json.Unmarshal(orNull(p.value(key)), &raw) != nil {
		return nil
	}
	table := make(map[string]int64, len(raw))
	for name, value := range raw {
		if n, ok := integer(value); ok {
			table[name] = n
		}
	}
	return table
}

func (c *Constants) invert() {
	for i, table := range []map[string]int64{c.EventTypes, c.SourceTypes, c.Phases, c.NetErrors} {
		c.names[i] = make(map[int64]string, len(table))
		for name, n := range table {
			if old, taken := c.names[i][n]; !taken || name < old { // aliases: the same choice every time
				c.names[i][n] = name
			}
		}
	}
}

// name is that of n in the i-th table; what has none is called by its number,
// and stays.
func (c *Constants) name(i int, n int64) string {
	name, known := c.names[i][n]
	if !known {
		name = fmt.Sprintf("UNKNOWN(%d)", n)
		if len(c.names[i]) < 1<<16 {
			c.names[i][n] = name // said again without making it again
		}
	}
	return name
}

func (c *Constants) phase(n int64) Phase {
	if c.names[2][n] == "" && n >= 0 && n < int64(len(phaseNames)) {
		return Phase(n)
	}
	for phase, name := range phaseNames {
		if c.names[2][n] == name {
			return Phase(phase)
		}
	}
	return None
}

// NetError is the name of an error code, as ERR_CONNECTION_REFUSED.
func (c *Constants) NetError(code int64) string {
	if name, known := c.names[3][code]; known {
		return name
	}
	return fmt.Sprintf("net error %d", code)
}

func (c *Constants) zero() time.Time {
	if c.Zero.IsZero() {
		return time.UnixMilli(0).UTC()
	}
	return c.Zero
}

// resolve gives names to the numbers of raw.
func (c *Constants) resolve(raw *rawEvent, offset int64, e *Event) {
	*e = Event{
		Name:   c.name(0, raw.kind),
		Phase:  c.phase(raw.phase),
		Source: Source{raw.source, c.name(1, raw.sourceKind)},
		Time:   c.zero().Add(raw.at),
		Params: raw.params,
		Offset: offset,
	}
}
