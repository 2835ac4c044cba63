package wire

import "time"

// h1Messages is one direction of an HTTP/1.1 connection: heads, and bodies behind
// them.
type h1Messages struct {
	h1     *h1Conn
	flow   *flow
	head   h1Head
	body   h1Body
	inBody bool
	at     int64     // of the message
	start  time.Time // of the message
}

// h1Direction is what a direction makes of them.
type h1Direction interface {
	headDone(now time.Time) (why string)
	takeBody(p []byte) (n int, why string)
}

// step takes the beginning of p, which is at a byte of the direction d, and
// returns its length. Its second result says what is wrong.
func (m *h1Messages) step(d h1Direction, p []byte, at int64, now time.Time) (n int, why string) {
	if m.inBody {
		return d.takeBody(p)
	}
	if n := m.head.blank(p); n > 0 {
		return n, ""
	}
	if len(m.head.buf) == 0 {
		m.at, m.start = at, now
	}
	n, whole, why := m.head.take(p)
	if whole {
		why = d.headDone(now)
	}
	return n, why
}
