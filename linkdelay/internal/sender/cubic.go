package sender

import (
	"math"
	"time"
)

// cubic grows along a cubic function of the time since the last loss, or as an
// additive-increase, multiplicative-decrease control with the same mean window,
// whichever is larger (RFC 9438).
type cubic struct {
	peak    float64 // the window before the last loss; 0 if none is known
	started bool
	start   Instant
	origin  float64 // the plateau of the function
	until   float64 // seconds from start to the plateau
	even    float64 // the window of the additive control
}

const (
	cubicBeta = 0.7 // section 4.6
	cubicC    = 0.4 // section 5
	// Section 4.3: 3 (1 - beta) / (1 + beta).
	cubicAlpha = 3 * (1 - cubicBeta) / (1 + cubicBeta)
	// Where no loss is known, grow by 5 % per round trip at least.
	cubicExplore = 20
)

// threshold also yields to newer flows: a window that did not reach the last
// peak counts for less (section 4.7).
func (c *cubic) threshold(cwnd int) int {
	w := float64(cwnd)
	c.started = false
	if w < c.peak {
		c.peak = w * (1 + cubicBeta) / 2
	} else {
		c.peak = w
	}
	return max(int(w*cubicBeta), minWindow)
}

func (c *cubic) timedOut() { *c = cubic{} }

// idle time is no time to grow in.
func (c *cubic) idle(d time.Duration) {
	if c.started {
		c.start = c.start.add(d)
	}
}

func (c *cubic) acks(now Instant, cwnd, acked int, trip time.Duration) int {
	w := float64(cwnd)
	c.begin(now, w)
	per := 100 * w
	if ahead := c.at(now.since(c.start)+trip) - w; ahead > 0 {
		per = w / ahead
	}
	if c.peak == 0 {
		per = min(per, cubicExplore)
	}
	// The conversion keeps compilers from fusing multiplication and addition:
	// the same window on every processor.
	c.even += float64(cubicAlpha * float64(acked) / w)
	if ahead := c.even - w; ahead > 0 {
		per = min(per, w/ahead)
	}
	return max(int(per), 2)
}

func (c *cubic) begin(now Instant, w float64) {
	if c.started {
		return
	}
	c.started, c.start, c.even = true, now, w
	c.origin, c.until = w, 0
	if w < c.peak {
		c.origin, c.until = c.peak, math.Cbrt((c.peak-w)/cubicC)
	}
}

// at is the window that the function wants at a time after start.
func (c *cubic) at(t time.Duration) float64 {
	x := t.Seconds() - c.until
	return c.origin + float64(cubicC*x*x*x)
}
