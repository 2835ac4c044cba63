package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"time"

	"golang.org/x/net/http2"
)

// interposer changes frames on their way between net/http and the recording
// parsers, which stay nearest the wire. A Tap has one from when something is
// asked that needs it; until then the bytes pass as they are and nothing is
// paid. Guarded by Tap.mu.
type interposer struct {
	tap     *Tap
	in      inbound
	out     outbound
	touched map[uint32]*Stream // of which something was asked; kept, because net/http may speak of them late

	last     uint32        // streams above were refused by GOAWAY
	draining bool          // the connection closes when those up to last have ended
	leaving  *time.Timer   // until it closes
	settings []bool        // SETTINGS sent and not acknowledged yet: whether they are the interposer's
	barriers []barrier     // waiting for net/http, in order
	made     uint32        // barriers so far
	holder   *time.Timer   // of HoldSettings
	let      chan struct{} // closed when holder's function has written, or never will
}

// interpose returns the interposer, which may be made now. It takes over where
// the parsers stand: all bytes that they have seen have passed, or are passing,
// as they are. It is called with mu held.
func (t *Tap) interpose() (*interposer, error) {
	if ip := t.ip.Load(); ip != nil {
		return ip, t.bendable()
	}
	if err := t.bendable(); err != nil {
		return nil, err
	}
	ip := &interposer{tap: t, touched: make(map[uint32]*Stream), last: maxStreamID}
	ip.in.init(ip)
	ip.out.init(ip)
	for range t.http2().unacknowledged(t.outgoing()) {
		ip.settings = append(ip.settings, false)
	}
	t.ip.Store(ip)
	return ip, nil
}

var errClosed = errors.New("the connection is closed")

func (t *Tap) bendable() error {
	switch {
	case t.end.recorded:
		return errClosed
	case !t.speaksH2():
		return errHTTP1
	case t.up.gaveUp || t.down.gaveUp:
		return errors.New("what was spoken on the connection is not understood")
	}
	return nil
}

func (t *Tap) speaksH2() bool {
	_, up := t.up.parser.(*h2Flow)
	_, down := t.down.parser.(*h2Flow)
	return t.cfg.Protocol == protoH2 && (up || t.up.parser == nil) && (down || t.down.parser == nil)
}

// parserOf is the HTTP/2 parser of a direction.
func (h *h2Conn) parserOf(f *flow) *h2Flow {
	if f.up {
		return &h.up
	}
	return &h.down
}

// isOver reports whether the wire must see no more of a stream.
func (ip *interposer) isOver(id uint32) bool {
	s := ip.touched[id]
	return s != nil && s.over || id > ip.last && ip.tap.cfg.Side == ServerSide
}

// abandon ends a stream for net/http, and keeps from the wire what that still
// says of it.
func (ip *interposer) abandon(s *Stream) {
	ip.touched[s.id] = s
	s.over = true
	if !s.inside {
		s.inside = true
		ip.in.inject(appendReset(nil, s.id, resetInside))
	}
}

// credit gives net/http back the window of DATA that was swallowed.
func (ip *interposer) credit(stream uint32, n int) {
	if n == 0 {
		return
	}
	b := appendWindowUpdate(nil, 0, n)
	if !ip.isOver(stream) {
		b = appendWindowUpdate(b, stream, n)
	}
	ip.in.inject(b)
}

// closeWrite is Stream.CloseWrite. A server's handler may have flushed what its
// net/http has not written yet, so the end goes behind a barrier; a client
// writes at once.
func (ip *interposer) closeWrite(s *Stream) {
	if ip.tap.cfg.Side == ClientSide {
		ip.out.end(s)
		return
	}
	ip.behind(func() { ip.out.end(s) })
}

// barrier is a PING that net/http was sent. Its answer stands in what net/http
// writes behind all that was flushed before, and goes no further.
type barrier struct {
	data   [8]byte
	passed func() // called with Tap.mu held
}

func (ip *interposer) behind(passed func()) {
	ip.made++
	b := barrier{passed: passed}
	copy(b.data[:], "tap!")
	binary.BigEndian.PutUint32(b.data[4:], ip.made)
	ip.barriers = append(ip.barriers, b)
	ip.in.inject(appendFrame(nil, http2.FramePing, 0, 0, b.data[:]))
}

// answered reports whether a PING's answer was a barrier's.
func (ip *interposer) answered(data []byte) bool {
	if len(ip.barriers) == 0 || !bytes.Equal(data, ip.barriers[0].data[:]) {
		return false
	}
	passed := ip.barriers[0].passed
	ip.barriers = ip.barriers[1:]
	passed()
	return true
}

// stopInterposer ends what would act by itself when the connection closes. It
// is called with mu held, and returns what waits for the rest without it.
func (t *Tap) stopInterposer() (wait func()) {
	ip := t.ip.Load()
	if ip == nil {
		return func() {}
	}
	ip.in.queue, ip.out.queue, ip.out.held = nil, nil, nil
	ip.out.holding = false
	if ip.leaving != nil {
		ip.leaving.Stop()
	}
	if ip.holder == nil {
		return func() {}
	}
	if ip.holder.Stop() { // once: a second close finds let closed
		close(ip.let)
	}
	return func() { <-ip.let }
}
