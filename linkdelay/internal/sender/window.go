package sender

import (
	"math"
	"time"
)

// window is the congestion window, in segments.
type window struct {
	law      law // nil is no window
	initial  int
	cwnd     int
	ssthresh int
	count    int // acknowledgements towards one segment more
	prr

	// How far the window was used (RFC 7661, section 4.3, in Linux's way): a
	// window that did not limit anything does not grow.
	limited bool
	most    int   // segments out
	until   int64 // segment whose acknowledgement ends the measurement
}

// law is how the window shrinks, and grows beyond slow start.
type law interface {
	// threshold is the window after a loss.
	threshold(cwnd int) int
	// timedOut forgets, after a timeout.
	timedOut()
	// idle is for how long nothing was sent.
	idle(d time.Duration)
	// acks is how many acknowledgements make the window grow by one segment;
	// acked have just come in.
	acks(now Instant, cwnd, acked int, trip time.Duration) int
}

const (
	unlimited = math.MaxInt32
	minWindow = 2
)

func newWindow(c Congestion, initial int) window {
	w := window{initial: initial, cwnd: initial, ssthresh: unlimited}
	switch c {
	case Cubic:
		w.law = &cubic{}
	case Reno:
		w.law = reno{}
	case NoWindow:
		w.cwnd = unlimited
	}
	return w
}

func (w *window) setWindow(segments int) {
	if w.law != nil {
		w.cwnd = segments
	}
}

func (w *window) slowStart() bool { return w.cwnd < w.ssthresh }

// collapse begins a reduction: it sets what the window is to become.
func (w *window) collapse() {
	w.count = 0
	w.prr = prr{before: w.cwnd}
	if w.law != nil {
		w.ssthresh = w.law.threshold(w.cwnd)
	}
}

// timedOut leaves room for one segment, the first.
func (w *window) timedOut(pipe int) {
	w.count = 0
	if w.law != nil {
		w.cwnd = pipe + 1
		w.law.timedOut()
	}
}

// used notes whether the window limited a round of sending.
func (w *window) used(limited bool, una, nxt int64) {
	out := int(nxt - una)
	if una >= w.until || limited || !w.limited && out > w.most {
		w.limited, w.most, w.until = limited, out, nxt
	}
}

// limiting says that the window is the limit. In slow start it may be twice of
// what was used, so that it doubles.
func (w *window) limiting() bool {
	return w.limited || w.slowStart() && w.cwnd < 2*w.most
}

// grow takes segments that were acknowledged in order.
func (w *window) grow(now Instant, acked int, trip time.Duration) {
	if w.law == nil || !w.limiting() {
		return
	}
	if w.slowStart() {
		to := min(w.cwnd+acked, w.ssthresh)
		acked -= to - w.cwnd
		w.cwnd = to
	}
	if acked > 0 {
		w.avoid(acked, max(1, w.law.acks(now, w.cwnd, acked, trip)))
	}
}

// avoid is congestion avoidance: one segment more for so many acknowledged.
func (w *window) avoid(acked, acks int) {
	if w.count >= acks {
		w.count = 0
		w.cwnd++
	}
	w.count += acked
	w.cwnd += w.count / acks
	w.count %= acks
}

// restart halves the window for each timeout that the connection was idle, to
// no less than the initial one.
func (w *window) restart(idle, timeout time.Duration) {
	if w.law == nil {
		return
	}
	w.law.idle(idle)
	w.ssthresh = max(w.ssthresh, w.cwnd/4*3)
	least := min(w.initial, w.cwnd)
	for ; idle > timeout && w.cwnd > least; idle -= timeout {
		w.cwnd /= 2
	}
	w.cwnd = max(w.cwnd, least)
}
