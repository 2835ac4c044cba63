package chromefile

import (
	"bytes"
	"strings"
	"testing"
)

// TestWhatIsNoLog: the error says what it is.
func TestWhatIsNoLog(t *testing.T) {
	for text, want := range map[string]string{
		"":                        "it is empty",
		" \n\t":                   "it is empty",
		"\ufeff":                  "it is empty",
		"<!DOCTYPE html>\n<html>": "not a NetLog, but an HTML page",
		"\n <HTML lang=en>":       "not a NetLog, but an HTML page",
		"<?xml version=\"1.0\"?>": "not a NetLog, but XML or HTML",
		`{"log":{"version":"1.2","creator":{},"entries":[{"request":{}}]}}`: "not a NetLog, but JSON with a log in it, as a HAR file",
		`{"traceEvents":[{"ph":"X"}]}`:                                      "not a NetLog, but a performance trace",
		`{"name":"x","version":"1","scripts":{}}`:                           "not a NetLog, but JSON without events; its keys begin with name, version, scripts",
		`{"events":[]}`: "not a NetLog, but JSON without events that Chromium would write",
		`{"events":[{"name":"click"},{"name":"move"}]}`: "not a NetLog, but JSON without events that Chromium would write",
		"{}":                              "not a NetLog, but text, or JSON without events",
		"[1,2,3]":                         "not a NetLog, but text, or JSON without events",
		"hello":                           "not a NetLog, but text, or JSON without events",
		"\xd4\xc3\xb2\xa1\x02\x00":        "not a NetLog, but a packet capture (pcap)",
		"\x0a\x0d\x0d\x0a\x1c\x00\x00":    "not a NetLog, but a packet capture (pcapng)",
		"\x28\xb5\x2f\xfd\x04":            "not a NetLog, but compressed by zstd; gzip, zip and plain can be read",
		"\xff\xfe{\x00":                   "not a NetLog, but UTF-16 text; Chromium writes UTF-8",
		"\x7fELF\x02\x01\x01\x00\x00\x00": "not a NetLog, but binary data",
		"PK\x03\x04":                      "a zip archive without a file in it",
		"\x1f\x8b\x08":                    "unexpected EOF",
		"{" + table:                       "",
		"{" + table[:100]:                 "no event is whole: byte 1, after 0 whole events: cut off inside the constants; missing: the rest of it, constants, closing }, polledData",
		"{" + table + `,"events":[{"pha`:  "no event is whole: byte 246, after 0 whole events: cut off at the beginning of an object; missing: the rest of it, closing ]}, polledData",
		"{" + table + `,"events":[` + eventA[:20]: "no event is whole: byte 246, after 0 whole events: cut off inside an event; missing: the rest of it, closing ]}, polledData",
	} {
		_, err := Read(strings.NewReader(text), nil, func(*Event) { t.Errorf("%q has an event", text) })
		if want == "" {
			if err == nil {
				t.Errorf("%q is read", text)
			}
			continue
		}
		if err == nil || err.Error() != want {
			t.Errorf("%q:\n got %v\nwant %s", text, err, want)
		}
	}
}

func TestStub(t *testing.T) {
	_, err := Read(bytes.NewReader(plain(t, "bkilled")), nil, func(*Event) {})
	if err == nil {
		t.Fatal("the note is read")
	}
	for _, part := range []string{"the note that Chromium leaves", "/netlog-parts", "constants.json, every event_file_N.json", "stitch_net_log_files.py"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not say %q", err, part)
		}
	}
}

// TestStitched joins parts as the note says.
func TestStitched(t *testing.T) {
	text := plain(t, "bounded")
	all := entriesOf(t, text)
	third, two := all[len(all)/3].end+2, all[2*len(all)/3].end+2 // behind a comma and the end of a line
	parts := string(text[:third]) + string(text[third:two]) + string(text[two:])
	if found, err := Read(strings.NewReader(parts), nil, func(*Event) {}); err != nil || found.Events != len(all) || len(found.Damage) != 0 {
		t.Errorf("%+v, %v", found, err)
	}
	alone, err := Read(strings.NewReader(string(text[third:two])), nil, func(*Event) {})
	if err != nil || alone.Events == 0 || len(alone.Damage) != 1 || alone.Damage[0].What != "no constants" {
		t.Errorf("a part alone: %+v, %v", alone, err)
	}
}

// TestEmptyLog is one that was stopped before anything happened.
func TestEmptyLog(t *testing.T) {
	found, err := Read(strings.NewReader("{"+table+`,"events":[],"polledData":[]}`), nil, func(*Event) {})
	if err != nil || found.Events != 0 || len(found.Damage) != 0 {
		t.Errorf("%+v, %v", found, err)
	}
}

func TestWithoutConstants(t *testing.T) {
	text := []byte(`[` + eventA + `,` + eventB + `]`)
	events, found, err := readAll(text, nil)
	if err != nil || names(events) != "UNKNOWN(1) UNKNOWN(1)" || events[0].Phase != Begin || len(found.Damage) != 1 {
		t.Errorf("%q %+v, %v", names(events), found, err)
	}
	other, err := ReadConstants(strings.NewReader("{" + table + `,"events":[` + eventC + "]}"))
	if err != nil {
		t.Fatal(err)
	}
	events, found, err = readAll(text, &Options{Constants: other})
	if err != nil || names(events) != "REQUEST_ALIVE REQUEST_ALIVE" || len(found.Damage) != 0 {
		t.Errorf("%q %+v, %v", names(events), found, err)
	}
	for _, none := range []string{string(text), "{" + table[:90], ""} {
		if _, err := ReadConstants(strings.NewReader(none)); err == nil {
			t.Errorf("constants in %q", none)
		}
	}
}
