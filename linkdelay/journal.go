package linkdelay

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"example.com/wiretest/netlog"
)

// journal keeps the last events of a wire for the message of a failing test,
// and writes all of them into a netlog if there is one. Its mutex is taken
// last: nothing else is locked under it but the netlog's own.
type journal struct {
	clock clock

	mu    sync.Mutex
	log   *netlog.Log
	seen  int
	last  [journalSize]event
	names [2]string // of the sides that the lanes lead from
}

const journalSize = 24

// event is a drop, or a change by somebody.
type event struct {
	at      instant
	what    string // a change; "" is a drop
	network string
	from    int // the lane's index
	why     cause
	size    int
	index   int
	attempt int
	flow    uint64
}

// Types of the events that a link writes into a netlog.
const (
	// EventDrop has the Params network, from, to, cause, bytes, connection and
	// index; for a segment also attempt.
	EventDrop = "linkdelay.drop"
	// EventChange has the Params from, to and what.
	EventChange = "linkdelay.change"
)

func (j *journal) note(e event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.last[j.seen%journalSize] = e
	j.seen++
	if j.log != nil {
		j.log.Note(j.record(e))
	}
}

func (j *journal) record(e event) netlog.Note {
	params := map[string]any{"from": j.names[e.from], "to": j.names[1-e.from]}
	kind := EventChange
	if e.what != "" {
		params["what"] = e.what
	} else {
		kind = EventDrop
		params["network"], params["cause"] = e.network, string(e.why.public())
		params["bytes"], params["connection"], params["index"] = e.size, e.flow, e.index
		if e.network == "tcp" {
			params["attempt"] = e.attempt
		}
	}
	return netlog.Note{Time: j.clock.epoch.Add(time.Duration(e.at)), Type: kind, Params: params}
}

func (j *journal) recordIn(log *netlog.Log) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.log = log
}

// empty reports whether nothing was ever noted.
func (j *journal) empty() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.seen == 0
}

// String is the last events, one a line.
func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	var b strings.Builder
	if j.seen > journalSize {
		fmt.Fprintf(&b, "  … %d earlier events\n", j.seen-journalSize)
	}
	for i := max(0, j.seen-journalSize); i < j.seen; i++ {
		e := &j.last[i%journalSize]
		fmt.Fprintf(&b, "  %12v  %s\n", time.Duration(e.at), j.describe(e))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func (j *journal) describe(e *event) string {
	if e.what != "" {
		return e.what
	}
	what := fmt.Sprintf("datagram %d", e.index)
	if e.network == "tcp" {
		what = fmt.Sprintf("segment %d, attempt %d,", e.index, e.attempt)
	}
	return fmt.Sprintf("%s of connection %d from %s dropped: %s (%d bytes)",
		what, e.flow, j.names[e.from], e.why.public(), e.size)
}
