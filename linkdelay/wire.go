package linkdelay

import (
	"sync"
	"time"
)

// pair is two hosts, in the order of their names.
type pair struct{ a, b string }

func pairOf(one, other string) pair {
	if one > other {
		one, other = other, one
	}
	return pair{one, other}
}

// wire is the Link between two hosts, one lane for each direction. It is the
// same one for as long as the Network lives: what changes is what it does.
type wire struct {
	hosts pair
	lanes [2]lane // from hosts.a, and from hosts.b
}

// lane is one direction of a wire.
type lane struct {
	mu   sync.Mutex
	path Path
}

func newWire(from, to string, link Link) *wire {
	w := &wire{hosts: pairOf(from, to)}
	w.set(from, link)
	return w
}

// set changes the link; Up leads away from the host that is named.
func (w *wire) set(from string, link Link) {
	up, down := w.from(from), w.to(from)
	up.set(link.Up)
	down.set(link.Down)
}

func (w *wire) from(host string) *lane {
	if host == w.hosts.a {
		return &w.lanes[0]
	}
	return &w.lanes[1]
}

func (w *wire) to(host string) *lane {
	if host == w.hosts.a {
		return &w.lanes[1]
	}
	return &w.lanes[0]
}

func (l *lane) set(path Path) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.path = path
}

// delay is how long what is sent now will travel. What is on its way already
// keeps its time.
func (l *lane) delay() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.path.Delay
}
