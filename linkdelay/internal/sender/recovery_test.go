package sender

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// resendings lists the retransmissions as "ms:segment.attempt".
func (w *wire) resendings() string {
	var list []string
	for _, g := range w.sent {
		if g.Attempt > 0 {
			list = append(list, fmt.Sprintf("%d:%d.%d", g.at/ms, g.Cell, g.Attempt))
		}
	}
	return strings.Join(list, " ")
}

func TestRetransmissionsGoOut(t *testing.T) {
	for _, c := range []struct {
		name     string
		segments int
		drop     func(Segment) bool
		want     string
	}{
		{"at once, when three that were sent later are acknowledged", 4, dropping(1, 0), "100:0.1"},
		{"after a quarter of the round trip, when two are", 3, dropping(1, 0), "125:0.1"},
		{"one at first, then another, when a wait ends", 10, dropping(1, 7, 8), "125:7.1 225:8.1"},
		{"as fast as the window comes down", 10, dropping(1, 0, 1, 2), "100:0.1 100:1.1 100:2.1"},
		{"again, when something sent after the retransmission is acknowledged", 30, dropping(2, 9), "200:9.1 300:9.2"},
		{"again, although a later one was retransmitted already", 30, func(s Segment) bool { return s.Cell == 3 && s.Attempt < 2 || s.Cell == 7 && s.Attempt < 1 }, "100:3.1 100:7.1 200:3.2"},
		{"a timeout after the last one, which was the head", 14, dropping(3, 0), "100:0.1 200:0.2 500:0.3"},
		{"in recovery, without a wait", 12, dropping(1, 0, 10), "100:0.1 200:10.1"},
		{"as a probe, two round trips after the last word", 2, dropping(1, 0, 1), "208:1.1 308:0.1"},
		{"as a probe later, if it is alone", 1, dropping(1, 0), "300:0.1"},
		{"then after timeouts that double", 1, dropping(4, 0), "300:0.1 600:0.2 1200:0.3 2400:0.4"},
		{"by slow start after a timeout", 7, func(s Segment) bool { return s.Attempt < 1 || s.Cell == 6 && s.Attempt < 2 }, "208:6.1 508:0.1 608:1.1 608:2.1 708:3.1 708:4.1 708:5.1 708:6.2"},
	} {
		w := &wire{delay: oneWay, drop: c.drop}
		s := start(t, 0, Config{Path: w, Congestion: Reno})
		s.Write(0, text(c.segments*1460))
		drain(s, true)
		assert.Equal(t, c.want, w.resendings(), c.name)
		settle(t, s)
	}
}

// A probe is new data if there is some, beyond the window.
func TestAProbeSendsNewDataFirst(t *testing.T) {
	w := &wire{delay: oneWay, drop: dropping(1, span(0, 9)...)}
	s := start(t, 0, Config{Path: w, Congestion: Reno})
	s.Write(0, text(12*1460))
	s.Advance(209 * ms)
	assert.Len(t, w.sent, 11)
	assert.Equal(t, int64(10), w.sent[10].Cell)
	assert.Equal(t, 208*ms, w.sent[10].at)
	drain(s, true)
	settle(t, s)
}

func TestAProbeThatRepairedALossShrinksTheWindow(t *testing.T) {
	s := start(t, 0, Config{Path: &wire{delay: oneWay, drop: dropping(1, 9)}, Congestion: Reno})
	s.Write(0, text(10*1460))
	drain(s, true)
	assert.Equal(t, 20, s.window.cwnd, "not yet: it could have been for nothing")
	s.Write(s.now, text(1460))
	drain(s, true)
	assert.Equal(t, 10, s.window.cwnd, "what follows it is acknowledged, and no duplicate was reported")
}

func TestAProbeForNothingDoesNotShrinkTheWindow(t *testing.T) {
	w := &wire{delay: 200 * time.Millisecond}
	s := start(t, 0, Config{Path: w, RTT: 100 * time.Millisecond, Congestion: Reno})
	s.Write(0, text(10*1460))
	drain(s, true)
	assert.Equal(t, 1, s.stats.Probes)
	before := s.window.cwnd
	s.Write(s.now, text(1460))
	drain(s, true)
	assert.GreaterOrEqual(t, s.window.cwnd, before)
}

func TestATimeoutSparesWhatWasJustSent(t *testing.T) {
	w := &wire{delay: oneWay, drop: dropping(3, 1)}
	s := start(t, 0, Config{Path: w, Congestion: Reno})
	s.Write(0, text(1460))
	s.Write(200*ms, text(1460))
	s.Write(790*ms, text(1460))
	s.Advance(801 * ms)
	assert.Equal(t, 1, s.stats.Timeouts)
	assert.Equal(t, 1, s.lostOut, "the first, but not what was sent 10 ms ago")
	drain(s, true)
	assert.Equal(t, "500:1.1 800:1.2 1190:1.3", w.resendings())
	settle(t, s)
}

func TestRecoveryEndsWithTheWindowAtTheThreshold(t *testing.T) {
	s := start(t, 0, Config{Path: &wire{delay: oneWay, drop: dropping(1, 0)}, Congestion: Reno})
	s.Write(0, text(10*1460))
	drain(s, true)
	assert.Equal(t, 5, s.window.cwnd)
	assert.Equal(t, 5, s.window.ssthresh)
	assert.Equal(t, open, s.state)
}

