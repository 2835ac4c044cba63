package chromefile

import (
	"bytes"
	"testing"
)

// FuzzRead: no input makes Read panic, miscount, or give what is not there.
func FuzzRead(f *testing.F) {
	head := "{" + table + ",\n\"events\": [\n"
	for _, text := range []string{
		head + eventA + ",\n" + eventB + ",\n" + eventC + "],\n\"polledData\": [{}]}\n",
		`{"type":"constants",` + table + "}\n" + wrap(eventA) + wrap(eventC) + `{"type":"end"}` + "\n",
		"[" + eventA + "," + eventB + "]",
		`{"events":[` + eventA + "]," + table + "}",
		head + eventA[:40] + "\n" + eventB + ",\n{\"params\":[1,\n" + eventC,
		"Logging is in progress\n /a\n", "<html>", `{"log":{}}`, "\x1f\x8b\x08\x00", "PK\x03\x04",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		count := 0
		found, err := Read(bytes.NewReader(text), nil, func(e *Event) {
			count++
			touch(e)
		})
		if found != nil && found.Events != count {
			t.Errorf("%d events given, %d counted", count, found.Events)
		}
		if count > 0 && err != nil {
			t.Errorf("an error though %d events are whole: %v", count, err)
		}
	})
}

func touch(e *Event) {
	e.Params.Int("a")
	e.Params.Strings("x")
	_ = e.Params.Object("o").Str("s")
	e.Params.Dependency()
}
