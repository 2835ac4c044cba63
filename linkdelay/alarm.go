package linkdelay

import "sync"

// alarm is where goroutines wait under a mutex for a change or an instant,
// whichever is first. It has one bell, set for the earliest instant that
// somebody waits for; when several wait, whoever needs it longer sets it again.
type alarm struct {
	clock clock
	cond  *sync.Cond
	bell  bell
	set   instant // when the bell rings; never if it is not set
}

func newAlarm(c clock, mu *sync.Mutex) alarm {
	return alarm{clock: c, cond: sync.NewCond(mu), set: never}
}

// wait returns after the next wake, at until, or for no reason; the caller
// holds the mutex and looks again.
func (a *alarm) wait(until instant) {
	if until < a.set {
		a.arm(until)
	}
	a.cond.Wait()
}

func (a *alarm) arm(at instant) {
	a.set = at
	if a.bell.ring == nil {
		a.bell.ring = a.ring // here: newAlarm returns a copy
	}
	a.clock.set(&a.bell, at)
}

func (a *alarm) ring() {
	a.cond.L.Lock()
	defer a.cond.L.Unlock()
	a.set = never
	a.cond.Broadcast()
}

// wake makes all who wait look again.
func (a *alarm) wake() { a.cond.Broadcast() }

// stop wakes everybody for the last time.
func (a *alarm) stop() {
	a.clock.stop(&a.bell)
	a.set = never
	a.cond.Broadcast()
}
