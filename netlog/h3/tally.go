package h3

import (
	"strconv"
	"sync"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3/qlog"
	"github.com/quic-go/quic-go/qlogwriter"

	"example.com/wiretest/netlog"
)

// tally is the qlog trace of one connection, read for its ledger. Where a file
// is kept all events go there too; otherwise QUIC's own are not even made.
type tally struct {
	rec    *netlog.ConnectionRecord
	server bool
	file   *trace           // nil keeps none
	also   qlogwriter.Trace // of the client's owner; nil is none
	// begun is told of a request whose head has come, in the goroutine that will
	// serve it; nil on a client.
	begun func(*exchange)

	mu      sync.Mutex
	quic    bool                        // quic-go has asked for QUIC's own recorder; guarded by mu
	streams map[quic.StreamID]*exchange // guarded by mu
}

// exchange is one request and its answer.
type exchange struct {
	id  quic.StreamID
	rec *netlog.RequestRecord

	// Of the goroutine that serves it.
	entered bool // it has had the turn
	served  bool // a handler was called
}

func newTally(rec *netlog.ConnectionRecord, server bool, file *trace) *tally {
	return &tally{rec: rec, server: server, file: file, streams: make(map[quic.StreamID]*exchange)}
}

// AddProducer is first called for QUIC itself, and then by HTTP/3.
func (t *tally) AddProducer() qlogwriter.Recorder {
	t.mu.Lock()
	first := !t.quic
	t.quic = true
	t.mu.Unlock()
	var next qlogwriter.Recorder // nil has quic-go make no events
	switch {
	case t.file != nil:
		next = t.file
	case t.also != nil:
		next = t.also.AddProducer()
	}
	if first {
		return next
	}
	return frames{t, next}
}

// frames is HTTP/3's recorder.
type frames struct {
	*tally
	next qlogwriter.Recorder // nil is none
}

func (f frames) Close() error {
	if f.next == nil {
		return nil
	}
	return f.next.Close()
}

func (f frames) RecordEvent(e qlogwriter.Event) {
	if f.next != nil {
		f.next.RecordEvent(e)
	}
	switch e := e.(type) {
	case qlog.FrameParsed:
		f.frame(f.server, e.StreamID, e.Raw, e.Frame.Frame)
	case qlog.FrameCreated:
		f.frame(!f.server, e.StreamID, e.Raw, e.Frame.Frame)
	}
}

// frame counts a frame of a request stream.
func (t *tally) frame(up bool, id quic.StreamID, raw qlog.RawInfo, frame any) {
	if id%4 != 0 { // only those that a client opens in both directions carry requests (RFC 9114, section 6.1)
		return
	}
	switch frame := frame.(type) {
	case qlog.HeadersFrame:
		t.headers(up, id, raw, frame.HeaderFields)
	case qlog.DataFrame:
		t.data(up, id, raw)
	}
}

func (t *tally) headers(up bool, id quic.StreamID, raw qlog.RawInfo, fields []qlog.HeaderField) {
	x := t.exchange(id)
	begins := x == nil && up && t.server
	if begins {
		x = t.begin(id, requestOf(fields))
	}
	t.countConn(up, raw, raw.PayloadLength)
	if x == nil {
		return
	}
	status, now := statusOf(fields), time.Now()
	x.rec.Update(func(q *netlog.Request) {
		if up {
			q.HeaderBytesUp += counted(raw.PayloadLength)
			return
		}
		q.HeaderBytesDown += counted(raw.PayloadLength)
		if status >= 200 && q.Status == 0 {
			q.Status, q.FirstByte = status, now
		}
	})
	if begins && t.begun != nil && len(fields) > 0 { // else no handler will be called
		t.begun(x)
	}
}

func (t *tally) data(up bool, id quic.StreamID, raw qlog.RawInfo) {
	t.countConn(up, raw, 0)
	x := t.exchange(id)
	if x == nil {
		return
	}
	x.rec.Update(func(q *netlog.Request) {
		if up {
			q.BodyBytesUp += counted(raw.PayloadLength)
		} else {
			q.BodyBytesDown += counted(raw.PayloadLength)
		}
	})
}

func (t *tally) countConn(up bool, raw qlog.RawInfo, header int) {
	t.rec.Update(func(c *netlog.Connection) {
		if up {
			c.BytesUp += counted(raw.Length)
			c.HeaderBytesUp += counted(header)
		} else {
			c.BytesDown += counted(raw.Length)
			c.HeaderBytesDown += counted(header)
		}
	})
}

// counted is n, which quic-go says is -1 where it does not know.
func counted(n int) int64 { return int64(max(n, 0)) }

func (t *tally) exchange(id quic.StreamID) *exchange {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.streams[id]
}

// begin records a request.
func (t *tally) begin(id quic.StreamID, q netlog.Request) *exchange {
	q.Stream, q.Protocol = int64(id), protocol
	t.rec.Update(func(c *netlog.Connection) { c.Protocol = protocol })
	x := &exchange{id: id, rec: t.rec.Request(q)}
	if t.server {
		x.rec.Update(func(q *netlog.Request) { q.Sent = q.Start })
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.streams[id] = x
	return x
}

// end forgets the stream; what it carried is then recorded.
func (t *tally) end(id quic.StreamID) *exchange {
	t.mu.Lock()
	defer t.mu.Unlock()
	x := t.streams[id]
	delete(t.streams, id)
	return x
}

func requestOf(fields []qlog.HeaderField) (q netlog.Request) {
	var scheme, authority, path string
	for i := range fields {
		switch value := fields[i].Value; fields[i].Name {
		case ":method":
			q.Method = value
		case ":scheme":
			scheme = value
		case ":authority":
			authority = value
		case ":path":
			path = value
		}
	}
	if path == "" { // of CONNECT
		q.URL = authority
		return q
	}
	q.URL = scheme + "://" + authority + path
	return q
}

func statusOf(fields []qlog.HeaderField) int {
	for _, f := range fields {
		if f.Name == ":status" {
			status, _ := strconv.Atoi(f.Value)
			return status
		}
	}
	return 0
}
