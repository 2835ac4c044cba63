package sender

import (
	"math"
	"time"
)

// Instant is a point in time in nanoseconds, counted from whenever the caller
// likes. The model reads no clock.
type Instant int64

// Never is after every other instant.
const Never Instant = math.MaxInt64

// add stops at Never instead of wrapping around.
func (i Instant) add(d time.Duration) Instant {
	if sum := i + Instant(d); sum >= i {
		return sum
	}
	return Never
}

func (i Instant) since(earlier Instant) time.Duration { return time.Duration(i - earlier) }
