package sender

import "time"

// rtt estimates the round trip as Linux does, which is RFC 6298 with three
// differences: the deviation is smoothed per round trip, falls slowly when round
// trips get shorter, and never counts as less than minTimeout / 4.
type rtt struct {
	smooth    time.Duration // SRTT
	deviation time.Duration // 4 times the mean deviation
	worst     time.Duration // largest deviation of this round trip
	vary      time.Duration // 4 RTTVAR
	roundEnd  int64         // segment whose acknowledgement ends this round trip
	least     time.Duration // smallest sample, for RACK
}

const minTimeout = 200 * time.Millisecond

// newRTT starts with the handshake's sample, SRTT = RTT and RTTVAR = RTT/2.
func newRTT(sample time.Duration) rtt {
	vary := max(2*sample, minTimeout)
	return rtt{smooth: sample, deviation: 2 * sample, worst: vary, vary: vary, least: sample}
}

// sample takes a round trip that an acknowledgement measured; una and nxt are
// the segments out after it.
func (r *rtt) sample(trip time.Duration, una, nxt int64) {
	r.least = min(r.least, trip)
	off := trip - r.smooth
	r.smooth += off / 8
	r.deviation += r.change(off)
	r.worst = max(r.worst, r.deviation)
	r.vary = max(r.vary, r.worst)
	if una <= r.roundEnd {
		return
	}
	r.vary -= max(r.vary-r.worst, 0) / 4
	r.roundEnd, r.worst = nxt, minTimeout
}

// change is by how much the deviation changes. A sample far below the average
// hardly widens it: shorter round trips are no reason for a longer timeout.
func (r *rtt) change(off time.Duration) time.Duration {
	if off >= 0 {
		return off - r.deviation/4
	}
	if d := -off - r.deviation/4; d <= 0 {
		return d
	} else {
		return d / 8
	}
}
