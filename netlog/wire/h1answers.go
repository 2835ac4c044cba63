package wire

import (
	"fmt"
	"slices"
	"time"

	"example.com/wiretest/netlog"
)

// h1Answers is the parser of the server's direction.
type h1Answers struct{ h1Messages }

func (a *h1Answers) feed(p []byte, at int64, now time.Time) *malformed {
	for len(p) > 0 && !a.h1.tap.opaque {
		n, why := a.step(a, p, at, now)
		if why != "" {
			return &malformed{a.at, fmt.Sprintf("wire: http/1.1: answer at byte %d: %s", a.at, why)}
		}
		p, at = p[n:], at+int64(n)
	}
	return nil
}

func (a *h1Answers) takeBody(p []byte) (int, string) {
	part, why := a.body.take(p)
	if part.fields > 0 {
		a.flow.countHeader(part.fields)
	}
	a.h1.current().update(func(q *netlog.Request) {
		q.BodyBytesDown += int64(part.data)
		q.HeaderBytesDown += int64(part.fields)
	})
	if part.done {
		a.done()
	}
	return part.used, why
}

func (a *h1Answers) headDone(now time.Time) string {
	length := int64(len(a.head.buf))
	m, why := parseAnswer(a.head.buf)
	a.head.reset()
	if why != "" {
		return why
	}
	a.flow.countHeader(int(length))
	a.h1.spoken(m.protocol)
	interim := m.status < 200 && m.status != 101
	x := a.h1.current()
	if x == nil && !interim {
		x = a.h1.askedInPart(now)
	}
	x.update(func(q *netlog.Request) {
		q.HeaderBytesDown += length
		q.Protocol = lower(q.Protocol, m.protocol)
		if !interim {
			q.Status, q.FirstByte = m.status, a.start
		}
	})
	if interim {
		return ""
	}
	if x != nil && len(m.connection) > 0 {
		x.needs().connection = m.connection
	}
	return a.beginBody(&m, x)
}

func lower(a, b string) string {
	if b == "http/1.0" {
		return b
	}
	return a
}

// beginBody chooses how the body ends (RFC 9112, section 6.3).
func (a *h1Answers) beginBody(m *h1Message, x *exchange) string {
	if x == nil {
		x = new(exchange) // as a 408 that nobody asked for
	}
	switch {
	case m.status == 101, x.connect && m.status < 300:
		a.h1.upgrade()
		return ""
	case x.head, m.status == 204, m.status == 304:
		a.body.begin(noBody, 0)
	case m.chunked:
		a.body.begin(chunkedBody, 0)
	case m.coded, m.length < 0:
		a.body.begin(untilEOF, 0)
	default:
		a.body.begin(sizedBody, m.length)
	}
	a.inBody = true
	if a.body.kind == noBody {
		a.done()
	}
	return ""
}

// done ends the answer, and with it the request.
func (a *h1Answers) done() {
	a.inBody = false
	x := a.h1.pop()
	if x == nil {
		return
	}
	if x.connect {
		a.h1.asking.paused = false // refused: the connection goes on
	}
	if x.rec != nil {
		x.rec.End("")
	}
	x.wasAnswered()
}

// current is the request that is being answered; nil if there is none.
func (h *h1Conn) current() *exchange {
	if len(h.waiting) == 0 {
		return nil
	}
	return h.waiting[0]
}

func (h *h1Conn) pop() *exchange {
	x := h.current()
	if x != nil {
		h.waiting = slices.Delete(h.waiting, 0, 1)
		h.letGo(x)
	}
	return x
}

// upgrade makes all that follows a tunnel.
func (h *h1Conn) upgrade() {
	h.tunnel = h.pop()
	h.tap.opaque = true
}

// answersEnded ends the requests that wait: the one whose body goes on until
// the end has had its answer, if that was a clean one.
func (h *h1Conn) answersEnded(clean bool) {
	a, _ := h.tap.down.parser.(*h1Answers)
	if clean && a != nil && a.inBody && a.body.kind == untilEOF {
		a.done()
	}
	for x := h.pop(); x != nil; x = h.pop() {
		h.tap.cutOff(x.rec)
	}
}

// connectionEnded ends what is still open: a 101's request has had its answer.
func (h *h1Conn) connectionEnded() {
	if h.tunnel != nil && h.tunnel.rec != nil {
		h.tunnel.rec.End("")
	}
	h.answersEnded(false)
}
