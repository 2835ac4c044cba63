package wire

import (
	"fmt"
	"strings"
	"time"

	"example.com/wiretest/netlog"
)

// h1Conn is what both directions of an HTTP/1.1 connection share. Guarded by
// Tap.mu.
type h1Conn struct {
	tap     *Tap
	waiting []*exchange // asked and not answered, in order
	spare   []byte      // for a head
	heard   heard
	tunnel  *exchange // answered with 101
	asking  *h1Requests
	spoke   string
}

// exchange is a request and what its answer needs to know of it.
type exchange struct {
	Stream
	head    bool // HEAD: the answer has no body
	connect bool
	raw     []byte // of the head, if heads are kept
}

func (x *exchange) update(change func(*netlog.Request)) {
	if x != nil && x.rec != nil {
		x.rec.Update(change)
	}
}

// h1Requests is the parser of the client's direction.
type h1Requests struct {
	h1Messages
	now    *exchange // whose body is coming
	paused bool      // behind a CONNECT that was not answered yet
	blind  bool      // what came then looked like a tunnel, or is the rest of a head that was answered
}

func (r *h1Requests) feed(p []byte, at int64, now time.Time) *malformed {
	r.h1.asking = r
	for len(p) > 0 {
		// Nobody should send between CONNECT and its answer. Who does has begun
		// to use the tunnel, and is not understood again if that is refused.
		if r.blind = r.blind || r.paused; r.blind {
			return nil
		}
		n, why := r.step(r, p, at, now)
		if why != "" {
			return r.malformed(why)
		}
		p, at = p[n:], at+int64(n)
	}
	return nil
}

func (r *h1Requests) malformed(why string) *malformed {
	return &malformed{r.at, fmt.Sprintf("wire: http/1.1: request at byte %d: %s", r.at, why)}
}

func (r *h1Requests) takeBody(p []byte) (int, string) {
	part, why := r.body.take(p)
	if part.fields > 0 {
		r.flow.countHeader(part.fields)
	}
	r.now.update(func(q *netlog.Request) {
		q.BodyBytesUp += int64(part.data)
		q.HeaderBytesUp += int64(part.fields)
	})
	r.inBody = !part.done
	r.now.whole = part.done
	return part.used, why
}

func (r *h1Requests) headDone(now time.Time) string {
	length := len(r.head.buf)
	m, why := parseRequest(r.head.buf[:r.head.line], &r.h1.heard) // not the line that has not ended, if there is one
	if why != "" {
		r.head.reset()
		return why
	}
	r.h1.spoken(m.protocol)
	r.flow.countHeader(length)
	r.now = r.h1.ask(&m, r.start, now, length)
	r.h1.keep(r.now, &r.head)
	r.head.reset()
	if m.method == "CONNECT" {
		r.paused = true
		return ""
	}
	return r.beginBody(&m)
}

func (r *h1Requests) beginBody(m *h1Message) string {
	switch {
	case m.chunked:
		r.body.begin(chunkedBody, 0)
	case m.coded:
		return "Transfer-Encoding does not end in chunked"
	default:
		r.body.begin(sizedBody, max(0, m.length))
	}
	r.inBody = r.body.kind != noBody
	r.now.whole = !r.inBody
	return ""
}

// ask queues a request for its answer.
func (h *h1Conn) ask(m *h1Message, start, now time.Time, length int) *exchange {
	x := &exchange{head: m.method == "HEAD", connect: m.method == "CONNECT"}
	x.tap = h.tap
	x.ordinal = h.tap.faults.count()
	h.waiting = append(h.waiting, x)
	if x.connect {
		return x
	}
	if h.tap.cfg.Side == ServerSide {
		start = now
	}
	x.rec = h.tap.cfg.Record.Request(netlog.Request{
		Method: m.method, URL: h.url(m), Protocol: m.protocol,
		Start: start, Sent: now, HeaderBytesUp: int64(length),
	})
	h.tap.last = &x.Stream
	return x
}

// askedInPart is the request whose head is answered before it has come whole, as
// net/http refuses one by its first line; nil if none has begun.
func (h *h1Conn) askedInPart(now time.Time) *exchange {
	r := h.asking
	if r == nil || r.inBody || r.blind || r.head.line == 0 {
		return nil
	}
	r.blind = true
	if why := r.headDone(now); why != "" {
		h.tap.note(r.malformed(why).text)
	}
	x := h.current()
	if x != nil {
		x.whole = false
	}
	return x
}

// url is the target (RFC 9112, section 3.3); one in absolute form stays as it
// is.
func (h *h1Conn) url(m *h1Message) string {
	if m.target != "*" && !strings.HasPrefix(m.target, "/") {
		return m.target
	}
	host := m.host
	if host == "" {
		host = h.tap.cfg.Record.Connection().Host
	}
	return h.heard.join(h.tap.cfg.Scheme, host, m.target)
}

// spoken records the version; a server that answers HTTP/1.0 lowers it.
func (h *h1Conn) spoken(protocol string) {
	if h.spoke == protocol || h.spoke == "http/1.0" {
		return
	}
	h.spoke = protocol
	h.tap.spoke(protocol)
}
