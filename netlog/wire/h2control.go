package wire

import (
	"encoding/binary"
	"fmt"
	"math"

	"golang.org/x/net/http2"

	"example.com/wiretest/netlog"
)

// maxTableSize bounds the memory that a peer can make a Tap's HPACK decoder
// keep.
const maxTableSize = 16 << 20

const maxSettingsListed = 16

// takeControl collects the content of a control frame, and takes settings one
// by one.
func (f *h2Flow) takeControl(p []byte) {
	if f.frame.kind != http2.FrameSettings {
		room := 8 + maxDebugData - len(f.control)
		f.control = append(f.control, p[:min(len(p), room)]...)
		return
	}
	for len(p) > 0 {
		n := min(len(p), 6-len(f.control))
		f.control = append(f.control, p[:n]...)
		p = p[n:]
		if len(f.control) == 6 {
			f.setting(http2.SettingID(binary.BigEndian.Uint16(f.control)), binary.BigEndian.Uint32(f.control[2:]))
			f.control = f.control[:0]
		}
	}
}

func (f *h2Flow) setting(id http2.SettingID, value uint32) {
	if f.has(http2.FlagSettingsAck) {
		return
	}
	f.stated.note(id, value)
	if len(f.h2.list) < f.h2.listMax && len(f.settingsSeen) < maxSettingsListed {
		f.settingsSeen = append(f.settingsSeen, fmt.Sprintf("%v=%d", id, value))
	}
	switch id {
	case http2.SettingMaxConcurrentStreams:
		if !f.flow.up {
			f.h2.streamLimit(int(min(value, math.MaxInt32)))
		}
	case http2.SettingHeaderTableSize:
		f.h2.other(f).tableSize(value)
	}
}

func (h *h2Conn) streamLimit(n int) {
	h.tap.limit, h.tap.limited = n, true
	h.tap.cfg.Record.Update(func(c *netlog.Connection) { c.StreamLimit = n })
}

// tableSize prepares the decoder for an encoder that was allowed a table of n
// bytes (RFC 7541, section 4.2). Which size it uses, it says within its header
// blocks. Until then a table that is larger than the encoder's does no harm,
// as entries are counted from the newest; so a raise counts at once, and a
// lower size only when the encoder says so, by which time it was acknowledged.
func (f *h2Flow) tableSize(n uint32) {
	n = min(n, maxTableSize)
	if n <= f.block.table {
		return
	}
	f.block.table = n
	f.block.decoder.SetAllowedMaxDynamicTableSize(n)
	f.block.decoder.SetMaxDynamicTableSize(n)
	if ip := f.h2.tap.ip.Load(); ip != nil && ip.out.decoder != nil && f.flow == f.h2.tap.outgoing() {
		ip.out.decoder.SetAllowedMaxDynamicTableSize(n)
		ip.out.decoder.SetMaxDynamicTableSize(n)
	}
}

// goAway records a GOAWAY frame and ends the requests that it refuses (RFC
// 9113, section 6.8).
func (h *h2Conn) goAway(f *h2Flow, payload []byte) {
	last := binary.BigEndian.Uint32(payload) & maxStreamID
	code := http2.ErrCode(binary.BigEndian.Uint32(payload[4:]))
	text := fmt.Sprintf("GOAWAY %v last stream %d, %s", code, last, f.verb())
	if debug := payload[8:]; len(debug) > 0 {
		text += fmt.Sprintf(", debug %q", debug)
	}
	h.noteGoAway(text)
	if f.flow.up || last >= h.lastServed {
		return
	}
	h.lastServed = last
	h.refusal = fmt.Sprintf("%s%v last stream %d", refusedBy, code, last)
	for id, s := range h.streams {
		if id > last {
			s.rec.End(h.refusal)
		}
	}
}

// verb says which way the frame went, from this side.
func (f *h2Flow) verb() string {
	if f.flow == f.h2.tap.outgoing() {
		return "sent"
	}
	return "received"
}

// noteGoAway keeps the first few: a graceful shutdown sends two.
func (h *h2Conn) noteGoAway(text string) {
	h.goAways++
	if h.goAways > 4 {
		return
	}
	h.tap.cfg.Record.Update(func(c *netlog.Connection) {
		if c.GoAway != "" {
			text = c.GoAway + "; " + text
		}
		c.GoAway = text
	})
}
