package netlog

import (
	"time"

	"example.com/wiretest/netlog/internal/chromefile"
)

// chromeStall is a wait for a limit. Chromium says when one begins, and says it
// again whenever it looks whether it goes on.
type chromeStall struct {
	kind       string
	ref        eventRef
	times      int   // that it was said
	job        int64 // that waits; 0 where the request itself does
	session    int64 // that is full
	waiter     *attempt
	start, end time.Time
}

// stallFacts are what is known of a stall beside itself.
type stallFacts struct {
	ref     eventRef
	times   int
	carrier *ConnectionRecord // that is full
}

func (c *chrome) onStalls() {
	for name, kind := range map[string]string{
		chromefile.PoolStalledGroup: StalledMaxSocketsPerGroup,
		chromefile.PoolStalled:      StalledMaxSockets,
	} {
		c.on(name, func(e *event) { c.poolStalled(e, kind) })
	}
	c.on(chromefile.SocketPool, c.jobWaited)
	c.on(chromefile.PoolJobAlive, c.jobWaited)
	c.on(chromefile.PoolCanAttempt, c.canAttempt)
	c.on(chromefile.H2Stalled, c.streamStalled)
}

// poolStalled is said by the job that waits.
func (c *chrome) poolStalled(e *event, kind string) {
	if s := c.waiting(e.Source.ID); s != nil {
		s.times++
		return
	}
	c.stall(&chromeStall{kind: kind, ref: refer(e), times: 1, job: e.Source.ID, start: e.Time})
}

func (c *chrome) stall(s *chromeStall) {
	c.stalls = append(c.stalls, s)
	if s.job != 0 {
		c.stalled[s.job] = s
	}
}

// waiting is the stall of a job that goes on.
func (c *chrome) waiting(job int64) *chromeStall { return c.stalled[job] }

// jobWaited ends the wait of a job: it has a connection, or wants none any more.
func (c *chrome) jobWaited(e *event) {
	if e.Phase != chromefile.End {
		return
	}
	if s := c.waiting(e.Source.ID); s != nil {
		s.end = e.Time
		delete(c.stalled, e.Source.ID)
	}
	if n := c.nodes[e.Source.ID]; n != nil && n.manager != 0 {
		c.dequeue(n.manager, e.Source.ID)
	}
}

// enqueue notes that a job of the HttpStreamPool waits for a manager.
func (c *chrome) enqueue(manager, job int64) { c.queues[manager] = append(c.queues[manager], job) }

func (c *chrome) dequeue(manager, job int64) {
	queue := c.queues[manager]
	for i, one := range queue {
		if one == job {
			c.queues[manager] = append(queue[:i:i], queue[i+1:]...)
			return
		}
	}
}

// canAttempt is said by a manager that looks whether it may open one connection
// more, when a job has come. The job that came last waits, if it does not yet.
func (c *chrome) canAttempt(e *event) {
	const groupLimit, poolLimit = 4, 5 // of CanAttemptResult
	kind := ""
	switch answer, _ := e.Params.Int("can_attempt"); answer {
	case groupLimit:
		kind = StalledPoolGroup
	case poolLimit:
		kind = StalledPool
	default:
		return
	}
	queue := c.queues[e.Source.ID]
	for i := len(queue) - 1; i >= 0; i-- {
		if c.waiting(queue[i]) == nil {
			c.stall(&chromeStall{kind: kind, ref: refer(e), times: 1, job: queue[i], start: e.Time})
			return
		}
	}
}

// streamStalled is said by a session, with the URL. The request is one that has
// this session and was not sent: the last that does not wait yet, or else the
// first of those that do.
func (c *chrome) streamStalled(e *event) {
	url := urlOf(e.Params)
	var again *chromeStall
	for i := len(c.unsent) - 1; i >= 0; i-- {
		a := c.unsent[i]
		if url != "" && a.url != url || c.sessionOf(a) != e.Source.ID {
			continue
		}
		if a.stalled == nil {
			a.stalled = &chromeStall{kind: StalledMaxStreams, ref: refer(e), times: 1, session: e.Source.ID, waiter: a, start: e.Time}
			c.stall(a.stalled)
			return
		}
		again = a.stalled
	}
	if again != nil {
		again.times++
	}
}

// leavesQueue notes that the request waits no more: it was sent, or is over.
func (c *chrome) leavesQueue(a *attempt, t time.Time) {
	if s := a.stalled; s != nil && s.end.IsZero() {
		s.end = t
	}
	for i, one := range c.unsent {
		if one == a {
			c.unsent = append(c.unsent[:i], c.unsent[i+1:]...)
			return
		}
	}
}
