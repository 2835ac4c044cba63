package wire

import (
	"encoding/binary"
	"fmt"
	"time"

	"golang.org/x/net/http2"
)

const (
	frameHeaderLen = 9
	maxStreamID    = 1<<31 - 1
	maxDebugData   = 1 << 10 // kept of a GOAWAY
)

// h2Flow is the parser of one direction of an HTTP/2 connection (RFC 9113,
// section 4). It goes through each frame in four steps: header, prefix (pad
// length, priority, promised stream), content, padding.
type h2Flow struct {
	h2   *h2Conn
	flow *flow
	now  time.Time

	header  [frameHeaderLen]byte
	have    int // bytes of header
	frame   h2Frame
	prefix  [6]byte // pad length, then priority or promised stream
	pre     int     // bytes of prefix to come
	content int     // bytes of content to come
	pad     int     // bytes of padding to come
	control []byte  // content of a control frame so far
	inFrame bool
	seen    bool // a frame has ended

	settings, acks int // SETTINGS that passed
	stated         stated
	counts         frameCounts
	awaited        []awaited
	settingsSeen   []string // of the frame, if it is listed
	block          block
}

// h2Frame is a frame header.
type h2Frame struct {
	at     int64 // offset in its direction
	start  time.Time
	length int
	kind   http2.FrameType
	flags  http2.Flags
	stream uint32
}

func (f *h2Flow) feed(p []byte, at int64, now time.Time) *malformed {
	f.now = now
	for len(p) > 0 {
		n, why := f.step(p, at)
		if why != "" {
			return f.malformed(why)
		}
		p, at = p[n:], at+int64(n)
	}
	return nil
}

func (f *h2Flow) malformed(why string) *malformed {
	return &malformed{f.frame.at, fmt.Sprintf("wire: h2: %s frame at byte %d: %s", f.sender(), f.frame.at, why)}
}

func (f *h2Flow) sender() string {
	if f.flow.up {
		return "client's"
	}
	return "server's"
}

// step takes the beginning of p and returns its length. Its second result says
// what is wrong.
func (f *h2Flow) step(p []byte, at int64) (int, string) {
	switch {
	case !f.inFrame:
		return f.takeHeader(p, at)
	case f.pre > 0:
		return f.takePrefix(p)
	case f.content > 0:
		n := min(len(p), f.content)
		f.content -= n
		f.takeContent(p[:n])
		f.finish()
		return n, ""
	}
	n := min(len(p), f.pad)
	f.pad -= n
	f.finish()
	return n, ""
}

func (f *h2Flow) takeHeader(p []byte, at int64) (int, string) {
	if f.have == 0 {
		f.frame.at, f.frame.start = at, f.now
	}
	n := copy(f.header[f.have:], p)
	f.have += n
	if f.have < frameHeaderLen {
		return n, ""
	}
	f.have, f.inFrame = 0, true
	h := f.header[:]
	f.frame.length = int(h[0])<<16 | int(h[1])<<8 | int(h[2])
	f.frame.kind, f.frame.flags = http2.FrameType(h[3]), http2.Flags(h[4])
	f.frame.stream = binary.BigEndian.Uint32(h[5:]) & maxStreamID
	if why := f.begin(); why != "" {
		return 0, why
	}
	f.finish()
	return n, ""
}

// begin lays out the payload.
func (f *h2Flow) begin() string {
	if why := f.check(); why != "" {
		return why
	}
	f.pre, f.pad = f.prefixLen(), 0
	f.content = f.frame.length - f.pre
	f.control, f.settingsSeen = f.control[:0], nil
	if f.content < 0 {
		return fmt.Sprintf("%v of %d bytes is too short for its flags", f.frame.kind, f.frame.length)
	}
	if f.frame.kind == http2.FrameHeaders || f.frame.kind == http2.FramePushPromise {
		f.blockBegins()
	}
	return ""
}

func (f *h2Flow) has(flag http2.Flags) bool { return f.frame.flags.Has(flag) }

func (f *h2Flow) prefixLen() (n int) {
	switch f.frame.kind {
	case http2.FrameHeaders:
		if f.has(http2.FlagHeadersPriority) {
			n += 5
		}
	case http2.FramePushPromise:
		n += 4
	case http2.FrameData:
	default:
		return 0
	}
	if f.has(http2.FlagDataPadded) { // the same bit on all three
		n++
	}
	return n
}

