package wire

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// h1Body follows a message's body to its end (RFC 9112, sections 6 and 7).
type h1Body struct {
	kind bodyKind
	left int64 // of the body, or of the chunk

	chunk chunkState
	line  []byte // of the chunked coding's own lines
}

type bodyKind int

const (
	noBody bodyKind = iota
	sizedBody
	chunkedBody
	untilEOF
)

type chunkState int

const (
	chunkSize chunkState = iota
	chunkData
	chunkEnd // the line end behind the data
	chunkTrailer
)

// maxChunkLine bounds a chunk's size line with its extensions.
const maxChunkLine = 16 << 10

// bodyPart is what one step took.
type bodyPart struct {
	used   int // bytes of the message
	data   int // of these, bytes of the body without framing
	fields int // of these, bytes of trailer fields
	done   bool
}

func (b *h1Body) begin(kind bodyKind, length int64) {
	*b = h1Body{kind: kind, left: length, line: b.line[:0]}
	if kind == sizedBody && length == 0 {
		b.kind = noBody
	}
}

// take takes the beginning of p, which is not empty.
func (b *h1Body) take(p []byte) (bodyPart, string) {
	switch b.kind {
	case sizedBody:
		n := b.data(p)
		return bodyPart{used: n, data: n, done: b.left == 0}, ""
	case chunkedBody:
		return b.takeChunked(p)
	}
	return bodyPart{used: len(p), data: len(p)}, ""
}

func (b *h1Body) data(p []byte) int {
	n := int(min(int64(len(p)), b.left))
	b.left -= int64(n)
	return n
}

func (b *h1Body) takeChunked(p []byte) (bodyPart, string) {
	if b.chunk == chunkData {
		n := b.data(p)
		if b.left == 0 {
			b.chunk = chunkEnd
		}
		return bodyPart{used: n, data: n}, ""
	}
	n, whole := b.takeLine(p)
	if len(b.line) > b.maxLine() {
		return bodyPart{}, "chunked coding has a line that is too long"
	}
	if !whole {
		return bodyPart{used: n}, ""
	}
	part, why := b.lineDone(b.line)
	part.used = n
	b.line = b.line[:0]
	return part, why
}

func (b *h1Body) maxLine() int {
	if b.chunk == chunkTrailer {
		return maxHead
	}
	return maxChunkLine
}

func (b *h1Body) takeLine(p []byte) (n int, whole bool) {
	n = len(p)
	if i := bytes.IndexByte(p, '\n'); i >= 0 {
		n, whole = i+1, true
	}
	b.line = append(b.line, p[:n]...)
	return n, whole
}

// lineDone takes a line with its end. Like net/http it takes a bare LF for that in
// trailers alone (RFC 9112, sections 2.2 and 7.1).
func (b *h1Body) lineDone(line []byte) (part bodyPart, why string) {
	bare := bytes.TrimRight(line, "\r\n")
	inFront, ok := bytes.CutSuffix(line, []byte("\r\n"))
	switch {
	case b.chunk == chunkTrailer && len(bare) == 0:
		return bodyPart{done: true}, ""
	case b.chunk == chunkTrailer:
		return bodyPart{fields: len(line)}, ""
	case b.chunk == chunkEnd && len(bare) > 0:
		return part, fmt.Sprintf("%q behind the data of a chunk", clip(string(bare)))
	case !ok || bytes.Contains(inFront, []byte("\r")):
		return part, fmt.Sprintf("a line of the chunked coding, %q, does not end in CRLF", clip(string(line)))
	case b.chunk == chunkEnd:
		b.chunk = chunkSize
		return part, ""
	}
	return part, b.size(string(bare))
}

func (b *h1Body) size(line string) string {
	digits, _, _ := strings.Cut(line, ";")
	n, err := strconv.ParseUint(strings.TrimRight(digits, " \t"), 16, 62)
	if err != nil {
		return fmt.Sprintf("chunk size %q", clip(line))
	}
	b.left, b.chunk = int64(n), chunkData
	if n == 0 {
		b.chunk = chunkTrailer
	}
	return ""
}
