package wire

import (
	"strings"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

func (o *outbound) decideBlock() fate {
	s := o.ip.touched[o.frame.stream]
	switch {
	case o.gone > 0:
		return pass
	case o.ip.isOver(o.frame.stream) || s != nil && s.closed:
		if o.rewriteAll() {
			return drop
		}
		return pass
	case s != nil && s.has().trailers != nil && o.block.ends:
		o.decideEnd(s)
	case s != nil && s.noContinue:
		o.rewriteAll()
	}
	if o.literal {
		return collect
	}
	return pass
}

// decideEnd has trailers join net/http's own, or follow a head without a body.
func (o *outbound) decideEnd(s *Stream) {
	o.catchUp()
	if s.headSent() {
		o.rewriteAll()
		return
	}
	o.clear(http2.FlagHeadersEndStream)
	o.block.ends = false
	o.trail(s)
}

// headSent reports whether this side has sent its final head.
func (s *Stream) headSent() bool {
	h2 := s.tap.openStream(s.id)
	return s.tap.cfg.Side == ClientSide || h2 != nil && h2.headAnswered || s.tap.ip.Load().out.said[s.id].head
}

// rewriteAll begins to write header blocks anew. It reports false if the
// parser's decoder has missed something.
func (o *outbound) rewriteAll() bool {
	if o.literal {
		return true
	}
	o.catchUp()
	block := &o.ip.tap.http2().parserOf(o.ip.tap.outgoing()).block
	if block.lost {
		return false
	}
	o.decoder = block.decoder
	o.decoder.SetEmitFunc(func(f hpack.HeaderField) { o.decoded = append(o.decoded, f) })
	block.renew()
	o.literal = true
	return true
}

func (o *outbound) fragment(p []byte) {
	if _, err := o.decoder.Write(p); err != nil {
		o.failed = true
	}
}

func (o *outbound) fields() ([]hpack.HeaderField, bool) {
	if !o.literal {
		return nil, true
	}
	fields := o.decoded
	o.decoded = nil
	return fields, o.decoder.Close() == nil && !o.failed
}

func (o *outbound) appendBlock(b []byte, stream uint32, ends bool, fields []hpack.HeaderField) []byte {
	b = appendBlock(b, stream, ends, o.resized, fields)
	o.resized = nil
	return b
}

func (o *outbound) rewrite(b *passing, fields []hpack.HeaderField) {
	o.resized = append(o.resized, b.resized...)
	s := o.ip.touched[b.carrier]
	if s != nil {
		if s.noContinue && len(fields) > 0 && fields[0].Name == ":status" && fields[0].Value == "100" {
			return
		}
		if b.ends && s.has().trailers != nil {
			fields = append(fields, s.rare.trailers...)
			s.rare.trailers = nil
		}
	}
	if final := len(fields) > 0 && fields[0].Name == ":status" && !strings.HasPrefix(fields[0].Value, "1"); final || b.ends {
		o.note(b.carrier, said{head: true, end: b.ends})
	}
	o.out = o.appendBlock(o.out, b.carrier, b.ends, fields)
}

// blockPassed serves what has waited for a head.
func (o *outbound) blockPassed(b *passing) {
	if b.fate == drop {
		o.resized = append(o.resized, b.resized...)
		return
	}
	s := o.ip.touched[b.carrier]
	if s == nil || !s.ends && s.has().headed == nil {
		return
	}
	o.catchUp()
	if !s.headSent() {
		return
	}
	for _, f := range s.has().headed {
		o.ip.tap.onceWritten(f)
	}
	s.needs().headed = nil
	if s.ends && !b.ends {
		o.end(s)
	}
}

// whenHead has f called when the head of the stream was written. A handler's
// flush of a head alone does not wait until net/http has put it into its turn.
func (o *outbound) whenHead(s *Stream, f func()) {
	o.catchUp()
	if s.over || s.sentEnd() || s.headSent() {
		o.ip.tap.onceWritten(f)
		return
	}
	s.needs().headed = append(s.needs().headed, f)
}
