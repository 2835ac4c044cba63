package sender

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// rounds grows a window by full round trips of 100 ms.
func rounds(w *window, from time.Duration, n int) {
	for i := range n {
		now := Instant(from) + Instant(i)*100*ms
		for range w.cwnd {
			w.used(true, 0, int64(w.cwnd))
			w.grow(now, 1, 100*time.Millisecond)
		}
	}
}

func TestSlowStartDoubles(t *testing.T) {
	w := newWindow(Reno, 10)
	rounds(&w, 0, 3)
	assert.Equal(t, 80, w.cwnd)
}

func TestRenoHalvesAndGrowsByOnePerRoundTrip(t *testing.T) {
	w := newWindow(Reno, 100)
	w.collapse()
	assert.Equal(t, 50, w.ssthresh)
	w.setWindow(w.ssthresh)
	rounds(&w, 0, 10)
	assert.Equal(t, 60, w.cwnd)
	w = newWindow(Reno, 3)
	w.collapse()
	assert.Equal(t, 2, w.ssthresh, "no less than two")
}

func TestCubicReturnsToThePeak(t *testing.T) {
	w := newWindow(Cubic, 400)
	w.collapse()
	assert.Equal(t, 280, w.ssthresh)
	w.setWindow(w.ssthresh)
	plateau := math.Cbrt(400 * 0.3 / 0.4) // 6.7 s
	for i := range 100 {
		rounds(&w, time.Duration(i)*100*time.Millisecond, 1)
		x := float64(i+1)/10 - plateau // the function is asked for a round trip ahead
		assert.InDelta(t, 400+0.4*x*x*x, w.cwnd, 6, "after %d round trips", i+1)
	}
}

func TestCubicIsNoSlowerThanAdditiveIncrease(t *testing.T) {
	w := newWindow(Cubic, 20)
	w.collapse()
	w.setWindow(w.ssthresh)
	rounds(&w, 0, 20)
	assert.InDelta(t, 14+20*0.53, w.cwnd, 1)
}

func TestCubicYieldsWhenItDidNotReachThePeak(t *testing.T) {
	c := &cubic{}
	c.threshold(100)
	assert.Equal(t, 100, c.peak)
	c.threshold(80)
	assert.Equal(t, 68, c.peak)
	c.timedOut()
	assert.Zero(t, c.peak)
}

func TestRecoverySendsInProportion(t *testing.T) {
	w := newWindow(Reno, 100)
	w.collapse()
	pipe, sent := 99, 0 // one of a hundred is lost
	for range 99 {
		pipe--
		w.reduce(1, false, false, pipe)
		for pipe < w.cwnd {
			pipe++
			sent++
			w.prrOut++
		}
	}
	assert.Equal(t, 50, sent, "one for two")
	assert.Equal(t, 50, pipe)
}

// firstFlight is how many segments leave at once when much is written.
func firstFlight(s *Sender, w *wire, now Instant) int {
	s.Advance(now)
	w.sent = w.sent[:0]
	s.Write(now, text(1<<20))
	s.Advance(now + 1)
	return len(w.sent)
}

func TestAWindowThatIsNotUsedDoesNotGrow(t *testing.T) {
	w := &wire{delay: oneWay}
	s := start(t, 0, Config{Path: w})
	for i := range Instant(100) {
		s.Write(i*100*ms, text(100))
	}
	assert.Equal(t, 10, firstFlight(s, w, s.now+100*ms))
}

func TestAnIdleConnectionStartsAnew(t *testing.T) {
	for idle, want := range map[Instant]int{
		200 * ms:  160, // shorter than the timeout of 300 ms
		350 * ms:  80,
		650 * ms:  40,
		9000 * ms: 10,
	} {
		w := &wire{delay: oneWay}
		s := start(t, 0, Config{Path: w})
		s.Write(0, text(150*1460)) // 10, 20, 40, 80
		drain(s, true)
		assert.Equal(t, want, firstFlight(s, w, w.sent[len(w.sent)-1].at+idle), "after %d ms", idle/ms)
	}
}
