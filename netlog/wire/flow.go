package wire

import (
	"time"

	"golang.org/x/net/http2"

	"example.com/wiretest/netlog"
)

// A parser is pushed the bytes of one direction, in pieces of any size, of
// which it keeps no reference.
type parser interface {
	// feed takes the bytes that stand at offset at of their direction. If it
	// returns what is malformed, it gives up and is fed no more.
	feed(p []byte, at int64, now time.Time) *malformed
}

// malformed is what a parser cannot follow.
type malformed struct {
	at   int64 // offset of the frame or message
	text string
}

// flow is one direction of a Tap. Guarded by Tap.mu.
type flow struct {
	tap    *Tap
	up     bool
	at     int64 // bytes seen
	ahead  int   // bytes seen that a short write left to be written again
	parser parser
	prefix int // bytes of the HTTP/2 preface seen while there is no parser
	gaveUp bool
	stopAt int64 // offset of what made the parser give up
	atEOF  bool
}

// count adds application bytes to the connection's record.
func (f *flow) count(n int) {
	f.tap.cfg.Record.Update(func(c *netlog.Connection) {
		if f.up {
			c.BytesUp += int64(n)
		} else {
			c.BytesDown += int64(n)
		}
	})
}

// countHeader adds header bytes to the connection's record.
func (f *flow) countHeader(n int) {
	f.tap.cfg.Record.Update(func(c *netlog.Connection) {
		if f.up {
			c.HeaderBytesUp += int64(n)
		} else {
			c.HeaderBytesDown += int64(n)
		}
	})
}

// feed records what p says.
func (f *flow) feed(p []byte) {
	if len(p) == 0 {
		return
	}
	start := f.at
	f.at += int64(len(p))
	if f.gaveUp || f.tap.opaque || f.tap.end.recorded {
		return // what is written to a closed connection begins no request
	}
	now := f.clock(len(p))
	if f.parser == nil {
		n := f.sniff(p, now)
		p, start = p[n:], start+int64(n)
	}
	if f.parser != nil && len(p) > 0 {
		f.push(p, start, now)
	}
}

// clock is the time at which n bytes are seen. Where they are all content of one
// DATA frame nobody asks for it, and so neither does this.
func (f *flow) clock(n int) time.Time {
	if h, ok := f.parser.(*h2Flow); ok && h.inFrame && h.pre == 0 && h.content > n && h.frame.kind == http2.FrameData {
		return h.now
	}
	return time.Now()
}

func (f *flow) push(p []byte, at int64, now time.Time) {
	if f.gaveUp {
		return
	}
	if bad := f.parser.feed(p, at, now); bad != nil {
		f.gaveUp, f.stopAt = true, bad.at
		f.tap.note(bad.text)
	}
}

// sniff chooses the parser by what is really spoken, whatever ALPN said, and
// returns how many bytes of p it has taken.
func (f *flow) sniff(p []byte, now time.Time) int {
	if !f.up {
		f.parser = f.answerParser(p[0])
		return 0
	}
	const preface = http2.ClientPreface // RFC 9113, section 3.4
	for i, c := range p {
		if c != preface[f.prefix] {
			f.parser = &h1Requests{h1Messages: h1Messages{h1: &f.tap.h1, flow: f}}
			f.push([]byte(preface[:f.prefix]), 0, now)
			return i
		}
		f.prefix++
		if f.prefix == len(preface) {
			f.tap.spoke("h2")
			f.parser = &f.tap.http2().up
			return i + 1
		}
	}
	return len(p)
}

// answerParser tells a status line from a frame: an HTTP/2 server begins with
// a SETTINGS frame, whose length is nowhere near 'H'<<16.
func (f *flow) answerParser(first byte) parser {
	if first == 0 || first != 'H' && f.tap.cfg.Protocol == "h2" {
		return &f.tap.http2().down
	}
	return &h1Answers{h1Messages{h1: &f.tap.h1, flow: f}}
}

// followed returns how many of the last n bytes stand before what stopped the
// parser.
func (f *flow) followed(n int) int {
	if !f.gaveUp {
		return n
	}
	return min(max(0, int(f.stopAt-(f.at-int64(n)))), n)
}

// eof says that nothing more comes: at its end if clean, else cut.
func (f *flow) eof(clean bool) {
	if f.up || f.atEOF {
		return // answers to what was asked may still come
	}
	f.atEOF = true
	f.tap.h1.answersEnded(clean)
	if f.tap.h2 != nil {
		f.tap.h2.answersEnded()
	}
}
