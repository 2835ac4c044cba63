package wire

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// maxHead is the longest message head, and trailer section, that is followed.
const maxHead = 1 << 20

// keptHead is the largest buffer of a head that is kept for the next one.
const keptHead = 64 << 10

// h1Head collects the head of a message: its lines up to the empty one (RFC
// 9112, section 2.1). Like net/http it takes a bare LF for the end of a line.
type h1Head struct {
	buf  []byte
	line int // where the last line begins
}

// blank returns how many bytes of p are empty lines before a message, which
// are skipped (RFC 9112, section 2.2).
func (h *h1Head) blank(p []byte) int {
	if len(h.buf) > 0 {
		return 0
	}
	return len(p) - len(bytes.TrimLeft(p, "\r\n"))
}

// take moves the beginning of p into the head, and returns its length and
// whether the head is whole.
func (h *h1Head) take(p []byte) (used int, whole bool, why string) {
	for used < len(p) {
		i := bytes.IndexByte(p[used:], '\n')
		if i < 0 {
			i = len(p) - used - 1
		}
		h.buf = append(h.buf, p[used:used+i+1]...)
		used += i + 1
		if len(h.buf) > maxHead {
			return used, false, fmt.Sprintf("head is longer than %d bytes", maxHead)
		}
		if h.lineEnds() {
			return used, true, ""
		}
	}
	return used, false, ""
}

// lineEnds reports whether the line that ends here, if one does, ends the
// head.
func (h *h1Head) lineEnds() bool {
	if h.buf[len(h.buf)-1] != '\n' {
		return false
	}
	empty := len(bytes.TrimRight(h.buf[h.line:], "\r\n")) == 0
	h.line = len(h.buf)
	return empty
}

func (h *h1Head) reset() {
	h.buf, h.line = h.buf[:0], 0
	if cap(h.buf) > keptHead {
		h.buf = nil
	}
}

// h1Message is what a head says.
type h1Message struct {
	protocol string // "http/1.1" or "http/1.0"
	method   string
	target   string
	status   int

	host       string
	length     int64    // Content-Length; -1 is none
	connection []string // values of Connection
	coded      bool     // there is a Transfer-Encoding
	chunked    bool     // and chunked is the last of it

	last *heard // of a request
}

// heard are strings of the last request on a connection, most of which come
// again.
type heard struct{ scheme, host, target, url string }

// join is the URL of a request (see targetURL).
func (last *heard) join(scheme, host, target string) string {
	if scheme != last.scheme || host != last.host || target != last.target || last.url == "" {
		*last = heard{scheme, host, target, targetURL(scheme, host, target)}
	}
	return last.url
}

// again is b, for which last stands if it is the same.
func again(last string, b []byte) string {
	if string(b) == last {
		return last
	}
	return string(b)
}

// startLine cuts the first line off a head.
func startLine(head []byte) (line, fields []byte) {
	first, fields, _ := bytes.Cut(head, []byte("\n"))
	return bytes.TrimRight(first, "\r"), fields
}

// parseRequest reads a request's head (RFC 9112, section 3).
func parseRequest(head []byte, last *heard) (h1Message, string) {
	line, fields := startLine(head)
	method, rest, _ := bytes.Cut(line, []byte(" "))
	i := bytes.LastIndexByte(rest, ' ')
	if i <= 0 || !isToken(string(method)) {
		return h1Message{}, fmt.Sprintf("malformed request line %q", clip(string(line)))
	}
	m := h1Message{method: methodOf(method), target: again(last.target, rest[:i]), length: -1, last: last}
	if m.protocol = h1Version(string(rest[i+1:])); m.protocol == "" {
		return m, fmt.Sprintf("request line %q does not end in an HTTP/1 version", clip(string(line)))
	}
	return m, m.fields(fields)
}

