package wire

import (
	"bytes"

	"golang.org/x/net/http2/hpack"
)

// Field is a field of a head as it came on the wire.
type Field struct{ Name, Value string }

// RequestHead is the head of the request as it came, of which net/http tells
// neither the order nor, on HTTP/1.1, the case. On HTTP/1.1 line is the request
// line; a line of the head that is no field, such as the folded rest of one (RFC
// 9112, section 5.2), is a Field without a name. On HTTP/2 line is "", and the
// pseudo-header fields are among the fields (RFC 9113, section 8.3.1). Values are
// without the white space around them.
//
// It is nil when the request is over, and where ServerConfig.Heads or
// TapConfig.Heads is not set.
func (s *Stream) RequestHead() (line string, fields []Field) {
	s.tap.mu.Lock()
	defer s.tap.mu.Unlock()
	if s.id == 0 {
		return headOfHTTP1(s.tap.h1.rawOf(s))
	}
	if h2 := s.tap.h2.streams[s.id]; h2 != nil {
		return "", fieldsOf(h2.fields)
	}
	return "", nil
}

func fieldsOf(decoded []hpack.HeaderField) (fields []Field) {
	for _, f := range decoded {
		fields = append(fields, Field{f.Name, f.Value})
	}
	return fields
}

func headOfHTTP1(raw []byte) (line string, fields []Field) {
	first, rest, _ := bytes.Cut(raw, []byte("\n"))
	for one := range bytes.Lines(rest) {
		one = bytes.TrimRight(one, "\r\n")
		if len(one) == 0 {
			break
		}
		name, value, ok := bytes.Cut(one, []byte(":"))
		if !ok || one[0] == ' ' || one[0] == '\t' {
			name, value = nil, one
		}
		fields = append(fields, Field{string(name), string(bytes.Trim(value, " \t"))})
	}
	return string(bytes.TrimRight(first, "\r")), fields
}

// keep takes the head's bytes, which are good until x is answered.
func (h *h1Conn) keep(x *exchange, head *h1Head) {
	if h.tap.cfg.Heads {
		x.raw, head.buf, h.spare = head.buf, h.spare[:0], nil
	}
}

// letGo gives the bytes to the next head.
func (h *h1Conn) letGo(x *exchange) {
	if h.spare == nil && cap(x.raw) <= keptHead {
		h.spare = x.raw
	}
	x.raw = nil
}

// rawOf is the head of a request that is not answered yet.
func (h *h1Conn) rawOf(s *Stream) []byte {
	for _, x := range h.waiting {
		if &x.Stream == s {
			return x.raw
		}
	}
	return nil
}

// drop ends what is kept of a stream.
func (h *h2Conn) drop(id uint32) {
	s := h.streams[id]
	if s == nil {
		return
	}
	if cap(s.fields) > cap(h.spare) {
		clear(s.fields)
		h.spare = s.fields[:0]
	}
	s.fields = nil
	delete(h.streams, id)
}

// room is where the fields of a request's head go.
func (h *h2Conn) room() []hpack.HeaderField {
	spare := h.spare
	h.spare = nil
	if spare == nil {
		spare = make([]hpack.HeaderField, 0, 12)
	}
	return spare
}
