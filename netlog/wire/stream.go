package wire

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"example.com/wiretest/netlog"
)

// Stream bends the protocol of one request and its answer. It comes from
// StreamOf in a handler, and from Control.StreamOf in RoundTrip's started
// callback.
type Stream struct {
	tap     *Tap
	id      uint32                // 0 on HTTP/1.1
	rec     *netlog.RequestRecord // nil for CONNECT on HTTP/1.1
	ordinal int64                 // among a Server's requests that it did not refuse, from 1; 0 is none

	// All below is guarded by tap.mu.

	over       bool // the stream is closed, or about to be
	inside     bool // net/http was told that it is reset
	closed     bool // this side's END_STREAM was sent, and net/http does not know
	ends       bool // END_STREAM is to be sent behind the head
	noContinue bool // 100 is swallowed
	whole      bool // on HTTP/1.1: the request has ended
	rare       *rare
}

// rare is what most requests have not, and do not pay for.
type rare struct {
	resetAs  *http2.ErrCode // for net/http's next RST_STREAM
	reset    *http2.ErrCode // by the peer
	onReset  []func(http2.ErrCode)
	trailers []hpack.HeaderField // to be sent behind the body

	connection []string // of the answer's head, on HTTP/1.1
	finale     bool     // the connection closes behind the answer
	headed     []func() // to be called when the head was written
	because    string   // this end closes the connection

	upTrailers, downTrailers []hpack.HeaderField // that passed
}

// has is for reading, needs for writing.
func (s *Stream) has() rare {
	if s.rare == nil {
		return rare{}
	}
	return *s.rare
}

func (s *Stream) needs() *rare {
	if s.rare == nil {
		s.rare = new(rare)
	}
	return s.rare
}

var errStreamOver = errors.New("the stream is over")

// ID is the HTTP/2 stream id; 0 on HTTP/1.1.
func (s *Stream) ID() int64 { return int64(s.id) }

// Record is the request's record; nil for CONNECT on HTTP/1.1.
func (s *Stream) Record() *netlog.RequestRecord { return s.rec }

// Control is the connection's.
func (s *Stream) Control() *Control { return &s.tap.control }

// bend is Control.bend for a stream of HTTP/2 that is not over.
func (s *Stream) bend(op string, change func(*interposer) error) error {
	return s.Control().bend(op, func(ip *interposer) error {
		if s.over || s.tap.openStream(s.id) == nil {
			return errStreamOver
		}
		ip.touched[s.id] = s
		return change(ip)
	})
}

// Reset sends RST_STREAM with a code of one's choice (RFC 9113, section 6.4).
// To net/http it looks as if the peer had sent RST_STREAM CANCEL: a handler's
// context ends, and a client's RoundTrip, or the answer's body, fails. What
// net/http has not handed to the connection by then is not sent; to send a code
// behind a part of a body, use ResetAs and end the handler by a panic with
// http.ErrAbortHandler. It is an error if the stream is over.
func (s *Stream) Reset(code http2.ErrCode) error {
	return s.bend("Reset", func(ip *interposer) error {
		ip.abandon(s)
		ip.out.inject(appendReset(nil, s.id, code))
		return nil
	})
}

// ResetAs gives the next RST_STREAM that net/http sends on this stream another
// code: that of a handler that panics with http.ErrAbortHandler, which always
// is INTERNAL_ERROR, or that of a client whose request's context ends, which
// always is CANCEL. It does not wait. It is an error if the stream is over.
func (s *Stream) ResetAs(code http2.ErrCode) error {
	return s.bend("ResetAs", func(*interposer) error { s.needs().resetAs = &code; return nil })
}

// OnReset has f called when the peer resets the stream, with the code that
// net/http does not tell once the request's body, or what was asked, has ended.
// f is called before net/http learns of it, without locks, and must not block;
// at once if the stream was reset already.
func (s *Stream) OnReset(f func(http2.ErrCode)) {
	s.tap.mu.Lock()
	code := s.has().reset
	if code == nil {
		s.needs().onReset = append(s.needs().onReset, f)
	}
	s.tap.mu.Unlock()
	if code != nil {
		f(*code)
	}
}

// PeerReset is the code with which the peer has reset the stream.
func (s *Stream) PeerReset() (code http2.ErrCode, ok bool) {
	s.tap.mu.Lock()
	defer s.tap.mu.Unlock()
	if s.has().reset == nil {
		return 0, false
	}
	return *s.rare.reset, true
}

