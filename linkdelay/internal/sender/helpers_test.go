package sender

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	ms     = Instant(time.Millisecond)
	oneWay = 50 * time.Millisecond
)

// wire is a path of constant delay that loses what drop says, by the segment's
// rank in the stream (from 0) and the attempt.
type wire struct {
	delay time.Duration
	drop  func(Segment) bool
	sent  []sending
}

type sending struct {
	Segment
	at, arrives Instant
	lost        bool
}

func (w *wire) Send(sent Instant, s Segment) (Instant, bool) {
	lost := w.drop != nil && w.drop(s)
	arrives := sent.add(w.delay)
	w.sent = append(w.sent, sending{s, sent, arrives, lost})
	return arrives, lost
}

func (w *wire) Back(sent Instant) Instant { return sent.add(w.delay) }
func (w *wire) Least() time.Duration      { return w.delay }

// dropping drops the first attempts of segments, which are whole cells.
func dropping(attempts int, segments ...int64) func(Segment) bool {
	return func(s Segment) bool {
		for _, n := range segments {
			if s.Cell == n && s.Attempt < attempts {
				return true
			}
		}
		return false
	}
}

func start(t testing.TB, now Instant, cfg Config) *Sender {
	t.Helper()
	if cfg.RTT == 0 {
		cfg.RTT = 2 * oneWay
	}
	s, err := New(now, cfg)
	require.NoError(t, err)
	return s
}

// finish plays until n bytes are read in all, and returns when the last was.
func finish(t testing.TB, s *Sender, now Instant, n int) Instant {
	t.Helper()
	for s.read < int64(n) {
		s.Read(now, n)
		if s.read == int64(n) {
			break
		}
		next := s.NextRead()
		if next <= now || next == Never {
			t.Fatalf("the stream stalls at %d: %d of %d bytes read, next look at %d", now, s.read, n, next)
		}
		now = next
	}
	return now
}

// text is n bytes that are no TLS.
func text(n int) []byte { return bytes.Repeat([]byte{'x'}, n) }

// dialled plays a handshake that begins now.
func dialled(now Instant, there, back Path) (Dialled, bool) {
	h := NewHandshake(now, there, back)
	for !h.Over() {
		h.Step()
	}
	return h.Result()
}

// idle says that all that was written, and FIN if there is one, is acknowledged.
func idle(s *Sender) bool { return s.out() == 0 && !s.waiting() }
