package wire

import (
	"fmt"
	"strings"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"example.com/wiretest/netlog"
)

// h2Conn is what both directions of an HTTP/2 connection share. Guarded by
// Tap.mu.
type h2Conn struct {
	tap        *Tap
	up, down   h2Flow
	streams    map[uint32]*h2Stream // those that are not closed
	marks      map[uint32]*Stream
	lastID     uint32 // highest that the client has opened
	lastServed uint32 // by GOAWAY
	refusal    string // of streams above lastServed
	goAways    int

	spare   []hpack.HeaderField // for a head
	heard   heard
	list    FrameList
	listMax int
}

// h2Stream is a stream from its request's head until both sides have ended it
// (RFC 9113, section 5.1).
type h2Stream struct {
	Stream
	asked        bool                // END_STREAM of the request
	headAnswered bool                // the final answer's head
	answered     bool                // END_STREAM of the answer
	expects      bool                // 100 (Continue)
	fields       []hpack.HeaderField // of the request's head, if heads are kept
}

func newH2Conn(t *Tap) *h2Conn {
	h := &h2Conn{tap: t, streams: make(map[uint32]*h2Stream), lastServed: maxStreamID}
	if t.edit != nil {
		h.marks = make(map[uint32]*Stream)
	}
	h.up = h2Flow{h2: h, flow: &t.up}
	h.down = h2Flow{h2: h, flow: &t.down}
	h.up.block.init()
	h.down.block.init()
	return h
}

func (h *h2Conn) other(f *h2Flow) *h2Flow {
	if f == &h.up {
		return &h.down
	}
	return &h.up
}

// requestBlock takes a request's head or trailers.
func (h *h2Conn) requestBlock(b *block, now time.Time) {
	s := h.streams[b.carrier]
	if b.carrier > h.lastID {
		h.lastID = b.carrier
		s = h.open(b, now)
	}
	if s == nil {
		return // closed meanwhile
	}
	n := int64(b.length)
	s.rec.Update(func(q *netlog.Request) { q.HeaderBytesUp += n })
	if b.trailers {
		s.needs().upTrailers = b.fields
	}
	if b.ends {
		h.endStream(&h.up, b.carrier)
	}
}

func (h *h2Conn) open(b *block, now time.Time) *h2Stream {
	q := netlog.Request{
		Method: b.head.method, URL: b.head.url(h.tap.cfg.Scheme, &h.heard), Protocol: "h2", Stream: int64(b.carrier),
		Start: now, Sent: now,
	}
	if h.tap.cfg.Side == ClientSide {
		q.Start = b.start
	}
	if b.lost {
		q.Method, q.URL, b.fields = netlog.Unknown, "", nil
	}
	s := &h2Stream{Stream: Stream{tap: h.tap, id: b.carrier, rec: h.record(q, q.Method == "CONNECT")}}
	if h.tap.cfg.Heads {
		s.fields = b.fields
	}
	s.expects = strings.EqualFold(b.head.expect, "100-continue")
	h.streams[b.carrier] = s
	h.tap.last = &s.Stream
	if h.marks != nil {
		h.marks[b.carrier] = &s.Stream
	}
	if b.carrier > h.lastServed {
		s.rec.End(h.refusal)
		return s
	}
	s.ordinal = h.tap.faults.count()
	return s
}

// record makes a record that, for CONNECT, leaves the connection unused. The
// count goes down before it goes up, so that no one sees it too high.
func (h *h2Conn) record(q netlog.Request, connect bool) *netlog.RequestRecord {
	conn := h.tap.cfg.Record
	if !connect {
		return conn.Request(q)
	}
	var used time.Time
	conn.Update(func(c *netlog.Connection) {
		c.Requests--
		used = c.FirstUsed
	})
	rec := conn.Request(q)
	conn.Update(func(c *netlog.Connection) { c.FirstUsed = used })
	return rec
}

// answerBlock takes an answer's head, an interim one (RFC 9110, section 15.2),
// or trailers.
func (h *h2Conn) answerBlock(b *block) {
	s := h.streams[b.carrier]
	if s == nil {
		return
	}
	n, start, status := int64(b.length), b.start, b.head.status
	interim := status >= 100 && status < 200 && !b.ends
	final := !s.headAnswered && !interim
	s.headAnswered = s.headAnswered || final
	s.rec.Update(func(q *netlog.Request) {
		q.HeaderBytesDown += n
		if final {
			q.Status, q.FirstByte = status, start
		}
	})
	if b.trailers {
		s.needs().downTrailers = b.fields
	}
	if b.ends {
		h.endStream(&h.down, b.carrier)
	}
}

// data takes content of a DATA frame, without padding.
func (h *h2Conn) data(f *h2Flow, p []byte) {
	s := h.streams[f.frame.stream]
	if s == nil {
		return
	}
	n, up := int64(len(p)), f.flow.up
	s.rec.Update(func(q *netlog.Request) {
		if up {
			q.BodyBytesUp += n
		} else {
			q.BodyBytesDown += n
		}
	})
}

// endStream takes END_STREAM. The answer's ends the request, even if more of
// the request's body is to come.
func (h *h2Conn) endStream(f *h2Flow, id uint32) {
	s := h.streams[id]
	switch {
	case s == nil:
	case f.flow.up:
		s.asked = true
		if s.answered {
			h.drop(id)
		}
	default:
		s.answered = true
		s.wasAnswered()
		s.rec.End("")
		if s.asked {
			h.drop(id)
		}
	}
}

// reset takes RST_STREAM. After the whole answer it is no failure.
func (h *h2Conn) reset(f *h2Flow, id uint32, code http2.ErrCode) {
	s := h.streams[id]
	if s == nil {
		return
	}
	from := "server"
	if f.flow.up {
		from = "client"
	}
	if f.flow == h.tap.incoming() {
		s.wasReset(code)
	}
	s.rec.End(fmt.Sprintf("RST_STREAM %v sent by %s", code, from))
	h.drop(id)
}

// answersEnded ends all requests that wait for more of an answer.
func (h *h2Conn) answersEnded() {
	for id, s := range h.streams {
		h.tap.cutOff(s.rec)
		h.drop(id)
	}
}

func (h *h2Conn) connectionEnded() { h.answersEnded() }
