package sender

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Whatever is cut off on its way, and whenever, the rest repairs it.
func TestCutsAreRepaired(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 3))
		key := NewKey(seed, 0, 0)
		w := &wire{delay: oneWay, drop: func(s Segment) bool { return key.Lost(s, 0.05) }}
		s := start(t, 0, Config{Path: w, Congestion: Congestion(seed % 3)})
		n := 1 + rng.IntN(200_000)
		s.Write(0, text(n))
		s.Close(0)
		for range 1 + rng.IntN(5) {
			s.Cut(s.now + Instant(rng.Int64N(int64(300*ms))))
		}
		finish(t, s, s.now, n)
		settle(t, s)
		assert.True(t, s.ended, "seed %d", seed)
	}
}

func TestACutAcknowledgementIsRepairedByTheProbe(t *testing.T) {
	w := &wire{delay: oneWay}
	s := start(t, 0, Config{Path: w, Congestion: Reno})
	s.Write(0, text(1000))
	s.Read(60*ms, 1000)
	s.Cut(60 * ms)
	settle(t, s)
	assert.Equal(t, "300:0.1", w.resendings())
}
