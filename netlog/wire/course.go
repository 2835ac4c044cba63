package wire

import (
	"encoding/binary"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// course is one direction through the interposer. It takes bytes in pieces of
// any size and cuts them into frames, of which it decides by their headers.
type course struct {
	rules rules
	raw   bool // what comes is not understood anymore, and passes

	preface int // bytes of the client preface to come
	header  [frameHeaderLen]byte
	have    int // bytes of header
	gone    int // of these, bytes that have passed already
	frame   h2Frame
	fate    fate
	left    int // payload bytes of the frame to come
	payload []byte
	block   passing
	begun   bool // a frame has passed

	out   []byte // what goes on
	rawAt int    // how much of out stands before what is not understood
	queue []byte // frames to be put in at the next boundary
	after []byte // frames to be put in behind the frame, or its block
}

// rules are how the directions differ.
type rules interface {
	// decide says what happens to the frame whose header is there, which it
	// may change.
	decide() fate
	// collected takes the whole frame, and adds to out what goes on.
	collected()
	// decideBlock is decide for a header block.
	decideBlock() fate
	fragment(p []byte)
	// fields are those of the block that ends; false is that they are not known.
	fields() ([]hpack.HeaderField, bool)
	// rewrite adds to out what a collected block becomes.
	rewrite(b *passing, fields []hpack.HeaderField)
	// blockPassed is called behind each block.
	blockPassed(b *passing)
}

type fate int

const (
	pass fate = iota
	drop
	collect // see the payload before anything goes on; a header block is written anew
)

// passing is a header block on its way.
type passing struct {
	carrier uint32 // 0 is none
	fate    fate
	ends    bool // END_STREAM
	joined  bool // it was open when the interposer began
	resized []byte
	inside  bool // a field has come: no table size may follow
}

// join starts where the parser stands, all of whose bytes have passed.
func (c *course) join(f *flow, p *h2Flow) {
	c.begun = p.seen
	if f.parser == nil && f.up {
		c.preface = len(http2.ClientPreface) - f.prefix
	}
	c.have, c.gone = p.have, p.have
	copy(c.header[:], p.header[:p.have])
	if p.inFrame {
		c.frame, c.left = p.frame, p.pre+p.content+p.pad
	}
	if p.block.open {
		c.block = passing{carrier: p.block.carrier, joined: true}
	}
}

// push takes bytes and puts what goes on into out.
func (c *course) push(b []byte) {
	for len(b) > 0 {
		b = b[c.step(b):]
	}
}

func (c *course) step(b []byte) int {
	switch {
	case c.raw:
		c.out = append(c.out, b...)
		return len(b)
	case c.preface > 0:
		n := min(len(b), c.preface)
		c.preface -= n
		c.out = append(c.out, b[:n]...)
		return n
	case c.left > 0:
		n := min(len(b), c.left)
		c.left -= n
		c.takePayload(b[:n])
		c.finish()
		return n
	}
	return c.takeHeader(b)
}

// giveUp lets everything pass from here on, and what is held back too.
func (c *course) giveUp() {
	if c.raw {
		return
	}
	c.raw, c.rawAt = true, len(c.out)
	c.out = append(c.out, c.header[c.gone:max(c.have, c.gone)]...)
	c.have, c.gone = 0, 0
}

func (c *course) takeHeader(b []byte) int {
	n := copy(c.header[c.have:], b)
	c.have += n
	if c.have < frameHeaderLen {
		return n
	}
	h := c.header[:]
	c.frame = h2Frame{
		length: int(h[0])<<16 | int(h[1])<<8 | int(h[2]),
		kind:   http2.FrameType(h[3]),
		flags:  http2.Flags(h[4]),
		stream: binary.BigEndian.Uint32(h[5:]) & maxStreamID,
	}
	c.left, c.payload = c.frame.length, c.payload[:0]
	c.fate = c.decide()
	if c.fate == pass {
		c.out = append(c.out, h[c.gone:]...)
	}
	c.have, c.gone = 0, 0
	c.finish()
	return n
}

func (c *course) decide() fate {
	switch c.frame.kind {
	case http2.FrameHeaders, http2.FramePushPromise:
		c.block = passing{carrier: c.frame.stream, ends: c.has(http2.FlagHeadersEndStream)}
		c.block.fate = c.rules.decideBlock()
		fallthrough
	case http2.FrameContinuation:
		if c.block.fate != pass {
			return collect // also of what is dropped: the fields must be known
		}
		return pass
	}
	return c.rules.decide()
}

func (c *course) has(flag http2.Flags) bool { return c.frame.flags.Has(flag) }

// clear takes a flag off the frame, whose header has not passed yet. It reports
// false if that is too late.
func (c *course) clear(flag http2.Flags) bool {
	if c.gone > 4 {
		return false
	}
	c.header[4] &^= byte(flag)
	return true
}

func (c *course) takePayload(p []byte) {
	switch c.fate {
	case pass:
		c.out = append(c.out, p...)
	case collect:
		c.payload = append(c.payload, p...)
	}
}

// finish ends the frame if no more of it is to come.
func (c *course) finish() {
	if c.left > 0 {
		return
	}
	c.begun = true
	switch c.frame.kind {
	case http2.FrameHeaders, http2.FramePushPromise, http2.FrameContinuation:
		if c.fate == collect {
			c.takeFragment()
		}
		if c.has(http2.FlagHeadersEndHeaders) {
			c.endBlock()
		}
	default:
		if c.fate == collect {
			c.rules.collected()
		}
	}
	c.putIn()
}

// takeFragment takes a frame's part of a header block that is written anew.
func (c *course) takeFragment() {
	p := unpadded(&c.frame, c.payload)
	if c.block.inside {
		c.rules.fragment(p)
		return
	}
	n := tableSizes(p)
	c.block.resized = append(c.block.resized, p[:n]...)
	c.block.inside = n < len(p)
	c.rules.fragment(p)
}

func (c *course) endBlock() {
	b := c.block
	c.block = passing{}
	ok := true
	var fields []hpack.HeaderField
	if !b.joined {
		fields, ok = c.rules.fields()
	}
	switch {
	case b.fate == pass:
	case !ok:
		c.giveUp()
		return
	case b.fate == collect:
		c.rules.rewrite(&b, fields)
	}
	c.rules.blockPassed(&b)
}

// boundary reports whether a frame may be put in here.
func (c *course) boundary() bool {
	return c.begun && !c.raw && c.have == 0 && c.left == 0 && c.block.carrier == 0
}

// putIn puts in what waits for a boundary, if this is one.
func (c *course) putIn() {
	if !c.boundary() {
		return
	}
	c.out = append(append(c.out, c.after...), c.queue...)
	c.after, c.queue = c.after[:0], c.queue[:0]
}
