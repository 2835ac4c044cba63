package wire

import (
	"encoding/binary"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"golang.org/x/net/http2"
)

// FrameCounts says how many frames of each type passed on the wire, those that
// a Control has put in too.
type FrameCounts struct{ Up, Down map[http2.FrameType]int }

// frameCounts are those of one direction. The last one is of unknown types.
type frameCounts [http2.FrameContinuation + 2]int

func (c *frameCounts) add(kind http2.FrameType) { c[min(int(kind), len(c)-1)]++ }

func (c *frameCounts) known() map[http2.FrameType]int {
	m := make(map[http2.FrameType]int)
	for kind, n := range c {
		if n > 0 {
			m[http2.FrameType(kind)] = n
		}
	}
	return m
}

// Frames counts what passed so far. Types that RFC 9113 does not have count as
// one, http2.FrameContinuation + 1.
func (c *Control) Frames() FrameCounts {
	t := c.tap
	t.mu.Lock()
	defer t.mu.Unlock()
	return FrameCounts{Up: t.http2().up.counts.known(), Down: t.http2().down.counts.known()}
}

// OnFrame has f called when the nth frame of a type from here on has come from
// the peer, as to send ENHANCE_YOUR_CALM to one that floods. f is called before
// net/http gets the frame, without locks, on the goroutine that reads: what it
// writes keeps that from reading.
func (c *Control) OnFrame(kind http2.FrameType, n int, f func()) {
	t := c.tap
	t.mu.Lock()
	defer t.mu.Unlock()
	in := t.http2().parserOf(t.incoming())
	in.awaited = append(in.awaited, awaited{kind, n, f})
}

// awaited is a call of OnFrame; left is how many frames are to come.
type awaited struct {
	kind http2.FrameType
	left int
	call func()
}

// came looks whether somebody waits for the frame that has ended.
func (f *h2Flow) came() {
	for i := range f.awaited {
		if w := &f.awaited[i]; w.kind == f.frame.kind {
			if w.left--; w.left == 0 {
				f.h2.tap.later = append(f.h2.tap.later, w.call)
			}
		}
	}
}

// Frame is one that passed.
type Frame struct {
	At     time.Time // of its last byte
	Up     bool      // from the client to the server
	Type   http2.FrameType
	Flags  http2.Flags
	Stream int64
	Length int    // of the payload
	Detail string // what a control frame says
}

// FrameList is a list of frames in the order in which they passed.
type FrameList []Frame

// ListFrames has the frames from here on listed, at most max of them.
func (c *Control) ListFrames(max int) {
	c.tap.mu.Lock()
	defer c.tap.mu.Unlock()
	c.tap.http2().listMax = max
}

// Listed are the frames since ListFrames.
func (c *Control) Listed() FrameList {
	c.tap.mu.Lock()
	defer c.tap.mu.Unlock()
	return append(FrameList(nil), c.tap.http2().list...)
}

// String is a table with one line per frame. Times count from the first.
func (l FrameList) String() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "AT\tFROM\tFRAME\tSTREAM\tBYTES\tFLAGS\t")
	for _, f := range l {
		from := "server"
		if f.Up {
			from = "client"
		}
		fmt.Fprintf(w, "%v\t%s\t%v\t%d\t%d\t%s\t%s\n",
			f.At.Sub(l[0].At).Round(time.Microsecond), from, f.Type, f.Stream, f.Length, f.flags(), f.Detail)
	}
	w.Flush()
	lines := strings.Split(b.String(), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ")
	}
	return strings.Join(lines, "\n")
}

func (f *Frame) flags() string {
	var names []string
	for bit := http2.Flags(1); bit != 0; bit <<= 1 {
		if f.Flags.Has(bit) {
			names = append(names, flagName(f.Type, bit))
		}
	}
	return strings.Join(names, "|")
}

// flagName is by RFC 9113, section 6.
func flagName(kind http2.FrameType, bit http2.Flags) string {
	isAck := kind == http2.FrameSettings || kind == http2.FramePing
	switch {
	case bit == 1 && isAck:
		return "ACK"
	case bit == 1:
		return "END_STREAM"
	case bit == 4:
		return "END_HEADERS"
	case bit == 8:
		return "PADDED"
	case bit == 32:
		return "PRIORITY"
	}
	return fmt.Sprintf("%#x", uint8(bit))
}

// listed counts and lists the frame that has ended.
func (f *h2Flow) listed() {
	f.counts.add(f.frame.kind)
	if len(f.awaited) > 0 {
		f.came()
	}
	h := f.h2
	if len(h.list) >= h.listMax {
		return
	}
	h.list = append(h.list, Frame{
		At: f.now, Up: f.flow.up, Type: f.frame.kind, Flags: f.frame.flags,
		Stream: int64(f.frame.stream), Length: f.frame.length, Detail: f.detail(),
	})
}

func (f *h2Flow) detail() string {
	p := f.control
	switch {
	case f.frame.kind == http2.FrameRSTStream:
		return http2.ErrCode(binary.BigEndian.Uint32(p)).String()
	case f.frame.kind == http2.FrameGoAway:
		return fmt.Sprintf("%v last stream %d %s", http2.ErrCode(binary.BigEndian.Uint32(p[4:])),
			binary.BigEndian.Uint32(p)&maxStreamID, p[8:])
	case f.frame.kind == http2.FrameWindowUpdate && len(p) == 4:
		return fmt.Sprint(binary.BigEndian.Uint32(p) & maxStreamID)
	case f.frame.kind == http2.FramePing:
		return fmt.Sprintf("%x", p)
	case f.frame.kind == http2.FrameSettings:
		return strings.Join(f.settingsSeen, " ")
	}
	return ""
}
