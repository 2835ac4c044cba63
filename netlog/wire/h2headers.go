package wire

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// maxFieldLen is the longest name or value that is decoded; the decoder holds
// no more than one field.
const maxFieldLen = 1 << 20

// block is a header block on its way through (RFC 9113, section 4.3), and the
// decoder that lives as long as its direction.
type block struct {
	decoder *hpack.Decoder
	table   uint32 // largest table that the encoder was allowed
	lost    bool   // the decoder has missed something and is of no more use

	open    bool
	carrier uint32 // stream of the frames
	promise bool   // of a PUSH_PROMISE
	ends    bool   // END_STREAM
	start   time.Time
	length  int
	head    head

	trailers bool // not a head
	shown    bool // to the interposer, from its beginning
	keep     bool // the fields
	fields   []hpack.HeaderField
}

// head is what a record needs of a header block.
type head struct {
	method, scheme, authority, path, protocol, host, expect string
	status                                                  int
}

func (b *block) init() {
	b.table = defaultTable
	b.renew()
}

// renew replaces the decoder by one with an empty table.
func (b *block) renew() {
	b.decoder = hpack.NewDecoder(b.table, b.field)
	b.decoder.SetMaxStringLength(maxFieldLen)
}

func (b *block) field(f hpack.HeaderField) {
	if b.keep {
		b.fields = append(b.fields, f)
	}
	switch f.Name {
	case ":method":
		b.head.method = f.Value
	case ":scheme":
		b.head.scheme = f.Value
	case ":authority":
		b.head.authority = f.Value
	case ":path":
		b.head.path = f.Value
	case ":protocol":
		b.head.protocol = f.Value
	case ":status":
		b.head.status, _ = strconv.Atoi(f.Value)
	case "host":
		b.head.host = f.Value
	case "expect":
		b.head.expect = f.Value
	}
}

func (f *h2Flow) blockBegins() {
	b := &f.block
	b.open, b.carrier, b.start = true, f.frame.stream, f.frame.start
	b.promise = f.frame.kind == http2.FramePushPromise
	b.ends = f.has(http2.FlagHeadersEndStream)
	b.length, b.head = 0, head{}
	b.trailers = f.h2.areTrailers(f)
	b.shown = f.feeds() != nil
	b.fields = nil
	if f.flow.up && f.h2.tap.cfg.Heads && !b.trailers {
		b.fields = f.h2.room()
	}
	b.keep = b.trailers || b.shown || b.fields != nil
}

// areTrailers reports whether the block that begins is no head.
func (h *h2Conn) areTrailers(f *h2Flow) bool {
	if f.block.promise {
		return false
	}
	s := h.streams[f.block.carrier]
	return s != nil && (f.flow.up || s.headAnswered)
}

// feeds is the interposer that gets what f has decoded; nil if there is none.
func (f *h2Flow) feeds() *interposer {
	if t := f.h2.tap; f.flow == t.incoming() {
		return t.ip.Load()
	}
	return nil
}

func (f *h2Flow) fragment(p []byte) {
	f.block.length += len(p)
	if f.block.lost {
		return
	}
	if _, err := f.block.decoder.Write(p); err != nil {
		f.lose(err)
	}
}

// lose gives up the decoding of header blocks, but not the frames. hpack's
// decoder cannot go on after an error: its table would differ from the peer's.
func (f *h2Flow) lose(err error) {
	f.block.lost = true
	f.h2.tap.note(f.malformed(fmt.Sprintf("header block of stream %d: %v", f.block.carrier, err)).text)
}

func (f *h2Flow) blockEnds() {
	b := &f.block
	b.open = false
	if !b.lost {
		if err := b.decoder.Close(); err != nil {
			f.lose(err)
		}
	}
	f.flow.countHeader(b.length)
	if b.shown {
		f.feeds().in.know(b)
		b.fields = slices.Clone(b.fields) // the interposer has the others
	}
	switch {
	case b.promise: // decoded for the table's sake; no client here takes a push
	case f.flow.up:
		f.h2.requestBlock(b, f.now)
	default:
		f.h2.answerBlock(b)
	}
	b.head = head{}
}

// url is the target of the request (RFC 9113, section 8.3.1); scheme is for
// one that lacks its own.
func (h *head) url(scheme string, last *heard) string {
	authority := h.authority
	if authority == "" {
		authority = h.host
	}
	if h.method == "CONNECT" && h.protocol == "" {
		return authority
	}
	if h.scheme != "" {
		scheme = h.scheme
	}
	return last.join(scheme, authority, h.path)
}

// targetURL joins a request's parts; "*" is the server itself (RFC 9110,
// section 7.1).
func targetURL(scheme, authority, path string) string {
	if path == "*" {
		path = ""
	}
	return scheme + "://" + authority + path
}
