package sender

import (
	"math"
	"time"
)

// cubic grows along a cubic function of the time since the last loss, or as an
// additive-increase, multiplicative-decrease control with the same mean window,
// whichever is larger (RFC 9438).
type cubic struct {
	peak    int // the window before the last loss; 0 if none is known
	started bool
	start   Instant
	origin  int     // the plateau of the function
	until   float64 // seconds from start to the plateau
	even    int     // the window of the additive control
	credit  int     // acknowledgements towards one segment more of it
}

const (
	cubicC     = 0.4 // RFC 9438, section 5
	cubicScale = 10
	cubicBeta  = 7 // in tenths (section 4.6)
	// Section 4.3: the additive control gains 3 (1 - beta) / (1 + beta) of a
	// segment for a window that is acknowledged, which is 9 for 17 windows.
	cubicAlpha = 3 * (cubicScale - cubicBeta)
	cubicStep  = cubicScale + cubicBeta
	// Where no loss is known, grow by 5 % per round trip at least.
	cubicExplore = 20
)

// threshold also yields to newer flows: a window that did not reach the last
// peak counts for less (section 4.7).
func (c *cubic) threshold(cwnd int) int {
	c.started = false
	if cwnd < c.peak {
		c.peak = cwnd * (cubicScale + cubicBeta) / (2 * cubicScale)
	} else {
		c.peak = cwnd
	}
	return max(cwnd*cubicBeta/cubicScale, minWindow)
}

func (c *cubic) timedOut() { *c = cubic{} }

// idle time is no time to grow in.
func (c *cubic) idle(d time.Duration) {
	if c.started {
		c.start = c.start.add(d)
	}
}

// acks works in whole segments, as Linux does: that costs a segment or two, and
// a small window notices.
func (c *cubic) acks(now Instant, cwnd, acked int, trip time.Duration) int {
	c.begin(now, cwnd)
	per := 100 * cwnd
	if ahead := c.at(now.since(c.start)+trip) - cwnd; ahead > 0 {
		per = cwnd / ahead
	}
	if c.peak == 0 {
		per = min(per, cubicExplore)
	}
	if ahead := c.additive(cwnd, acked) - cwnd; ahead > 0 {
		per = min(per, cwnd/ahead)
	}
	return max(per, 2)
}

func (c *cubic) begin(now Instant, cwnd int) {
	if c.started {
		return
	}
	c.started, c.start, c.even, c.credit = true, now, cwnd, 0
	c.origin, c.until = max(cwnd, c.peak), 0
	if cwnd < c.peak {
		c.until = math.Cbrt(float64(c.peak-cwnd) / cubicC)
	}
}

// at is the window that the function wants at a time after start.
func (c *cubic) at(t time.Duration) int {
	x := t.Seconds() - c.until
	return c.origin + int(cubicC*x*x*x)
}

// additive is the window that the additive control would have by now.
func (c *cubic) additive(cwnd, acked int) int {
	c.credit += acked
	for step := max(1, cwnd*cubicStep/cubicAlpha); c.credit > step; c.credit -= step {
		c.even++
	}
	return c.even
}
