package wire

import (
	"fmt"
	"time"

	"golang.org/x/net/http2"
)

// goAway is Control.GoAway.
func (ip *interposer) goAway(last int64, code http2.ErrCode, debug string) error {
	switch {
	case last < 0 || last > maxStreamID:
		return fmt.Errorf("last stream %d: want 0 to %d", last, int64(maxStreamID))
	case len(debug) > MaxDebug:
		return fmt.Errorf("debug data of %d bytes: at most %d", len(debug), MaxDebug)
	case last > int64(ip.last):
		return fmt.Errorf("last stream %d: it was %d already, and must not go up", last, ip.last)
	}
	ip.out.inject(appendGoAway(nil, uint32(last), code, debug))
	if ip.tap.cfg.Side == ServerSide && last < maxStreamID {
		ip.refuseAbove(uint32(last))
	}
	return nil
}

func (ip *interposer) refuseAbove(last uint32) {
	ip.last, ip.draining = last, true
	for id, s := range ip.tap.http2().streams {
		if id > last {
			ip.abandon(&s.Stream)
		}
	}
}

// isDrained reports whether all streams up to the last have ended.
func (ip *interposer) isDrained() bool {
	if !ip.draining || len(ip.out.queue) > 0 || ip.out.holding {
		return false
	}
	for id := range ip.tap.http2().streams {
		if id <= ip.last {
			return false
		}
	}
	return true
}

// goAwayGrace is how long a client may take to close a connection that is to
// carry no more: were it closed at once, what is on its way here would be
// answered by a reset, which could destroy the last answer on its way there.
const goAwayGrace = time.Second

// settle has the connection closed when it is drained.
func (ip *interposer) settle() {
	if ip.leaving == nil && ip.isDrained() {
		ip.leaving = time.AfterFunc(goAwayGrace, ip.leave)
	}
}

// leave runs on the timer's goroutine, which ends with the close; whoever
// closes a connection waits for the close that has begun.
func (ip *interposer) leave() {
	ip.tap.mu.Lock()
	drained := ip.isDrained()
	ip.leaving = nil
	ip.tap.mu.Unlock()
	if drained {
		ip.tap.shut()
	}
}
