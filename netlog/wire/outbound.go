package wire

import (
	"encoding/binary"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// outbound is the way from net/http to the wire. Once a header block of it has
// to be dropped or changed, it takes the parser's decoder, which until then has
// seen all blocks, and writes all further ones anew without a table, which any
// decoder can follow, and so can a new one of the parser.
type outbound struct {
	course
	ip      *interposer
	fed     int // bytes of out that the parser has seen
	literal bool
	decoder *hpack.Decoder
	decoded []hpack.HeaderField
	failed  bool
	resized []byte // changes of the table's size in blocks that were dropped

	finale  bool // the connection closes behind queue
	holding bool
	held    []byte // by HoldSettings; the parser has not seen them
	said    map[uint32]said
}

// said is what is held of a stream.
type said struct{ head, end bool }

func (o *outbound) init(ip *interposer) {
	t := ip.tap
	o.ip, o.rules = ip, o
	o.join(t.outgoing(), t.http2().parserOf(t.outgoing()))
}

// inject puts frames in on the way to the wire, now or behind the frame that is
// being written.
func (o *outbound) inject(frames []byte) {
	o.queue = append(o.queue, frames...)
	o.ip.tap.queued.Store(true)
}

// transform takes what net/http writes and returns what is to be written. It
// is good until the next call.
func (o *outbound) transform(p []byte) []byte {
	o.out, o.fed = o.out[:0], 0
	o.push(p)
	return o.give()
}

// flush is transform where net/http writes nothing.
func (o *outbound) flush() []byte {
	o.out, o.fed = o.out[:0], 0
	o.putIn()
	return o.give()
}

func (o *outbound) give() []byte {
	o.ip.tap.queued.Store(false) // what could not be put in is by the next write
	if o.holding {
		o.held = append(o.held, o.out...)
		return nil
	}
	if len(o.held) > 0 {
		o.out = append(o.held, o.out...)
		o.held, o.said = nil, nil
	}
	o.catchUp()
	if o.finale && len(o.queue) == 0 {
		o.ip.tap.onceWritten(o.ip.tap.shut)
	}
	return o.out
}

// catchUp lets the parser see what was put into out so far.
func (o *outbound) catchUp() {
	if o.holding || len(o.held) > 0 {
		return
	}
	o.ip.tap.outgoing().feed(o.out[o.fed:])
	o.fed = len(o.out)
}

func (o *outbound) decide() fate {
	if o.frame.stream == 0 {
		return o.decideControl()
	}
	s := o.ip.touched[o.frame.stream]
	switch {
	case o.ip.isOver(o.frame.stream):
		return o.swallow()
	case o.frame.kind == http2.FrameRSTStream:
		return o.decideReset(s)
	case o.frame.kind == http2.FrameData:
		return o.decideData(s)
	}
	return pass
}

// decideReset notes that net/http has closed the stream: of it, too, the peer's
// trailers may come late.
func (o *outbound) decideReset(s *Stream) fate {
	if open := o.ip.tap.openStream(o.frame.stream); open != nil {
		o.ip.touched[o.frame.stream] = &open.Stream
		open.over, open.inside = true, true
	}
	if s != nil && s.has().resetAs != nil && o.gone == 0 {
		return collect
	}
	return pass
}

func (o *outbound) decideControl() fate {
	ip, ack := o.ip, o.has(http2.FlagSettingsAck) // the same bit as PING's
	switch {
	case o.frame.kind == http2.FrameSettings && !ack:
		ip.settings = append([]bool{false}, ip.settings...) // net/http's come first
	case o.gone > 0:
	case o.frame.kind == http2.FrameGoAway && ip.last < maxStreamID:
		return collect
	case o.frame.kind == http2.FramePing && ack && len(ip.barriers) > 0:
		return collect
	}
	return pass
}

// swallow drops the frame and gives its window back.
func (o *outbound) swallow() fate {
	if o.gone > 0 {
		return pass
	}
	if o.frame.kind == http2.FrameData {
		o.ip.credit(o.frame.stream, o.frame.length)
	}
	return drop
}

func (o *outbound) decideData(s *Stream) fate {
	switch {
	case s != nil && s.closed:
		return o.swallow()
	case !o.has(http2.FlagDataEndStream):
	case s != nil && s.has().trailers != nil && o.clear(http2.FlagDataEndStream):
		o.trail(s)
	default:
		o.note(o.frame.stream, said{head: true, end: true})
	}
	return pass
}

// note keeps in mind what the parser will see when held bytes are let go.
func (o *outbound) note(stream uint32, what said) {
	if o.holding {
		if o.said == nil {
			o.said = make(map[uint32]said)
		}
		o.said[stream] = what
	}
}

// trail puts the trailers behind the frame, or the block, that would have ended
// the stream.
func (o *outbound) trail(s *Stream) {
	s.closed = true
	o.after = o.appendBlock(o.after, s.id, true, s.rare.trailers)
	s.rare.trailers = nil
}

// end ends this side of a stream, now or behind its head.
func (o *outbound) end(s *Stream) {
	o.catchUp()
	switch {
	case s.over, s.sentEnd():
	case !s.headSent():
		s.ends = true
	case s.has().trailers != nil:
		s.closed = true
		o.inject(o.appendBlock(nil, s.id, true, s.rare.trailers))
	default:
		s.closed = true
		o.inject(appendFrame(nil, http2.FrameData, http2.FlagDataEndStream, s.id, nil))
	}
}

func (o *outbound) collected() {
	switch o.frame.kind {
	case http2.FrameRSTStream:
		o.changeReset()
	case http2.FrameGoAway:
		o.lowerGoAway()
	case http2.FramePing:
		if o.ip.answered(o.payload) {
			return
		}
	}
	o.out = append(append(o.out, o.header[:]...), o.payload...)
}

func (o *outbound) changeReset() {
	s := o.ip.touched[o.frame.stream]
	if len(o.payload) == 4 {
		binary.BigEndian.PutUint32(o.payload, uint32(*s.rare.resetAs))
	}
	s.rare.resetAs = nil
}

// lowerGoAway keeps net/http from serving streams that were refused (RFC 9113,
// section 6.8: the last stream must not go up).
func (o *outbound) lowerGoAway() {
	if len(o.payload) < 8 {
		return
	}
	last := binary.BigEndian.Uint32(o.payload) & maxStreamID
	binary.BigEndian.PutUint32(o.payload, min(last, o.ip.last))
}