// methodOf is string(b), without a copy where that is in use everywhere.
func methodOf(b []byte) string {
	for _, known := range [...]string{"GET", "POST", "HEAD", "PUT", "CONNECT", "OPTIONS"} {
		if string(b) == known {
			return known
		}
	}
	return string(b)
}

// parseAnswer reads a response's head (RFC 9112, section 4).
func parseAnswer(head []byte) (h1Message, string) {
	line, fields := startLine(head)
	version, rest, _ := bytes.Cut(line, []byte(" "))
	code, _, _ := bytes.Cut(rest, []byte(" "))
	status, err := strconv.Atoi(string(code))
	m := h1Message{protocol: h1Version(string(version)), status: status, length: -1}
	if err != nil || len(code) != 3 || status < 100 || m.protocol == "" {
		return m, fmt.Sprintf("malformed status line %q", clip(string(line)))
	}
	return m, m.fields(fields)
}

func h1Version(s string) string {
	switch {
	case s == "HTTP/1.0":
		return "http/1.0"
	case len(s) == len("HTTP/1.1") && strings.HasPrefix(s, "HTTP/1.") && s[7] >= '1' && s[7] <= '9':
		return "http/1.1"
	}
	return ""
}

// cutField cuts the first field off the lines of a head, which may be folded: then its
// lines are one, as net/http takes it and RFC 9112, section 5.2, allows.
func cutField(b []byte) (field, rest []byte) {
	field, rest, _ = bytes.Cut(b, []byte("\n"))
	for len(rest) > 0 && (rest[0] == ' ' || rest[0] == '\t') {
		var more []byte
		more, rest, _ = bytes.Cut(rest, []byte("\n"))
		field = slices.Concat(bytes.TrimRight(field, "\r"), more)
	}
	return field, rest
}

// fields reads the header fields that rule framing. Lines that are none are
// left to the peer to refuse.
func (m *h1Message) fields(b []byte) string {
	for len(b) > 0 {
		var line []byte
		line, b = cutField(b)
		name, value, ok := bytes.Cut(line, []byte(":"))
		if !ok || len(name) == 0 || name[0] == ' ' || name[0] == '\t' {
			continue
		}
		if why := m.field(name, bytes.TrimSpace(value)); why != "" {
			return why
		}
	}
	if m.protocol == "http/1.0" { // which has no transfer codings
		m.coded, m.chunked = false, false
	}
	return ""
}

func (m *h1Message) field(name, value []byte) string {
	switch {
	case m.last != nil && is(name, "Host"):
		m.host = again(m.last.host, value)
	case is(name, "Connection"):
		m.connection = append(m.connection, string(value))
	case is(name, "Content-Length"):
		return m.contentLength(value)
	case is(name, "Transfer-Encoding"):
		codings := bytes.Split(value, []byte(","))
		m.coded = true
		m.chunked = is(bytes.TrimSpace(codings[len(codings)-1]), "chunked")
	}
	return ""
}

// contentLength takes one field; several, or a list, may only repeat the same
// length (RFC 9112, section 6.3).
func (m *h1Message) contentLength(value []byte) string {
	for one := range bytes.SplitSeq(value, []byte(",")) {
		n, err := strconv.ParseUint(string(bytes.TrimSpace(one)), 10, 63)
		if err != nil {
			return fmt.Sprintf("Content-Length %q", clip(string(value)))
		}
		if m.length >= 0 && m.length != int64(n) {
			return fmt.Sprintf("Content-Length is %d and %d", m.length, n)
		}
		m.length = int64(n)
	}
	return ""
}

func is(name []byte, want string) bool {
	return len(name) == len(want) && strings.EqualFold(string(name), want)
}

func isToken(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] >= 0x7f || strings.IndexByte(`"(),/:;<=>?@[\]{}`, s[i]) >= 0 {
			return false
		}
	}
	return s != ""
}

// clip keeps messages short.
func clip(s string) string {
	if len(s) > 80 {
		return s[:80] + "…"
	}
	return s
}
