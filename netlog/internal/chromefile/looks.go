package chromefile

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
)

const headLen = 1 << 10

// looks says what the stream is if its first bytes show that it is no NetLog.
// It takes a byte-order mark away.
func (f *file) looks() string {
	for len(f.w.ahead()) < headLen && f.w.more() {
	}
	if bytes.HasPrefix(f.w.ahead(), []byte("\ufeff")) {
		f.w.skip(len("\ufeff"))
	}
	head := f.w.ahead()[:min(headLen, len(f.w.ahead()))]
	f.binary = bytes.IndexByte(head, 0) >= 0
	text := bytes.ToLower(bytes.TrimSpace(head))
	if len(text) == 0 {
		return "empty"
	}
	for _, kind := range kinds() {
		if strings.HasPrefix(string(head), kind.magic) || strings.HasPrefix(string(text), kind.magic) {
			return kind.name
		}
	}
	if bytes.HasPrefix(head, []byte(boundedNote)) {
		return stub(string(head))
	}
	return ""
}

type kind struct{ magic, name string }

func kinds() []kind {
	return []kind{
		{"<!doctype html", "an HTML page"},
		{"<html", "an HTML page"},
		{"<", "XML or HTML"},
		{"\xd4\xc3\xb2\xa1", "a packet capture (pcap)"},
		{"\xa1\xb2\xc3\xd4", "a packet capture (pcap)"},
		{"\x4d\x3c\xb2\xa1", "a packet capture (pcap)"},
		{"\x0a\x0d\x0d\x0a", "a packet capture (pcapng)"},
		{"\xff\xfe", "UTF-16 text; Chromium writes UTF-8"},
		{"\xfe\xff", "UTF-16 text; Chromium writes UTF-8"},
		{"\x28\xb5\x2f\xfd", "compressed by zstd; gzip, zip and plain can be read"},
		{"\xfd7zXZ", "compressed by xz; gzip, zip and plain can be read"},
		{"BZh", "compressed by bzip2; gzip, zip and plain can be read"},
		{"7z\xbc\xaf", "a 7z archive; gzip, zip and plain can be read"},
		{"%PDF-", "a PDF document"},
	}
}

// boundedNote begins what Chromium leaves in place of the file for as long as it
// logs to a limited size.
const boundedNote = "Logging is in progress"

func stub(text string) string {
	_, rest, _ := strings.Cut(text, "\n")
	folder, _, _ := strings.Cut(rest, "\n")
	if folder = strings.TrimSpace(folder); folder == "" {
		folder = "its .inprogress folder"
	}
	return fmt.Sprintf("the note that Chromium leaves while it logs to a limited size, and that stays if it is killed: "+
		"the log is in parts in %s. To stitch them, join constants.json, every event_file_N.json from the oldest on, "+
		"and end_netlog.json if it is there, in this order, or use stitch_net_log_files.py of Chromium's net/tools; then read the result", folder)
}

func notALog(what string) error {
	if what == "empty" {
		return errors.New("it is empty")
	}
	return fmt.Errorf("not a NetLog, but %s", what)
}

// judge is the error if nothing could be read.
func (f *file) judge() error {
	switch {
	case f.found.Events > 0:
		return nil
	case f.found.Constants.EventTypes != nil && len(f.found.Damage) == 0:
		return nil // it was stopped before anything happened
	case f.begunAsLog():
		return fmt.Errorf("no event is whole: %v", f.found.Damage[0])
	case len(f.keys) > 0:
		return notALog(f.otherJSON())
	case f.binary:
		return notALog("binary data")
	}
	return notALog("text, or JSON without events")
}

func (f *file) begunAsLog() bool {
	if len(f.found.Damage) == 0 {
		return false
	}
	for _, key := range f.keys {
		if key == "constants" || key == "events" || key == "event" {
			return true
		}
	}
	return f.begun
}

func (f *file) otherJSON() string {
	switch f.keys[0] {
	case "log":
		return "JSON with a log in it, as a HAR file"
	case "traceEvents":
		return "a performance trace"
	case "constants", "events", "event":
		return "JSON without events that Chromium would write"
	}
	return fmt.Sprintf("JSON without events; its keys begin with %s", strings.Join(f.keys, ", "))
}