func (f *h2Flow) takePrefix(p []byte) (int, string) {
	whole := f.prefixLen()
	n := copy(f.prefix[whole-f.pre:whole], p)
	f.pre -= n
	if f.pre > 0 {
		return n, ""
	}
	if f.has(http2.FlagDataPadded) {
		f.pad = int(f.prefix[0])
		f.content -= f.pad
	}
	if f.content < 0 {
		return 0, fmt.Sprintf("%v has more padding (%d) than payload", f.frame.kind, f.pad)
	}
	f.finish()
	return n, ""
}

func (f *h2Flow) takeContent(p []byte) {
	switch f.frame.kind {
	case http2.FrameData:
		f.h2.data(f, p)
	case http2.FrameHeaders, http2.FrameContinuation, http2.FramePushPromise:
		f.fragment(p)
	case http2.FrameSettings, http2.FrameRSTStream, http2.FrameGoAway, http2.FrameWindowUpdate, http2.FramePing:
		f.takeControl(p)
	}
}

// finish ends the frame if no more of it is to come.
func (f *h2Flow) finish() {
	if f.pre > 0 || f.content > 0 || f.pad > 0 {
		return
	}
	f.inFrame, f.seen = false, true
	f.listed()
	switch f.frame.kind {
	case http2.FrameSettings:
		if f.has(http2.FlagSettingsAck) {
			f.acks++
		} else {
			f.settings++
		}
	case http2.FrameData:
		if f.has(http2.FlagDataEndStream) {
			f.h2.endStream(f, f.frame.stream)
		}
	case http2.FrameHeaders, http2.FrameContinuation, http2.FramePushPromise:
		if f.has(http2.FlagHeadersEndHeaders) {
			f.blockEnds()
		}
	case http2.FrameRSTStream:
		f.h2.reset(f, f.frame.stream, http2.ErrCode(binary.BigEndian.Uint32(f.control)))
	case http2.FrameGoAway:
		f.h2.goAway(f, f.control)
	}
}

// check refuses what makes it pointless to go on (RFC 9113, sections 4 to 6).
func (f *h2Flow) check() string {
	if why := f.checkBlock(); why != "" {
		return why
	}
	if why := f.checkStream(); why != "" {
		return why
	}
	return f.checkLength()
}

// checkBlock wants the frames of a header block to follow each other.
func (f *h2Flow) checkBlock() string {
	fr, open := &f.frame, f.block.open
	switch {
	case open && (fr.kind != http2.FrameContinuation || fr.stream != f.block.carrier):
		return fmt.Sprintf("%v on stream %d inside the header block of stream %d", fr.kind, fr.stream, f.block.carrier)
	case !open && fr.kind == http2.FrameContinuation:
		return fmt.Sprintf("CONTINUATION on stream %d without a header block", fr.stream)
	}
	return ""
}

func (f *h2Flow) checkStream() string {
	fr := &f.frame
	switch fr.kind {
	case http2.FrameData, http2.FrameHeaders, http2.FramePushPromise, http2.FrameRSTStream:
		if fr.stream == 0 {
			return fmt.Sprintf("%v on stream 0", fr.kind)
		}
	case http2.FrameSettings, http2.FrameGoAway:
		if fr.stream != 0 {
			return fmt.Sprintf("%v on stream %d, not on the connection", fr.kind, fr.stream)
		}
	}
	if fr.kind == http2.FrameHeaders && f.flow.up && fr.stream%2 == 0 {
		return fmt.Sprintf("HEADERS on stream %d, which is not a client's", fr.stream)
	}
	return ""
}

func (f *h2Flow) checkLength() string {
	n, ok := f.frame.length, true
	switch f.frame.kind {
	case http2.FrameSettings:
		ok = n%6 == 0
	case http2.FrameRSTStream:
		ok = n == 4
	case http2.FrameGoAway:
		ok = n >= 8
	}
	if !ok {
		return fmt.Sprintf("%v of %d bytes", f.frame.kind, n)
	}
	return ""
}
