package chromefile

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestCut cuts each log at many places: what is whole is there, and what is not
// is said.
func TestCut(t *testing.T) {
	for _, name := range logs() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := plain(t, name)
			all := entriesOf(t, text)
			for _, cut := range cuts(name, len(text), all) {
				checkCut(t, text[:cut], len(text), all)
			}
		})
	}
}

// cuts are places all over the file, and around the ends of events.
func cuts(name string, size int, all []entry) (places []int) {
	n := 40
	switch {
	case *everywhere:
		n = 500
	case raceDetector:
		n = 5
	}
	if *everywhere && name == "quic" { // the smallest
		for at := range size {
			places = append(places, at)
		}
		return places
	}
	random := rand.New(rand.NewPCG(1, 2)) // the same places every time
	for len(places) < n {
		end := all[random.IntN(len(all))].end
		places = append(places, random.IntN(size), end-1, end, end+1, end+2)
	}
	return append(places, all[0].end, all[len(all)-1].end, size-1, size-2)
}

func checkCut(t *testing.T, text []byte, size int, all []entry) {
	t.Helper()
	want, got := wholeIn(all, len(text)), 0
	found, err := Read(bytes.NewReader(text), nil, func(*Event) { got++ })
	if want == 0 {
		if err == nil {
			t.Errorf("cut at %d: no error though no event is whole", len(text))
		}
		return
	}
	if err != nil || got != want || found.Events != want {
		t.Errorf("cut at %d: %d events, counted %+v, want %d; %v", len(text), got, found, want, err)
		return
	}
	if n := len(bytes.TrimRight(text, "\n")); size-n > 2 && len(found.Damage) != 1 {
		t.Errorf("cut at %d: damage %v", len(text), found.Damage)
	}
	if len(found.Damage) > 0 && found.Damage[0].Offset > int64(len(text)) {
		t.Errorf("cut at %d: damage %v", len(text), found.Damage)
	}
}

// TestCutCompressed: a cut through gzip loses no event that came out before it.
func TestCutCompressed(t *testing.T) {
	text := gzipped(t, plain(t, "quic"))
	before := 0
	for cut := 100; cut < len(text); cut += len(text) / 10 {
		found, err := Read(bytes.NewReader(text[:cut]), nil, func(*Event) {})
		if err != nil {
			if before > 0 {
				t.Errorf("cut at %d: %v", cut, err)
			}
			continue
		}
		if found.Events < before || len(found.Damage) != 1 || !strings.Contains(found.Damage[0].String(), "unexpected EOF") {
			t.Errorf("cut at %d: %d events after %d, damage %v", cut, found.Events, before, found.Damage)
		}
		before = found.Events
	}
	if before < 900 {
		t.Errorf("only %d events in the end", before)
	}
	text[len(text)-5] ^= 1 // of the checksum
	if found, err := Read(bytes.NewReader(text), nil, func(*Event) {}); err != nil || found.Events != 1083 || len(found.Damage) != 1 {
		t.Errorf("wrong checksum: %+v, %v", found, err)
	}
}

// TestTorn damages the middle: what is whole around it is there.
func TestTorn(t *testing.T) {
	head, tail := "{"+table+",\n\"events\": [\n", "],\n\"polledData\": [{}]}\n"
	cases := map[string]struct {
		events string
		whole  int
	}{
		"half an event":                {eventA + ",\n" + eventB[:20] + ",\n" + eventC + tail, 2},
		"half a line":                  {eventA + ",\n" + eventB[:20] + "\n" + eventC + tail, 2},
		"in a string":                  {eventA + ",\n" + `{"params":{"x":"ab` + "\n" + eventC + ",\n" + eventA + tail, 3},
		"in a list":                    {eventA + ",\n" + `{"params":{"x":[1` + ",\n" + eventC + ",\n" + eventA + tail, 3},
		"in a list, to the end":        {eventA + ",\n" + `{"params":{"x":[1` + ",\n" + eventC + ",\n" + eventA, 3},
		"in an object":                 {eventA + ",\n" + `{"params":{"x":1` + ",\n" + eventC + tail, 2},
		"before a value":               {eventA + ",\n" + `{"params":` + "\n" + eventC + "," + eventA + tail, 3},
		"holes of zeros":               {eventA + ",\n" + strings.Repeat("\x00", 5000) + "\n" + eventB + ",\n" + eventC + tail, 3},
		"a hole in an event":           {eventA + ",\n" + eventB[:30] + strings.Repeat("\x00", 50) + eventB[40:] + ",\n" + eventC + tail, 2},
		"a comma too many":             {eventA + ",,\n,\n" + eventB + tail, 2},
		"a comma too few":              {eventA + "\n" + eventB + tail, 2},
		"closed early":                 {eventA + "]},\n" + eventB + ",\n" + eventC + tail, 3},
		"closed blindly":               {eventA + ",\n" + eventB + ",\n" + `{"params":{"x":"ab` + "]}", 2},
		"closed blindly after a comma": {eventA + ",\n" + eventB + ",\n]}", 2},
		"another log behind it":        {eventA + ",\n" + `{"params":{"x":"ab` + head + eventB + tail, 2},
		"words":                        {"what\n" + eventA + ",\nis this?\n" + eventB + tail, 2},
		"values that are no events":    {`{"phase":1},` + eventA + `,{"params":{},"time":"1"},3,"x",null,[1],` + eventB + tail, 2},
		"a source that is none":        {`{"phase":1,"source":5,"time":"1","type":1},` + eventA + tail, 1},
	}
	for name, c := range cases {
		events, found, err := readAll([]byte(head+c.events), nil)
		if err != nil || len(events) != c.whole {
			t.Errorf("%s: %q, want %d events; %+v, %v", name, names(events), c.whole, found, err)
			continue
		}
		if clean := strings.Contains(name, "comma") || name == "closed early"; clean != (len(found.Damage) == 0) {
			t.Errorf("%s: damage %v", name, found.Damage)
		}
	}
}

func TestHeadCutOff(t *testing.T) {
	text := plain(t, "h1tls")
	all := entriesOf(t, text)
	own, err := ReadConstants(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range []int{1, 100, len(all) - 1} {
		part := text[all[k].end-5:] // the last bytes of event k, then k+1 and on
		events, found, err := readAll(part, &Options{Constants: own})
		if err != nil || len(events) != len(all)-k-1 {
			if k < len(all)-1 {
				t.Errorf("from event %d: %d events, want %d; %+v, %v", k, len(events), len(all)-k-1, found, err)
			}
			continue
		}
		if strings.Contains(names(events), "UNKNOWN") || len(found.Damage) == 0 {
			t.Errorf("from event %d: %v", k, found.Damage)
		}
	}
}
