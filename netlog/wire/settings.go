package wire

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/net/http2"
)

const (
	defaultWindow = 1<<16 - 1 // RFC 9113, section 6.5.2
	smallWindow   = 8 << 10   // of which net/http gives back what was read, in pieces of 4 KiB
	defaultTable  = 4096
)

// sendSettings is Control.SendSettings.
func (ip *interposer) sendSettings(settings []http2.Setting) error {
	stated := ip.tap.http2().parserOf(ip.tap.outgoing()).stated
	for _, s := range settings {
		if err := s.Valid(); err != nil {
			return fmt.Errorf("%v = %d: %w", s.ID, s.Val, err)
		}
		if err := stated.allow(s); err != nil {
			return err
		}
	}
	ip.settings = append(ip.settings, true)
	ip.out.inject(appendSettings(nil, settings))
	return nil
}

// stated is what a side said of itself in its first SETTINGS; 0 is nothing.
type stated struct{ window, frame uint32 }

func (s *stated) note(id http2.SettingID, value uint32) {
	switch {
	case id == http2.SettingInitialWindowSize && s.window == 0:
		s.window = value
	case id == http2.SettingMaxFrameSize && s.frame == 0:
		s.frame = value
	}
}

// allow refuses what net/http could not keep.
func (s stated) allow(n http2.Setting) error {
	low, high := uint32(0), uint32(0)
	switch n.ID {
	case http2.SettingInitialWindowSize:
		low, high = smallWindow, or(s.window, defaultWindow)
	case http2.SettingMaxFrameSize:
		high = or(s.frame, maxOwnFrame)
	case http2.SettingHeaderTableSize:
		high = defaultTable
	default:
		return nil
	}
	if n.Val < low || n.Val > high {
		return fmt.Errorf("%v = %d: net/http can keep %d to %d", n.ID, n.Val, min(low, high), high)
	}
	return nil
}

func or(n, other uint32) uint32 {
	if n == 0 {
		return other
	}
	return n
}

// hold is Control.HoldSettings.
func (ip *interposer) hold(d time.Duration) error {
	switch {
	case ip.tap.cfg.Side == ClientSide:
		return errors.New("only a server can")
	case ip.holder != nil:
		return errors.New("it was called already")
	case ip.out.begun || ip.out.have > 0:
		return errors.New("settings were sent")
	}
	if !ip.out.holding {
		ip.out.holding = true
		ip.out.rewriteAll() // the parser sees no block before it is let go
	}
	if d > 0 {
		ip.let = make(chan struct{})
		ip.holder = time.AfterFunc(d, ip.letGo)
	}
	return nil
}

func (ip *interposer) release() {
	ip.out.holding = false
	ip.tap.queued.Store(true)
}

// letGo runs on the timer's goroutine, for whose write Tap.Close waits: not for what
// waited for the write, which may be a Close.
func (ip *interposer) letGo() {
	t := ip.tap
	t.mu.Lock()
	ip.release()
	t.mu.Unlock()
	written := t.writePut()
	close(ip.let)
	if written != nil {
		written()
		t.kick()
	}
}

// unacknowledged is how many SETTINGS of a direction the other one has not
// acknowledged.
func (h *h2Conn) unacknowledged(f *flow) int {
	p := h.parserOf(f)
	return max(0, p.settings-h.other(p).acks)
}
