package wire

import (
	"encoding/binary"
	"net/http"
	"strconv"

	"golang.org/x/net/http2"
)

// markName is the header field that ties a handler to its HTTP/2 stream, of
// which net/http does not tell.
const (
	markName = "wiretest-stream"
	markKey  = "Wiretest-Stream" // as net/http has it
)

// streamMark takes the mark off a request that came through a Tap with Mark,
// and returns the stream that it names. A client's own fields of that name
// stand before the mark, and stay.
func streamMark(r *http.Request) (id int64, ok bool) {
	values := r.Header[markKey]
	if len(values) == 0 {
		return 0, false
	}
	id, err := strconv.ParseInt(values[len(values)-1], 10, 64)
	if err != nil {
		return 0, false
	}
	if len(values) == 1 {
		delete(r.Header, markKey)
	} else {
		r.Header[markKey] = values[:len(values)-1]
	}
	return id, true
}

// marker follows the frames of a client and puts a mark behind each request's
// header block: it clears END_HEADERS on the block's last frame and inserts a
// CONTINUATION (RFC 9113, section 6.10). So no length changes, padding stays
// where it is, and no frame outgrows the server's SETTINGS_MAX_FRAME_SIZE.
//
// It changes bytes in place, in the reader's buffer, as long as nothing has
// been inserted; what does not fit there waits in spill for the next Read.
type marker struct {
	stopped bool
	prefix  int // bytes of the client preface passed
	header  [frameHeaderLen]byte
	have    int    // bytes of header that are held back
	left    int    // payload bytes of the frame to come
	after   []byte // what to insert behind the frame
	lastID  uint32 // highest stream so far
	block   uint32 // stream whose request block is open; 0 is none

	out     []byte // the reader's buffer, during push
	placed  int    // bytes that stand in out
	moved   bool   // what follows goes to spill
	spill   []byte
	spilled int // bytes of spill that were given
}

// flush gives what waits.
func (m *marker) flush(p []byte) int {
	if m == nil {
		return 0
	}
	n := copy(p, m.spill[m.spilled:])
	m.spilled += n
	if m.spilled == len(m.spill) {
		m.spill, m.spilled = m.spill[:0], 0
	}
	return n
}

// stop lets everything pass from here on, and what was held back too. It
// reports whether there was such a thing.
func (m *marker) stop() bool {
	if m == nil || m.stopped {
		return false
	}
	m.stopped = true
	held := m.have > 0
	m.insert(m.header[:m.have])
	m.have = 0
	return held
}

// push marks the first framed of n bytes that were just read into p, lets the
// others pass, and returns how many bytes of p are to be given to the reader
// now. Nothing waits when it is called.
func (m *marker) push(p []byte, n, framed int) int {
	if m == nil {
		return n
	}
	m.out, m.placed, m.moved = p, 0, false
	for in := 0; in < framed; {
		in += m.step(p[in:framed])
	}
	if framed < n {
		m.stop()
		m.pass(p[framed:n])
	}
	m.out = nil
	return m.placed + m.flush(p[m.placed:])
}

// step passes the beginning of b and returns its length.
func (m *marker) step(b []byte) int {
	switch {
	case m.stopped:
		m.pass(b)
		return len(b)
	case m.prefix < len(http2.ClientPreface):
		return m.preface(b)
	case m.left > 0:
		n := min(len(b), m.left)
		m.left -= n
		m.pass(b[:n])
		m.frameDone()
		return n
	}
	return m.frameHeader(b)
}

// preface passes what is of the client preface, and stops at anything else.
func (m *marker) preface(b []byte) int {
	n := min(len(b), len(http2.ClientPreface)-m.prefix)
	if string(b[:n]) != http2.ClientPreface[m.prefix:m.prefix+n] {
		m.stop()
		return 0
	}
	m.prefix += n
	m.pass(b[:n])
	return n
}

func (m *marker) frameHeader(b []byte) int {
	held := m.have
	n := copy(m.header[held:], b)
	m.have += n
	if m.have < frameHeaderLen {
		return n
	}
	m.have = 0
	m.edit(m.header[:])
	if held == 0 {
		copy(b, m.header[:])
		m.pass(b[:n])
	} else {
		m.insert(m.header[:])
	}
	m.frameDone()
	return n
}

// edit looks at a frame header and changes it where the frame is the last one
// of a request's header block. Trailers come on a stream that is known.
func (m *marker) edit(h []byte) {
	m.left = int(h[0])<<16 | int(h[1])<<8 | int(h[2])
	id := binary.BigEndian.Uint32(h[5:]) & maxStreamID
	switch http2.FrameType(h[3]) {
	case http2.FrameHeaders:
		m.block = 0
		if id > m.lastID {
			m.lastID, m.block = id, id
		}
	case http2.FrameContinuation:
	default:
		return
	}
	if m.block == 0 || m.block != id || h[4]&byte(http2.FlagHeadersEndHeaders) == 0 {
		return
	}
	h[4] &^= byte(http2.FlagHeadersEndHeaders)
	m.after = appendMark(m.after[:0], id)
	m.block = 0
}

func (m *marker) frameDone() {
	if m.left > 0 || len(m.after) == 0 {
		return
	}
	m.insert(m.after)
	m.after = m.after[:0]
}

// pass gives b, which stands in the reader's buffer right behind what was
// given, unless something came between.
func (m *marker) pass(b []byte) {
	if m.moved {
		m.spill = append(m.spill, b...)
		return
	}
	m.placed += len(b)
}

// insert gives b, which stands elsewhere.
func (m *marker) insert(b []byte) {
	if len(b) > 0 {
		m.moved = true
		m.spill = append(m.spill, b...)
	}
}

// appendMark appends a CONTINUATION frame with one literal header field
// without indexing (RFC 7541, section 6.2.2), which leaves the dynamic table
// as it is.
func appendMark(b []byte, id uint32) []byte {
	var digits [10]byte
	value := strconv.AppendUint(digits[:0], uint64(id), 10)
	length := 1 + 1 + len(markName) + 1 + len(value)
	b = append(b, 0, 0, byte(length), byte(http2.FrameContinuation), byte(http2.FlagContinuationEndHeaders))
	b = binary.BigEndian.AppendUint32(b, id)
	b = append(b, 0, byte(len(markName)))
	b = append(b, markName...)
	b = append(b, byte(len(value)))
	return append(b, value...)
}
