package chromefile

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

// TestEveryEvent: what encoding/json reads line by line, in numbers, is what
// Read gives, in names.
func TestEveryEvent(t *testing.T) {
	for _, name := range logs() {
		text := plain(t, name)
		want := entriesOf(t, text)
		got, found, err := readAll(text, nil)
		if err != nil || len(got) != len(want) || found.Events != len(want) {
			t.Errorf("%s: %d events, counted %d, want %d; %v", name, len(got), found.Events, len(want), err)
			continue
		}
		for i, e := range got {
			sameEvent(t, name, found.Constants, &e, &want[i], text)
		}
		checkDamage(t, name, found.Damage)
	}
}

func sameEvent(t *testing.T, name string, c *Constants, got *Event, want *entry, text []byte) {
	t.Helper()
	at, _ := milliseconds([]byte(want.Time))
	if c.EventTypes[got.Name] != want.Type || c.SourceTypes[got.Source.Type] != want.Source.Type ||
		got.Source.ID != want.Source.ID || int(got.Phase) != want.Phase || !got.Time.Equal(c.Zero.Add(at)) || string(got.Params) != string(want.Params) {
		t.Errorf("%s: event %+v, want %+v", name, got, want)
	}
	if text[got.Offset] != '{' {
		t.Errorf("%s: offset %d is %q", name, got.Offset, text[got.Offset])
	}
}

// checkDamage: only the log of a killed browser has some.
func checkDamage(t *testing.T, name string, damage []Damage) {
	t.Helper()
	const killed = "[byte 448822, after 2686 whole events: cut off between events; missing: closing ]}, polledData]"
	want := "[]"
	if name == "killed" {
		want = killed
	}
	if got := fmt.Sprint(damage); got != want {
		t.Errorf("%s: damage %s, want %s", name, got, want)
	}
}

// TestForms is one log in every form that there is of it.
func TestForms(t *testing.T) {
	forms := map[string]string{
		"as Chromium writes it":    "{" + table + ",\n\"events\": [\n" + eventA + ",\n" + eventB + ",\n" + eventC + "],\n\"polledData\": [{\"a\":[1,{\"events\":[{}]}]}]}\n",
		"without polledData":       "{" + table + ",\n\"events\": [\n" + eventA + ",\n" + eventB + ",\n" + eventC + "]}\n",
		"polledData an object":     "{" + table + ",\"events\":[" + eventA + "," + eventB + "," + eventC + "],\"polledData\":{\"x\":\"}\"}}",
		"on one line":              "{" + table + ",\"events\":[" + eventA + "," + eventB + "," + eventC + "],\"polledData\":[]}",
		"constants last":           "{\"events\":[" + eventA + "," + eventB + "," + eventC + "],\"polledData\":[]," + table + "}",
		"spread out":               strings.NewReplacer("{", "{\n ", ":", " : ", ",", " ,\r\n\t").Replace("{"+table+",\"events\":["+eventA+",") + "\n" + eventB + "\n,\n" + eventC + "\n]\n}",
		"with a byte-order mark":   "\ufeff{" + table + ",\"events\":[" + eventA + "," + eventB + "," + eventC + "]}",
		"a line each":              `{"type":"constants",` + table + "}\n" + wrap(eventA) + wrap(eventB) + wrap(eventC) + `{"type":"polledData","polledData":[{}]}` + "\n" + `{"type":"end"}` + "\n",
		"a line each, keys turned": `{` + table + `,"type":"constants"}` + "\n" + turned(eventA) + turned(eventB) + turned(eventC) + `{"type":"end"}` + "\n",
		"bare lines":               "{" + table + "}\n" + eventA + "\n" + eventB + "\n" + eventC + "\n",
		"unknown members":          `{"a":{"events":[1]},` + table + `,"b":"}","c":-1.5e3,"events":[` + eventA + "," + eventB + "," + eventC + `],"d":null}`,
	}
	for form, text := range forms {
		checkForm(t, form, []byte(text))
	}
}

func wrap(event string) string   { return `{"type":"event","event":` + event + "}\n" }
func turned(event string) string { return `{"event":` + event + `,"type":"event"}` + "\n" }

func checkForm(t *testing.T, form string, text []byte) {
	t.Helper()
	for packed, wrapped := range map[string][]byte{"plain": text, "gzip": gzipped(t, text), "zip": zipped(t, text, zip.Deflate), "stored": zipped(t, text, zip.Store), "gzip in zip": zipped(t, gzipped(t, text), zip.Deflate)} {
		events, found, err := readAll(wrapped, nil)
		if err != nil || names(events) != "REQUEST_ALIVE REQUEST_ALIVE UNKNOWN(1234)" || len(found.Damage) != 0 {
			t.Errorf("%s, %s: %s, damage %v, %v", form, packed, names(events), found, err)
			continue
		}
		a, b, c := events[0], events[1], events[2]
		if a.Phase != Begin || a.Source != (Source{7, "URL_REQUEST"}) || !a.Time.Equal(time.UnixMilli(1005)) || a.Params != nil ||
			b.Phase != End || b.Params.Str("x") != `}],{"phase":1` ||
			c.Phase != None || c.Source != (Source{-7, "UNKNOWN(99)"}) || !c.Time.Equal(time.UnixMilli(1007)) {
			t.Errorf("%s, %s: %+v", form, packed, events)
		}
		if !found.Constants.Zero.Equal(time.UnixMilli(1000)) {
			t.Errorf("%s: zero %v", form, found.Constants.Zero)
		}
	}
}

func gzipped(t *testing.T, text []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(text); err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zipped(t *testing.T, text []byte, method uint16) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	if _, err := z.Create("folder/"); err != nil {
		t.Fatal(err)
	}
	var w io.Writer
	var err error
	if method == zip.Store { // only with its size ahead can it be read from a pipe
		w, err = z.CreateRaw(&zip.FileHeader{Name: "folder/log.txt", Method: method, CompressedSize64: uint64(len(text)), UncompressedSize64: uint64(len(text))})
	} else {
		w, err = z.CreateHeader(&zip.FileHeader{Name: "folder/log.txt", Method: method})
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(text); err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestSlowReader: however the bytes come, they are the same.
func TestSlowReader(t *testing.T) {
	text := plain(t, "quic")
	_, want, err := readAll(text, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, r := range map[string]io.Reader{
		"a byte each":   iotest.OneByteReader(bytes.NewReader(text)),
		"half":          iotest.HalfReader(bytes.NewReader(text)),
		"data with EOF": iotest.DataErrReader(bytes.NewReader(text)),
	} {
		found, err := Read(r, nil, func(*Event) {})
		if err != nil || found.Events != want.Events || len(found.Damage) != 0 {
			t.Errorf("%s: %+v, %v", name, found.Events, err)
		}
	}
}

func TestReaderThatFails(t *testing.T) {
	text := plain(t, "quic")
	half := io.MultiReader(bytes.NewReader(text[:len(text)/2]), iotest.ErrReader(io.ErrClosedPipe))
	found, err := Read(half, nil, func(*Event) {})
	if err != nil || found.Events == 0 || len(found.Damage) != 1 || !strings.Contains(found.Damage[0].String(), "closed pipe") {
		t.Errorf("%+v, %v", found, err)
	}
	idle := io.MultiReader(bytes.NewReader(text[:len(text)/2]), readerFunc(func([]byte) (int, error) { return 0, nil }))
	if found, err := Read(idle, nil, func(*Event) {}); err != nil || found.Events == 0 {
		t.Errorf("%+v, %v", found, err)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
