package wire

import (
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// inbound is the way from the wire to net/http. The parser has decoded all
// header blocks that come here: once one was dropped, net/http's decoder has
// missed something, and the others are written anew from what the parser found.
type inbound struct {
	course
	ip      *interposer
	lastID  uint32 // highest request stream that net/http knows
	decoded [][]hpack.HeaderField
	literal bool
	taken   int // bytes of out
}

// resetInside is the code by which net/http learns that a stream was reset on
// this side; it does not replay a request for it.
const resetInside = http2.ErrCodeCancel

func (i *inbound) init(ip *interposer) {
	t := ip.tap
	i.ip, i.rules, i.lastID = ip, i, t.http2().lastID
	i.join(t.incoming(), t.http2().parserOf(t.incoming()))
}

// inject puts frames in on the way to net/http. The reader is woken when the
// lock is free.
func (i *inbound) inject(frames []byte) {
	i.queue = append(i.queue, frames...)
	i.ip.tap.later = append(i.ip.tap.later, i.ip.tap.wake)
}

func (i *inbound) decide() fate {
	ip := i.ip
	if i.frame.kind != http2.FrameSettings || !i.has(http2.FlagSettingsAck) || len(ip.settings) == 0 {
		return pass
	}
	own := ip.settings[0]
	ip.settings = ip.settings[1:]
	if own && i.gone == 0 {
		return drop
	}
	return pass
}

// decideBlock drops trailers that come late for a stream which net/http takes
// for closed: to its server they would be a fault of the connection.
func (i *inbound) decideBlock() fate {
	if i.ip.tap.cfg.Side == ServerSide {
		id := i.frame.stream
		late := id <= i.lastID
		i.lastID = max(i.lastID, id)
		if late && i.ip.isOver(id) && i.gone == 0 {
			i.literal = true
			return drop
		}
	}
	if i.literal {
		return collect
	}
	return pass
}

func (i *inbound) collected()      {}
func (i *inbound) fragment([]byte) {}

// know takes what the parser found in a block that comes here next.
func (i *inbound) know(b *block) {
	fields := b.fields
	switch {
	case b.lost:
		fields = nil
	case fields == nil:
		fields = []hpack.HeaderField{}
	}
	i.decoded = append(i.decoded, fields)
}

func (i *inbound) fields() ([]hpack.HeaderField, bool) {
	if len(i.decoded) == 0 {
		return nil, false
	}
	f := i.decoded[0]
	i.decoded = i.decoded[1:]
	return f, f != nil
}

func (i *inbound) rewrite(b *passing, fields []hpack.HeaderField) {
	i.out = appendBlock(i.out, b.carrier, b.ends, nil, fields)
}

func (i *inbound) blockPassed(*passing) {}

// take moves what goes on into p. Its second result is how much of that stands
// before what is not understood.
func (i *inbound) take(p []byte) (n, framed int) {
	i.putIn()
	n = copy(p, i.out[i.taken:])
	framed = n
	if i.raw {
		framed = min(n, max(0, i.rawAt-i.taken))
	}
	i.taken += n
	if i.taken == len(i.out) {
		i.out, i.taken, i.rawAt = i.out[:0], 0, 0
	}
	return n, framed
}