func TestAShortRecoveryEndsWithTheWindowAtTheThreshold(t *testing.T) {
	s := start(t, 0, Config{Path: &wire{delay: oneWay, drop: dropping(1, 0)}, Congestion: Reno, InitialWindow: 20})
	s.Write(0, text(4*1460))
	drain(s, true)
	assert.Equal(t, 10, s.window.cwnd)
}

func TestTheTimeoutStartsAnewWithTheHead(t *testing.T) {
	w := &wire{delay: oneWay, drop: dropping(3, 0)}
	s := start(t, 0, Config{Path: w, Congestion: Reno})
	s.Write(0, text(10*1460))
	s.Write(110*ms, text(1460)) // tells that the first retransmission is lost
	drain(s, true)
	assert.Equal(t, "100:0.1 210:0.2 510:0.3", w.resendings())
	settle(t, s)
}

func TestATimeoutAfterProgressShrinksTheWindowAgain(t *testing.T) {
	s := start(t, 0, Config{Path: &wire{delay: oneWay, drop: dropping(2, span(0, 6)...)}, Congestion: Reno})
	s.Write(0, text(7*1460))
	s.Advance(1500 * ms)
	assert.Equal(t, 5, s.window.ssthresh)
	s.Advance(1510 * ms)
	assert.Equal(t, 2, s.window.ssthresh)
}

func TestATimeoutShrinksTheWindowOncePerLoss(t *testing.T) {
	s := start(t, 0, Config{Path: &wire{delay: oneWay, drop: dropping(4, 0)}, Congestion: Reno, InitialWindow: 40})
	s.Write(0, text(1460))
	s.Advance(601 * ms)
	assert.Equal(t, 20, s.window.ssthresh)
	s.Advance(2401 * ms)
	assert.Equal(t, 20, s.window.ssthresh, "three timeouts later")
	assert.Equal(t, 1, s.window.cwnd)
}

func TestNothingOvertakes(t *testing.T) {
	w := &wire{delay: oneWay}
	s := start(t, 0, Config{Path: w})
	s.Write(0, text(1000))
	s.Advance(1)
	w.delay = time.Millisecond
	s.Write(10*ms, text(460+1460))
	assert.Zero(t, s.Readable(50*ms-1))
	assert.Equal(t, 50*ms, s.NextRead())
	assert.Equal(t, 2920, s.Read(50*ms, 1<<20))
	settle(t, s)
	assert.Zero(t, s.stats.Resent)
}

func TestTimeout(t *testing.T) {
	r := newRTT(100 * time.Millisecond)
	timeout := func() time.Duration { return r.smooth + r.vary }
	assert.Equal(t, 300*time.Millisecond, timeout(), "from the handshake: SRTT and 4 times half of it")
	long := newRTT(time.Second)
	assert.Equal(t, 3*time.Second, long.smooth+long.vary)
	for i := range int64(100) {
		long.sample(time.Second, 2*i+1, 2*i+2)
	}
	assert.Equal(t, time.Second, long.smooth)
	assert.InDelta(t, 1200, float64(long.smooth+long.vary)/1e6, 1, "steady round trips: SRTT + 200 ms")

	r.sample(500*time.Millisecond, 1, 2)
	assert.Equal(t, 150*time.Millisecond, r.smooth)
	assert.Equal(t, 700*time.Millisecond, timeout(), "3/4 of 200 ms and 400 ms")
	assert.Equal(t, 100*time.Millisecond, r.least)
	wide := r.deviation
	r.sample(0, 1, 2)
	assert.LessOrEqual(t, r.deviation, wide+2*time.Millisecond, "a shorter round trip is no reason for a longer timeout")
}

func TestTheWindowsUseIsMeasuredAnewEachRoundTrip(t *testing.T) {
	w := newWindow(Reno, 10)
	w.ssthresh = 5
	w.used(true, 0, 10)
	w.used(false, 5, 12)
	assert.True(t, w.limiting(), "in the round trip in which it was the limit")
	w.used(false, 10, 13)
	assert.False(t, w.limiting(), "in the next")
	w.ssthresh = unlimited
	w.used(false, 13, 19)
	assert.True(t, w.limiting(), "more than half of it is used, and slow start doubles")
}

func TestCubicExploresWhereNoLossIsKnown(t *testing.T) {
	w := newWindow(Cubic, 100)
	w.ssthresh = 100
	rounds(&w, 0, 1)
	assert.Equal(t, 105, w.cwnd)
}

func TestIdleTimeIsNoTimeToGrowIn(t *testing.T) {
	c := &cubic{start: 5, started: true}
	c.idle(time.Second)
	assert.Equal(t, Instant(5+time.Second), c.start)
	w := newWindow(Cubic, 40)
	w.law = c
	w.restart(time.Second, 300*time.Millisecond)
	assert.Equal(t, Instant(5+2*time.Second), c.start)
	w.ssthresh = 20
	w.restart(time.Second, 300*time.Millisecond)
	assert.Equal(t, 30, w.ssthresh, "three quarters of the window that was")
}
