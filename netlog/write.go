package netlog

import (
	"bufio"
	"cmp"
	priority "container/heap"
	"fmt"
	"io"
	"time"
)

// WriteTo writes the Log as a NetLog, as Chromium does with --log-net-log: its
// viewers (chrome://net-export's and catapult's) show it, and Read reads it.
//
// What is known is told by Chromium's own events and parameters: for each
// request a URL_REQUEST, its HTTP_STREAM_JOB_CONTROLLER and HTTP_STREAM_JOB with
// the stalls of the socket pool; for each connection a SOCKET with its
// TCP_CONNECT and SSL_CONNECT, or a QUIC_SESSION; for each HTTP/2 connection an
// HTTP2_SESSION with its frames' headers and its stalls. What the Log does not
// know, such as certificates, header lines or the bytes of a ClientHello, is left
// out rather than made up.
//
// Chromium's events have no place for the legs of a proxy and its pairs, header
// bytes, what a client offered, names of issuers, texts of errors and reasons, or
// anything below a millisecond. Events named WIRETEST_… keep each record whole
// beside them, and Read goes by these where there are any: Connections, Requests,
// Stalls, Pairs, Findings and AltServices read back equal, with times in UTC and
// text in valid UTF-8. Parameters of Notes come back as JSON has them, numbers as
// float64. Events and Damage are those of the file that is read, and Client is
// "wiretest" unless the Log was itself read.
//
// Events are in the order of their time. Each is written as soon as it is made:
// beside a copy of the records, memory holds only those of what goes on at one
// instant. The number is of bytes written; the error wraps that of writing to w.
func (l *Log) WriteTo(w io.Writer) (int64, error) {
	counted := &countingWriter{w: w}
	e := &emitter{w: bufio.NewWriterSize(counted, 64<<10), log: l.copies()}
	e.head()
	e.timeline()
	e.text("\n],\n\"polledData\": {}}\n")
	err := e.w.Flush()
	if err != nil {
		err = fmt.Errorf("netlog: write: %w", err)
	}
	return counted.n, err
}

type countingWriter struct {
	w io.Writer
	n int64
}

func (c *countingWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

// emitter writes one NetLog.
type emitter struct {
	w       *bufio.Writer
	log     *copies
	types   map[string]int
	any     bool   // an event was written
	scratch []byte // of the last event
}

func (e *emitter) text(s string) { e.w.WriteString(s) } // the error is Flush's

// source is what events happen to.
type source struct {
	id    int64
	kind  string
	start time.Time
}

// told is an event to be written.
type told struct {
	at     time.Time
	name   string
	phase  int
	on     *source
	params params
}

// Phases, as Chromium numbers them.
const (
	phaseNone, phaseBegin, phaseEnd = 0, 1, 2
)

// teller has all events of one thing, in the order of their time.
type teller struct {
	events []told
	last   time.Time
}

// tell adds an event at t, or at the one before if that is later or t unknown.
func (t *teller) tell(on *source, at time.Time, name string, phase int, p params) {
	if at.Before(t.last) {
		at = t.last
	}
	t.last = at
	if on.start.IsZero() {
		on.start = at
	}
	t.events = append(t.events, told{at, name, phase, on, p})
}

// thing is told from start on.
type thing struct {
	start time.Time
	tell  func() []told
}

// timeline writes the events of all things in the order of time: a thing is
// told when the time of its beginning has come.
func (e *emitter) timeline() {
	things, due := e.things(), new(queue)
	for len(things) > 0 || due.Len() > 0 {
		for len(things) > 0 && (due.Len() == 0 || !things[0].start.After(due.all[0].events[0].at)) {
			if events := things[0].tell(); len(events) > 0 {
				due.turn++
				priority.Push(due, &queued{events, due.turn})
			}
			things = things[1:]
		}
		if due.Len() == 0 {
			return
		}
		first := due.all[0]
		e.event(&first.events[0])
		if first.events = first.events[1:]; len(first.events) == 0 {
			priority.Pop(due)
		} else {
			priority.Fix(due, 0)
		}
	}
}

// queued are the events that a thing has left.
type queued struct {
	events []told
	turn   int // for equal times
}

type queue struct {
	all  []*queued
	turn int
}

func (q *queue) Len() int      { return len(q.all) }
func (q *queue) Swap(i, j int) { q.all[i], q.all[j] = q.all[j], q.all[i] }
func (q *queue) Push(x any)    { q.all = append(q.all, x.(*queued)) }

func (q *queue) Less(i, j int) bool {
	a, b := q.all[i], q.all[j]
	return cmp.Or(a.events[0].at.Compare(b.events[0].at), cmp.Compare(a.turn, b.turn)) < 0
}

func (q *queue) Pop() any {
	last := q.all[len(q.all)-1]
	q.all = q.all[:len(q.all)-1]
	return last
}
