package netlog

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"sync"
	"testing"
	"time"
)

// Log is the record of connections and requests. Its zero value is ready; all
// of its methods may be called from several goroutines at once, and what they
// return are copies.
//
// A Log keeps everything until it is dropped: about 350 bytes and the URL for
// each request.
type Log struct {
	mu          sync.Mutex
	connections []*ConnectionRecord // in order of ID
	requests    []*RequestRecord    // in order of ID
	stalls      []Stall
	notes       []Note
	spare       []RequestRecord // allocated ahead, since servers record very many
	origin      *origin         // what else is known if the Log was read; nil if it was recorded
}

// New returns an empty Log for one test. When that test fails, it prints the
// Log and writes it to the test's ArtifactDir, which go test keeps if told to by
// -artifacts: in full, with every request, as a netlog-….txt; as a netlog-….json
// for Chrome's viewers (see WriteTo); and drawn, as netlog-…-waterfall.svg and
// netlog-…-lanes.svg (see WriteWaterfall). A Log of more than 20,000 requests is
// kept as text alone.
func New(tb testing.TB) *Log {
	log := new(Log)
	tb.Cleanup(func() {
		if tb.Failed() {
			tb.Helper()
			tb.Logf("netlog of the failed test:\n%s", log)
			log.keep(tb)
		}
	})
	return log
}

// keep writes what is left of a failed test: as text, as a NetLog for Chrome's
// viewers, and as pictures.
func (l *Log) keep(tb testing.TB) {
	tb.Helper()
	type form struct {
		pattern string
		write   func(io.Writer) error
	}
	all := []form{{"netlog-*.txt", func(w io.Writer) error { _, err := io.WriteString(w, l.full()); return err }}}
	const mostLooked = 20_000 // requests that a viewer can show
	if len(l.Requests()) <= mostLooked {
		all = append(all,
			form{"netlog-*.json", func(w io.Writer) error { _, err := l.WriteTo(w); return err }},
			form{"netlog-*-waterfall.svg", l.WriteWaterfall},
			form{"netlog-*-lanes.svg", func(w io.Writer) error { return l.WriteWaterfallWith(w, &WaterfallOptions{Lanes: true}) }})
	}
	for _, one := range all {
		err := keepFile(tb.ArtifactDir(), one.pattern, one.write)
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // a folder that go test does not keep is gone when a second log comes
			tb.Logf("netlog: keep the log of the failed test: %v", err)
		}
	}
}

// keepFile makes a name that is new: a test may have several logs.
func keepFile(dir, pattern string, write func(io.Writer) error) error {
	file, err := os.CreateTemp(dir, pattern)
	if err != nil {
		return err
	}
	return errors.Join(write(file), file.Close())
}

// Connections returns the connections that match every filter, in order of
// opening.
func (l *Log) Connections(filters ...Filter) Connections {
	l.mu.Lock()
	defer l.mu.Unlock()
	epoch := l.epoch()
	var all Connections
	for _, r := range l.connections {
		if selects(filters, factsOfConnection(&r.c, r.statuses)) {
			all = append(all, r.snapshot(epoch))
		}
	}
	slices.SortStableFunc(all, func(a, b Connection) int { return a.Opened.Compare(b.Opened) })
	return all
}

// Requests returns the requests that match every filter, in order of their
// start. Requests of one answer that one connection carried share its copy.
func (l *Log) Requests(filters ...Filter) Requests {
	l.mu.Lock()
	defer l.mu.Unlock()
	read := l.reader()
	var all Requests
	for _, r := range l.requests {
		if q := read.request(r); len(filters) == 0 || selects(filters, factsOfRequest(&q)) {
			all = append(all, q)
		}
	}
	slices.SortStableFunc(all, func(a, b Request) int { return a.Start.Compare(b.Start) })
	return all
}

// Stalls returns the stalls that match every filter, in order of their start.
func (l *Log) Stalls(filters ...Filter) Stalls {
	l.mu.Lock()
	defer l.mu.Unlock()
	read := l.reader()
	var all Stalls
	for _, s := range l.stalls {
		if selects(filters, factsOfStall(&s, read.byID(s.Request))) {
			s.epoch = read.epoch
			all = append(all, s)
		}
	}
	slices.SortStableFunc(all, func(a, b Stall) int {
		return cmp.Or(a.Start.Compare(b.Start), cmp.Compare(a.Request, b.Request))
	})
	return all
}

// reader makes the copies of one answer. Its owner holds l.mu.
type reader struct {
	log    *Log
	epoch  *time.Time
	copies map[*ConnectionRecord]*Connection
}

func (l *Log) reader() *reader {
	return &reader{l, l.epoch(), make(map[*ConnectionRecord]*Connection)}
}

func (d *reader) request(r *RequestRecord) Request {
	q := r.q
	q.epoch = d.epoch
	q.Connection = d.connection(r.conn)
	if q.Protocol == "" {
		q.Protocol = Unknown
		if q.Connection != nil {
			q.Protocol = q.Connection.Protocol
		}
	}
	return q
}

func (d *reader) connection(r *ConnectionRecord) *Connection {
	if r == nil {
		return nil
	}
	c, ok := d.copies[r]
	if !ok {
		snapshot := r.snapshot(d.epoch)
		c = &snapshot
		d.copies[r] = c
	}
	return c
}

// byID is nil where there is no such request.
func (d *reader) byID(id int64) *Request {
	if id < 1 || id > int64(len(d.log.requests)) {
		return nil
	}
	q := d.request(d.log.requests[id-1])
	return &q
}

// epoch is the Log's first event, from which tables count time. The caller
// holds l.mu.
func (l *Log) epoch() *time.Time {
	var first earliest
	for _, r := range l.connections {
		first.see(r.c.Opened)
	}
	for _, r := range l.requests {
		first.see(r.q.Start)
	}
	for _, s := range l.stalls {
		first.see(s.Start)
	}
	return (*time.Time)(&first)
}

type earliest time.Time

func (e *earliest) see(t time.Time) {
	if t.IsZero() {
		return
	}
	if old := time.Time(*e); old.IsZero() || t.Before(old) {
		*e = earliest(t)
	}
}
