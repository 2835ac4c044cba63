package origin

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"example.com/wiretest/netlog"
)

// A rest runs out in the very moment in which a request comes and is answered: that
// the timer has fired counts no more, and the next rest is a whole one.
func TestARequestEndsARestThatRanOut(t *testing.T) {
	const after = 50 * time.Millisecond
	i, ended := newIdler(after, false), make(chan time.Time, 1)
	rec := new(netlog.Log).Open(netlog.Connection{})
	i.open(rec, func() { ended <- time.Now() })

	i.mu.Lock()
	<-time.After(after + 20*time.Millisecond) // the timer's function waits for mu
	conn := i.conns[rec]
	conn.wake()
	rested := time.Now()
	i.rest(conn)
	i.mu.Unlock()

	assert.GreaterOrEqual(t, (<-ended).Sub(rested), after)
	i.forget(rec)
}
