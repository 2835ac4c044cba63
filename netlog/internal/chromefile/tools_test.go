package chromefile

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Cutting everything everywhere takes minutes; a few places are cut each time.
var everywhere = flag.Bool("cut-everywhere", false, "cut the logs at 500 places, and the smallest at every byte")

// plain is a log of testdata.
func plain(tb testing.TB, name string) []byte {
	tb.Helper()
	file, err := os.Open(filepath.Join("..", "..", "testdata", name+".json.gz"))
	if err != nil {
		tb.Fatal(err)
	}
	defer file.Close()
	z, err := gzip.NewReader(file)
	if err != nil {
		tb.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		tb.Fatal(err)
	}
	return text
}

// logs are those of testdata with events in them. The race detector, which has
// nothing to find in one goroutine, sees one of each form.
func logs() []string {
	forms := []string{"quic", "ndjson_h2", "redacted", "bounded", "killed"}
	if raceDetector {
		return forms
	}
	return append(forms, "h1tls", "h2", "hev3_h1", "hev3_h2", "httpproxy", "httpsproxy_h1", "altbroken")
}

// entry is an event as encoding/json has it.
type entry struct {
	Params json.RawMessage
	Phase  int
	Source struct{ ID, Type int64 }
	Time   string
	Type   int64
	end    int // in the file
}

// entriesOf goes over the lines of a log as Chromium writes them.
func entriesOf(tb testing.TB, log []byte) (all []entry) {
	tb.Helper()
	at := 0
	for line := range bytes.Lines(log) {
		text := bytes.TrimSuffix(bytes.TrimRight(line, ",\n"), []byte("]")) // the list's end is in the last event's line
		if !bytes.HasPrefix(text, []byte("{")) {
			text = nil
		}
		length := len(text)
		var wrapped struct{ Event json.RawMessage }
		closing := 0
		if bytes.HasPrefix(text, []byte(`{"type":"event"`)) && json.Unmarshal(text, &wrapped) == nil {
			text, closing = wrapped.Event, 1
		}
		var e entry
		if json.Unmarshal(text, &e) == nil && e.Time != "" {
			e.end = at + length - closing
			all = append(all, e)
		}
		at += len(line)
	}
	return all
}

// wholeIn is how many of the events end before the cut.
func wholeIn(all []entry, cut int) (n int) {
	for n < len(all) && all[n].end <= cut {
		n++
	}
	return n
}

func readAll(text []byte, opt *Options) (events []Event, found *Found, err error) {
	found, err = Read(bytes.NewReader(text), opt, func(e *Event) {
		one := *e
		one.Params = bytes.Clone(e.Params)
		events = append(events, one)
	})
	return events, found, err
}

// table is the constants of small logs made by hand.
const table = `"constants":{"logEventTypes":{"REQUEST_ALIVE":1,"SOCKET_ALIVE":2},"logSourceType":{"NONE":0,"URL_REQUEST":1,"SOCKET":2},` +
	`"logEventPhase":{"PHASE_NONE":0,"PHASE_BEGIN":1,"PHASE_END":2},"netError":{"ERR_FAILED":-2},"timeTickOffset":1000}`

const (
	eventA = `{"phase":1,"source":{"id":7,"start_time":"5","type":1},"time":"5","type":1}`
	eventB = `{"params":{"x":"}],{\"phase\":1"},"phase":2,"source":{"id":7,"type":1},"time":"6","type":1}`
	eventC = `{"phase":0,"source":{"id":-7,"type":99},"time":7,"type":1234}`
)

func names(events []Event) string {
	var all []string
	for _, e := range events {
		all = append(all, e.Name)
	}
	return strings.Join(all, " ")
}
