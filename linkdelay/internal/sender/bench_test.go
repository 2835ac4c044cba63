package sender

import (
	"testing"
	"time"
)

// BenchmarkStream writes and reads as fast as the buffer lets it, 16 KiB at a
// time, and plays all events in between.
func BenchmarkStream(b *testing.B) {
	for _, c := range []struct {
		name string
		loss float64
		law  Congestion
		rate time.Duration // per byte
	}{
		{"lossless", 0, Cubic, 0},
		{"lossless without window", 0, NoWindow, 0},
		{"1 % lost", 0.01, Cubic, 0},
		{"1 % lost without window", 0.01, NoWindow, 0},
		{"1 Gbit per s", 0, Cubic, 8},
	} {
		b.Run(c.name, func(b *testing.B) { stream(b, c.law, c.loss, c.rate) })
	}
}

func stream(b *testing.B, law Congestion, loss float64, perByte time.Duration) {
	path := &silent{rated: rated{delay: oneWay, perByte: perByte, key: NewKey(1, 0, 0), loss: loss}}
	s := start(b, 0, Config{Path: path, Congestion: law})
	chunk := text(16 << 10)
	now := Instant(0)
	b.SetBytes(int64(len(chunk)))
	b.ReportAllocs()
	for b.Loop() {
		for s.Space(now) < len(chunk) {
			now = min(s.NextRead(), s.NextSpace())
			s.Read(now, 1<<30)
		}
		s.Write(now, chunk)
	}
}

// silent keeps no log.
type silent struct{ rated }

func (s *silent) Send(sent Instant, g Segment) (Instant, bool) {
	at, lost := s.rated.Send(sent, g)
	s.log = s.log[:0]
	return at, lost
}

func BenchmarkLost(b *testing.B) {
	key, n := NewKey(1, 2, 3), 0
	for b.Loop() {
		if key.Lost(Segment{Cell: int64(n)}, 0.01) {
			n++
		}
		n++
	}
}
