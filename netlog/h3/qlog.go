package h3

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3/qlog"
	quicqlog "github.com/quic-go/quic-go/qlog"
	"github.com/quic-go/quic-go/qlogwriter"
	"github.com/quic-go/quic-go/qlogwriter/jsontext"
)

// Qlog keeps the latest qlog events of connections in memory, to be written
// when they are wanted: by a test that has failed. Its zero value is ready; nil
// keeps nothing.
type Qlog struct {
	mu     sync.Mutex
	traces []*trace // in order; guarded by mu
}

// mostEvents is how many events a trace keeps. The first ones tell the
// handshake, and the last ones how it ended.
const mostEvents = 4096

// trace is the events of one connection.
type trace struct {
	side string
	id   quic.ConnectionID
	from time.Time

	mu    sync.Mutex
	first []traced // guarded by mu
	last  []traced // a ring, which begins at next; guarded by mu
	next  int      // guarded by mu
	lost  int      // guarded by mu
}

type traced struct {
	at    time.Time
	event qlogwriter.Event
}

func (q *Qlog) open(side string, id quic.ConnectionID) *trace {
	if q == nil {
		return nil
	}
	t := &trace{side: side, id: id, from: time.Now()}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.traces = append(q.traces, t)
	return t
}

func (t *trace) Close() error { return nil }

func (t *trace) RecordEvent(e qlogwriter.Event) {
	one := traced{time.Now(), e}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case len(t.first) < mostEvents/2:
		t.first = append(t.first, one)
	case len(t.last) < mostEvents/2:
		t.last = append(t.last, one)
	default:
		t.last[t.next] = one
		t.next = (t.next + 1) % len(t.last)
		t.lost++
	}
}

// Save writes a file for each connection into a folder that exists, as qvis
// reads them: JSON text sequences, <id of the connection>_<side>.sqlog.
func (q *Qlog) Save(folder string) error {
	if q == nil {
		return nil
	}
	q.mu.Lock()
	traces := q.traces
	q.mu.Unlock()
	var errs []error
	for _, t := range traces {
		name := filepath.Join(folder, fmt.Sprintf("%s_%s.sqlog", t.id, t.side))
		text, err := t.encode()
		if err == nil {
			err = os.WriteFile(name, text, 0o644)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// encode writes the events in order (draft-ietf-quic-qlog-main-schema, section
// 5), and says where some are missing.
func (t *trace) encode() ([]byte, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var b bytes.Buffer
	if err := t.head(&b); err != nil {
		return nil, err
	}
	for _, events := range [][]traced{t.first, t.last[t.next:], t.last[:t.next]} {
		for _, one := range events {
			if err := one.encode(&b, t.from); err != nil {
				return nil, err
			}
		}
	}
	return b.Bytes(), nil
}

func (t *trace) head(b *bytes.Buffer) error {
	type object = map[string]any
	title := "wiretest"
	if t.lost > 0 {
		title += fmt.Sprintf(": %d events in the middle were not kept", t.lost)
	}
	b.WriteByte(qlogwriter.RecordSeparator)
	return json.NewEncoder(b).Encode(object{
		"file_schema":          "urn:ietf:params:qlog:file:sequential",
		"serialization_format": "application/qlog+json-seq",
		"qlog_format":          "JSON-SEQ", // which qvis asks for, and the next too
		"qlog_version":         "0.3",
		"title":                title,
		"trace": object{
			"event_schemas": []string{quicqlog.EventSchema, qlog.EventSchema},
			"vantage_point": object{"type": t.side},
			"common_fields": object{
				"group_id":       t.id.String(),
				"reference_time": object{"clock_type": "monotonic", "epoch": "unknown", "wall_clock_time": t.from.Format(time.RFC3339Nano)},
			},
		},
	})
}

func (one traced) encode(b *bytes.Buffer, from time.Time) error {
	b.WriteByte(qlogwriter.RecordSeparator)
	fmt.Fprintf(b, `{"time":%.6f,"name":%q,"data":`, float64(one.at.Sub(from))/1e6, one.event.Name())
	enc := jsontext.NewEncoder(b)
	if err := one.event.Encode(enc, one.at); err != nil {
		return fmt.Errorf("h3: qlog: %s: %w", one.event.Name(), err)
	}
	b.WriteString("}\n")
	return nil
}