// wasReset takes the peer's code, and is called with tap.mu held.
func (s *Stream) wasReset(code http2.ErrCode) {
	if s.has().reset != nil {
		return
	}
	r := s.needs()
	r.reset = &code
	for _, f := range r.onReset {
		s.tap.later = append(s.tap.later, func() { f(code) })
	}
	r.onReset = nil
}

// sentEnd reports whether this side has ended the stream.
func (s *Stream) sentEnd() bool {
	h2 := s.tap.openStream(s.id)
	switch {
	case s.closed, h2 == nil, s.tap.ip.Load().out.said[s.id].end:
		return true
	case s.tap.cfg.Side == ClientSide:
		return h2.asked
	}
	return h2.answered
}

// CloseWrite ends this side of the stream behind what was flushed, while
// net/http keeps it open, as in a tunnel by CONNECT of which one end has no
// more to say (RFC 9113, section 8.5). What net/http still sends is swallowed;
// of what a handler writes right after it some may still pass, unless it waits
// for Flushed. The peer's own end is that of the body. It does not wait.
func (s *Stream) CloseWrite() error {
	return s.bend("CloseWrite", func(ip *interposer) error {
		if s.sentEnd() {
			return errors.New("the end of the stream was sent")
		}
		ip.closeWrite(s)
		return nil
	})
}

// Flushed waits until what a handler has flushed was handed to the connection,
// which on HTTP/2 is a little later; if it has flushed nothing yet, until the
// answer's head was.
func (s *Stream) Flushed(ctx context.Context) error {
	if s.id == 0 {
		return nil
	}
	passed := make(chan struct{})
	err := s.bend("Flushed", func(ip *interposer) error {
		ip.behind(func() { ip.out.whenHead(s, func() { close(passed) }) })
		return nil
	})
	if err != nil {
		return err
	}
	select {
	case <-passed:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-s.tap.gone:
		return fmt.Errorf("wire: control: Flushed: %w", errClosed)
	}
}

// NoContinue has 100 never sent for this request (RFC 9110, section 10.1.1),
// though its body is asked for. It does not wait.
func (s *Stream) NoContinue() error {
	if s.id != 0 {
		return s.bend("NoContinue", func(*interposer) error { s.noContinue = true; return nil })
	}
	s.tap.mu.Lock()
	defer s.tap.mu.Unlock()
	s.noContinue, s.tap.mute = true, true
	return nil
}

// CloseBehind closes the connection right behind the answer, which does not say
// so. It does not wait.
func (s *Stream) CloseBehind() {
	s.tap.mu.Lock()
	defer s.tap.mu.Unlock()
	s.needs().finale = true
}

// Because says why this end closes the connection, should it do so before a
// request on HTTP/1.1 has its answer: net/http closes it where one is given up,
// and does not say why. On HTTP/2, where that costs a stream, it says nothing.
func (s *Stream) Because(reason string) {
	s.tap.mu.Lock()
	defer s.tap.mu.Unlock()
	if s.id == 0 {
		s.needs().because = reason
	}
}

// StopReading gives up what has not come of a request on HTTP/1.1: the connection
// is read no more, and ends behind the answer. A Read that waits is not interrupted,
// but gets no more data. It reports false, and does nothing, if all has come: a
// deadline would then be that of what is read behind the request, and end its context.
// net/http goes on with such a connection where a body could not be read for a
// deadline, and takes the rest of it for a request. On HTTP/2 it stops nothing.
func (s *Stream) StopReading() (hadMore bool) {
	s.tap.mu.Lock()
	defer s.tap.mu.Unlock()
	if s.ended() {
		return false
	}
	if s.id == 0 {
		s.tap.deaf.Store(true)
	}
	return true
}

// wasAnswered is called with tap.mu held when the answer has passed.
func (s *Stream) wasAnswered() {
	if s.has().finale {
		s.tap.onceWritten(s.tap.shut)
	}
}

// refused reports whether no handler is to be called.
func (s *Stream) refused() bool {
	if s == nil || s.id == 0 {
		return false
	}
	s.tap.mu.Lock()
	defer s.tap.mu.Unlock()
	ip := s.tap.ip.Load()
	return ip != nil && ip.isOver(s.id)
}
