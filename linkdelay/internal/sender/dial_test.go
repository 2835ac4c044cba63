package sender

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestDial(t *testing.T) {
	for _, c := range []struct {
		name               string
		syns, answers      int // lost, from the first
		established        Instant
		resent, windowOf10 int
	}{
		{"nothing lost", 0, 0, 100 * ms, 0, 10},
		{"the SYN", 1, 0, 1100 * ms, 1, 10},
		{"the SYN twice", 2, 0, 3100 * ms, 2, 1},
		{"the SYN three times", 3, 0, 7100 * ms, 3, 1},
		{"the SYN-ACK", 0, 1, 1100 * ms, 2, 1}, // both ends send again
		{"the SYN-ACK twice", 0, 2, 3100 * ms, 4, 1},
		{"the SYN and the SYN-ACK", 1, 1, 2100 * ms, 2, 1}, // the listener's second one is quicker
	} {
		there := &wire{delay: oneWay, drop: func(s Segment) bool { return s.Attempt < c.syns }}
		back := &wire{delay: oneWay, drop: func(s Segment) bool { return s.Attempt < c.answers }}
		d, ok := dialled(0, there, back)
		assert.True(t, ok, c.name)
		assert.Equal(t, Dialled{c.established, c.established + 50*ms, 2 * oneWay, c.resent}, d, c.name)
		assert.Equal(t, c.windowOf10, d.Window(10), c.name)
	}
}

func TestDiallingGivesUp(t *testing.T) {
	nothing := func(Segment) bool { return true }
	there := &wire{delay: oneWay, drop: nothing}
	d, ok := dialled(5*ms, there, &wire{delay: oneWay})
	assert.False(t, ok)
	assert.Equal(t, 5*ms+Instant(127*time.Second), d.Established)
	assert.Equal(t, Never, d.Accepted)
	assert.Len(t, there.sent, 7)

	back := &wire{delay: oneWay, drop: nothing}
	d, ok = dialled(0, &wire{delay: oneWay}, back)
	assert.False(t, ok)
	assert.Equal(t, Instant(127*time.Second), d.Established)
	assert.Len(t, back.sent, 6, "the listener gives up earlier")
}

func TestDialOverADelayOfSeconds(t *testing.T) {
	there, back := &wire{delay: 5 * time.Second}, &wire{delay: 2 * time.Second}
	d, ok := dialled(0, there, back)
	assert.True(t, ok)
	assert.Equal(t, Instant(7*time.Second), d.Established)
	assert.Equal(t, 7*time.Second, d.RTT)
	assert.Len(t, there.sent, 3, "at 0, 1 and 3 s")
}
