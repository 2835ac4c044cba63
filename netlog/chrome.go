package netlog

import (
	"strings"
	"time"

	"example.com/wiretest/netlog/internal/chromefile"
)

type event = chromefile.Event

// The way of a NetLog is from read, by which chromefile splits the bytes into
// events, through the handlers here, which collect, to conclude, which makes a Log
// of that, and what Log.Findings then says of it.

// chrome follows the events of one NetLog. Chromium gives an id to each thing
// that lives (a request, a job, a socket, a session), and an event names at most
// one other thing: how a request came to its connection is found by going from
// one to the next, at the end, since parts of the way may come in any order or
// not at all.
type chrome struct {
	opt      *ReadOptions
	handlers map[string]func(*event)
	counts   map[string]int

	requests map[int64]*chromeRequest
	nodes    map[int64]*node // jobs, controllers, pools: what leads on
	carriers map[int64]*conduit
	sessions map[int64]*session
	checks   map[int64]*certCheck
	udp      map[int64]int64 // of a UDP socket what made it

	attempts []*attempt // in order of their beginning
	stalls   []*chromeStall
	stalled  map[int64]*chromeStall // that go on, by job
	queues   map[int64][]int64      // jobs that wait, by manager
	unsent   []*attempt             // that have a connection and wait for a stream
	sent     map[int64]*attempt     // the last that was sent, by job or by request

	alts   altServices
	speaks map[string][]eventRef // hosts of which the browser knows that they speak h2
	pages  bool                  // there are requests of pages
	last   time.Time             // of an event

	seen int   // events
	kept *kept // records that Log.WriteTo wrote: nothing else is looked at then
}

// eventRef is an event as a witness.
type eventRef struct {
	name   string
	source int64
}

// witness is an event and what it says.
type witness struct {
	eventRef
	says string
}

func refer(e *event) eventRef { return eventRef{e.Name, e.Source.ID} }

func newChrome(opt *ReadOptions) *chrome {
	c := &chrome{
		opt: opt, counts: make(map[string]int), handlers: make(map[string]func(*event)),
		requests: make(map[int64]*chromeRequest), nodes: make(map[int64]*node),
		carriers: make(map[int64]*conduit), sessions: make(map[int64]*session),
		checks: make(map[int64]*certCheck), udp: make(map[int64]int64),
		stalled: make(map[int64]*chromeStall), queues: make(map[int64][]int64),
		sent: make(map[int64]*attempt), speaks: make(map[string][]eventRef),
	}
	for _, add := range []func(){c.onRequests, c.onJobs, c.onSockets, c.onTLS, c.onSessions, c.onQUIC, c.onStalls, c.onAltServices, c.onKept} {
		add()
	}
	return c
}

func (c *chrome) on(name string, do func(*event)) {
	if c.handlers[name] != nil {
		panic("netlog: read: " + name + ": has two readers")
	}
	c.handlers[name] = do
}

func (c *chrome) see(e *event) {
	c.counts[e.Name]++
	c.seen++
	c.last = later(e.Time, c.last)
	if do := c.handlers[e.Name]; do != nil && (c.kept == nil || strings.HasPrefix(e.Name, keptPrefix)) {
		do(e)
	}
}

// later is t, but not before the times of the same thing that come first: the
// clock of events from several threads steps back by milliseconds.
func later(t time.Time, than ...time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	for _, other := range than {
		if other.After(t) {
			t = other
		}
	}
	return t
}
