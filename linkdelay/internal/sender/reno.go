package sender

import "time"

// reno halves on loss and grows by a segment per round trip (RFC 5681).
type reno struct{}

func (reno) threshold(cwnd int) int { return max(cwnd/2, minWindow) }

func (reno) timedOut() {}

func (reno) idle(time.Duration) {}

func (reno) acks(_ Instant, cwnd, _ int, _ time.Duration) int { return cwnd }
