package linkdelay

import (
	"container/heap"
	"sync"
	"time"
)

// bell rings once at an instant, unless it is set again or stopped before. It
// may ring for nothing: whoever hears it looks at the clock.
type bell struct {
	ring  func()
	timer *time.Timer // without a waker
	at    instant     // with one
	index int         // in the waker's heap, counted from 1; 0 is not in it
}

// set makes b ring at an instant.
func (c clock) set(b *bell, at instant) {
	if c.waker != nil && c.waker.set(b, at) {
		return
	}
	left := time.Duration(at - c.now())
	if b.timer == nil {
		b.timer = time.AfterFunc(left, b.ring)
		return
	}
	b.timer.Reset(left)
}

// stop keeps b from ringing, unless it is about to.
func (c clock) stop(b *bell) {
	if c.waker != nil {
		c.waker.stop(b)
	}
	if b.timer != nil {
		b.timer.Stop()
	}
}

// waker rings bells in real time, closer to their instant than Go's timers,
// which wait in the network poller by whole milliseconds where the system's
// epoll does. It has one timer of the system, and one goroutine that waits for
// it: started by the first bell, ended by close, which waits for it.
type waker struct {
	clock clock // without a waker
	done  sync.WaitGroup

	mu     sync.Mutex
	timer  preciseTimer // nil until the first bell
	bells  bellHeap
	closed bool
}

// set is false if the waker cannot ring (any more).
func (w *waker) set(b *bell, at instant) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.start() {
		return false
	}
	b.at = at
	if b.index == 0 {
		heap.Push(&w.bells, b)
	} else {
		heap.Fix(&w.bells, b.index-1)
	}
	if w.bells[0] == b {
		w.timer.set(time.Duration(at - w.clock.now()))
	}
	return true
}

func (w *waker) start() bool {
	if w.closed {
		return false
	}
	if w.timer != nil {
		return true
	}
	timer, err := newPreciseTimer()
	if err != nil { // this system has none, or no descriptor is left
		w.closed = true
		return false
	}
	w.timer = timer
	w.done.Go(w.run)
	return true
}

func (w *waker) stop(b *bell) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if b.index > 0 {
		heap.Remove(&w.bells, b.index-1)
	}
}

func (w *waker) run() {
	var due []*bell
	for w.timer.wait() == nil {
		due = w.take(due[:0])
		for _, b := range due {
			b.ring()
		}
		clear(due)
	}
}

// take removes the bells that are due, and sets the timer for the next.
func (w *waker) take(due []*bell) []*bell {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.clock.now()
	for len(w.bells) > 0 && w.bells[0].at <= now {
		due = append(due, heap.Pop(&w.bells).(*bell))
	}
	if len(w.bells) > 0 {
		w.timer.set(time.Duration(w.bells[0].at - now))
	}
	return due
}

// close ends the goroutine; later bells go by Go's timers.
func (w *waker) close() {
	w.mu.Lock()
	started := w.timer != nil && !w.closed
	w.closed = true
	w.mu.Unlock()
	if started {
		w.timer.close()
	}
	w.done.Wait()
}

// bellHeap has the earliest bell first. Equal instants may ring in any order:
// what they wake looks at its own queue.
type bellHeap []*bell

func (h bellHeap) Len() int           { return len(h) }
func (h bellHeap) Less(i, j int) bool { return h[i].at < h[j].at }

func (h bellHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i+1, j+1
}

func (h *bellHeap) Push(x any) {
	b := x.(*bell)
	*h = append(*h, b)
	b.index = len(*h)
}

func (h *bellHeap) Pop() any {
	last := len(*h) - 1
	b := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	b.index = 0
	return b
}

// preciseTimer is a timer of the system. Its methods may be called at once.
type preciseTimer interface {
	set(time.Duration)
	wait() error // returns when it has rung, or with an error once closed
	close()
}
