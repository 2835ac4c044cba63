package chromefile

import (
	"bytes"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestCost: what is wrong with a file costs no more than a constant times its
// size, in memory and in time.
func TestCost(t *testing.T) {
	size := 1 << 20
	if raceDetector {
		size >>= 4
	}
	for name, unit := range map[string]string{
		"open objects":           `{"a":`,
		"open objects by line":   "\n{\"a\":",
		"open events by line":    "\n{\"params\":",
		"open lists by line":     "\n{\"params\":[1,",
		"open strings by line":   "\n{\"params\":\"x",
		"open lists":             "[",
		"closed lists":           "]",
		"quotes":                 `"`,
		"keys":                   `"a":`,
		"keys without values":    `"a" `,
		"words":                  "x",
		"zeros":                  "\x00",
		"objects that are none":  `{"phase":1},`,
		"unknown events":         eventC + ",",
		"one type each":          `{"phase":0,"source":{"id":1,"type":1},"time":"1","type":`,
		"constants over again":   `{"constants":{"logEventTypes":{"A":1}}},`,
		"constants without end":  `{"constants":{"a":`,
		"numbers":                "1",
		"a list of candidates":   `{"params":[{},{},`,
		"braces after a newline": "\n{",
	} {
		text := []byte(strings.Repeat(unit, size/len(unit)))
		t.Run(name, func(t *testing.T) { checkCost(t, text) })
	}
	t.Run("events before a late table", func(t *testing.T) {
		checkCost(t, []byte("["+strings.Repeat(eventA+",", size/len(eventA))+"{"+table+"}]"))
	})
}

func checkCost(t *testing.T, text []byte) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	found, err := Read(bytes.NewReader(text), nil, func(*Event) {})
	took := time.Since(start)
	runtime.ReadMemStats(&after)
	if spent := after.TotalAlloc - before.TotalAlloc; spent > 16*uint64(len(text)) {
		t.Errorf("%d bytes allocated for %d; %v, %v", spent, len(text), found, err)
	}
	if took > time.Minute { // it is well below a second; the bound tells a square from a line
		t.Errorf("%v for %d bytes", took, len(text))
	}
	if found != nil && len(found.Damage) > mostDamage+3 {
		t.Errorf("%d lines of damage", len(found.Damage))
	}
}

// TestLargeEvent: what is too large to be held is left out, and what follows is
// read.
func TestLargeEvent(t *testing.T) {
	if raceDetector {
		t.Skip("one goroutine reads hundreds of megabytes: nothing for the race detector")
	}
	large := func(size int) io.Reader {
		filler := io.LimitReader(readerFunc(func(p []byte) (int, error) {
			for i := range p {
				p[i] = 'x'
			}
			return len(p), nil
		}), int64(size))
		return io.MultiReader(strings.NewReader("{"+table+`,"events":[`+eventA+`,`+"\n"+`{"params":{"x":"`), filler,
			strings.NewReader(`"},`+eventB[1:]+",\n"+eventC+"]}"))
	}
	for size, want := range map[int]int{largestValue / 2: 3, 5 * largestValue: 2} {
		found, err := Read(large(size), nil, func(*Event) {})
		if err != nil || found.Events != want || len(found.Damage) != 3-want {
			t.Errorf("%d bytes in one event: %+v, %v", size, found, err)
		}
	}
	if _, err := Read(io.MultiReader(strings.NewReader(`{"constants":{"x":"`), large(3*largestValue)), nil, func(*Event) {}); err != nil {
		t.Errorf("large constants: %v", err)
	}
}
