package chromefile

import "io"

const (
	mostIdle     = 100 // Reads in a row that give nothing
	firstWindow  = 64 << 10
	largestValue = 8 << 20 // of an event or of the constants; what is larger is left out
)

// window is the part of a stream that is looked at.
type window struct {
	r    io.Reader
	buf  []byte
	read int   // buf[:read] is done with
	base int64 // offset of buf[0] in the stream
	err  error // why there is no more; io.EOF is the end
}

func newWindow(r io.Reader) *window { return &window{r: r, buf: make([]byte, 0, firstWindow)} }

// ahead is what is there and not yet done with. It is valid until more is called.
func (w *window) ahead() []byte { return w.buf[w.read:] }

func (w *window) offset() int64 { return w.base + int64(w.read) }

func (w *window) skip(n int) { w.read += n }

// more reads on until twice as much is ahead, so that looking again from the
// start costs no more than the size, however little each Read gives. It is false
// if nothing came or so much is ahead that no value may be larger.
func (w *window) more() bool {
	have := len(w.buf) - w.read
	if w.err != nil || have >= largestValue {
		return false
	}
	w.room(have)
	idle := 0
	for want := max(2*have, 1); w.err == nil && len(w.buf) < want; idle++ {
		n, err := w.r.Read(w.buf[len(w.buf):cap(w.buf)])
		if w.buf, w.err = w.buf[:len(w.buf)+n], err; n > 0 {
			idle = 0
		} else if err == nil && idle == mostIdle {
			w.err = io.ErrNoProgress
		}
	}
	return len(w.buf) > have
}

// room moves what is ahead to the front of a buffer that holds at least twice as
// much.
func (w *window) room(have int) {
	to := w.buf[:0]
	if 2*have > cap(w.buf) {
		to = make([]byte, 0, 2*have+firstWindow)
	}
	to = append(to, w.ahead()...)
	w.base += int64(w.read)
	w.buf, w.read = to, 0
}

// peek is the next byte that skip does not report true for.
func (w *window) peek(skip func(byte) bool) (ch byte, ok bool) {
	for {
		for w.read < len(w.buf) {
			if ch := w.buf[w.read]; !skip(ch) {
				return ch, true
			}
			w.read++
		}
		if !w.more() {
			return 0, false
		}
	}
}

// pass goes past a value of any size without looking closely at it. It is false
// if the stream ends inside.
func (w *window) pass() bool {
	p := passing{}
	for {
		for w.read < len(w.buf) {
			end, taken := p.over(w.buf[w.read])
			if taken {
				w.read++
			}
			if end {
				return true
			}
		}
		if !w.more() {
			return false
		}
	}
}

// passing is how far one value has been passed.
type passing struct {
	depth           int
	quoted, escaped bool
	scalar          bool
}

// over looks at the next byte: whether the value ends with it, and whether the
// byte is still the value's.
func (p *passing) over(ch byte) (end, taken bool) {
	switch {
	case p.escaped:
		p.escaped = false
	case p.quoted && ch == '\\':
		p.escaped = true
	case ch == '"':
		p.quoted = !p.quoted
		return !p.quoted && p.depth == 0, true
	case p.quoted:
	case ch == '{' || ch == '[':
		p.depth++
	case ch == '}' || ch == ']':
		if p.depth == 0 {
			return true, false // of what the scalar is in
		}
		p.depth--
		return p.depth == 0, true
	case p.depth == 0 && (ch == ',' || isSpace(ch)):
		return true, false
	}
	return false, true
}
