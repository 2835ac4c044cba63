package mitm

import (
	"sync"
	"time"
)

// deadline is one of a net.Conn's.
type deadline struct {
	mu     sync.Mutex // never held while blocking
	timer  *time.Timer
	passed chan struct{} // closed when it has
	hook   func()        // called then; nil is nothing
}

func newDeadline(hook func()) *deadline {
	return &deadline{passed: make(chan struct{}), hook: hook}
}

// set moves it; the zero time is never.
func (d *deadline) set(at time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
	if isClosed(d.passed) {
		d.passed = make(chan struct{})
	}
	if at.IsZero() {
		return
	}
	passed := d.passed
	pass := func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if passed == d.passed && !isClosed(passed) {
			close(passed)
			if d.hook != nil {
				go d.hook() // which may wait for whom it interrupts
			}
		}
	}
	if left := time.Until(at); left > 0 {
		d.timer = time.AfterFunc(left, pass)
		return
	}
	close(passed)
	if d.hook != nil {
		go d.hook()
	}
}

func (d *deadline) wait() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.passed
}
