package h3

import (
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
	"github.com/quic-go/quic-go/http3/qlog"
	quicqlog "github.com/quic-go/quic-go/qlog"
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
	// lost reports that what is said on a stream nobody will have; nil on a client.
	lost func(quic.StreamID) bool

	limited func(int) // a client's: is told how many requests the server allows at once; nil does not ask
	goneBy  func()    // a client's: is told of GOAWAY; nil is not

	mu      sync.Mutex
	quic    bool                        // quic-go has asked for QUIC's own recorder; guarded by mu
	streams map[quic.StreamID]*exchange // guarded by mu
	opening func(quic.StreamID)         // begins the request whose stream http3 opens next; nil is none; guarded by mu
}

// exchange is one request and its answer.
type exchange struct {
	id  quic.StreamID
	rec *netlog.RequestRecord

	// quit gives a client's request up, both ways; it is set before anyone else has
	// the record.
	quit func(http3.ErrCode)

	// Of the goroutine that serves it.
	entered bool // it has had the turn
	served  bool // a handler was called
}

// sent records that a client's request is about to be sent, and tells started first,
// which may be nil.
func (x *exchange) sent(started func(*netlog.RequestRecord)) {
	if started != nil {
		started(x.rec)
	}
	x.rec.Update(func(q *netlog.Request) { q.Sent = time.Now() })
}

// givenUp records that this side resets the request, should nothing have ended it.
func (x *exchange) givenUp(code http3.ErrCode) {
	x.rec.End(onClient.reset(&quic.StreamError{StreamID: x.id, ErrorCode: quic.StreamErrorCode(code)}))
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
	switch {
	case first && t.limited != nil:
		return parameters{t.limited, next}
	case first:
		return next
	}
	return frames{t, next}
}

// parameters is QUIC's recorder of a client that wants to know the server's limit
// of streams, which nothing else tells.
type parameters struct {
	limited func(int)
	next    qlogwriter.Recorder // nil is none
}

func (p parameters) Close() error {
	if p.next == nil {
		return nil
	}
	return p.next.Close()
}

func (p parameters) RecordEvent(e qlogwriter.Event) {
	if p.next != nil {
		p.next.RecordEvent(e)
	}
	if set, ok := e.(quicqlog.ParametersSet); ok && set.Initiator == quicqlog.InitiatorRemote {
		p.limited(int(set.InitialMaxStreamsBidi))
	}
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
		if last, ok := e.Frame.Frame.(qlog.GoAwayFrame); ok {
			f.goAway(last)
		}
		f.frame(f.server, e.StreamID, e.Raw, e.Frame.Frame)
	case qlog.FrameCreated:
		f.frame(!f.server, e.StreamID, e.Raw, e.Frame.Frame)
	}
}

// goAway is for a server's GOAWAY (RFC 9114, section 5.2).
func (t *tally) goAway(last qlog.GoAwayFrame) {
	if t.server {
		return
	}
	t.rec.Update(func(c *netlog.Connection) { c.GoAway = fmt.Sprintf("GOAWAY, from stream %d on", last.StreamID) })
	if t.goneBy != nil {
		t.goneBy()
	}
}

// frame counts a frame of a request stream.
func (t *tally) frame(up bool, id quic.StreamID, raw qlog.RawInfo, frame any) {
	if id%4 != 0 { // only those that a client opens in both directions carry requests (RFC 9114, section 6.1)
		return
	}
	if !up && t.lost != nil && t.lost(id) { // http3 tells of a frame before it tries to send it
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
	switch {
	case begins:
		x = t.begin(id, requestOf(fields))
	case x == nil && up:
		if open := t.takeOpening(); open != nil {
			open(id)
			x = t.exchange(id)
		}
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

// open has begin called with the next stream that http3 opens by itself. Until then,
// or until takeOpening, nobody else may call it.
func (t *tally) open(begin func(quic.StreamID)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.opening = begin
}

func (t *tally) takeOpening() func(quic.StreamID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	open := t.opening
	t.opening = nil
	return open
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
	switch path {
	case "": // of CONNECT
		q.URL = authority
		return q
	case "*": // of OPTIONS: the server itself (RFC 9110, section 7.1)
		path = ""
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
