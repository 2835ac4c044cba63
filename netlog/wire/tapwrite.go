package wire

import "sync/atomic"

// Write writes to the connection below.
func (t *Tap) Write(p []byte) (int, error) {
	t.writing.hold()
	defer t.letWrite()
	b, changed := t.willWrite(p)
	if !changed {
		n, err := t.Conn.Write(p)
		t.didWrite(len(p), n, err)
		return n, err
	}
	if err := t.writeOwn(b); err != nil {
		return 0, err
	}
	return len(p), nil
}

// willWrite lets the parser see p before the peer can answer it, or what the
// interposer makes of it.
func (t *Tap) willWrite(p []byte) (b []byte, changed bool) {
	t.mu.Lock()
	out := t.outgoing()
	if ip := t.ip.Load(); ip != nil && out.ahead == 0 {
		b, changed = ip.out.transform(p), true
		out.count(len(b))
		ip.settle()
	} else if t.mute && t.isUnwanted(p) {
		changed = true
	} else {
		seen := min(out.ahead, len(p))
		out.ahead -= seen
		out.feed(p[seen:])
		out.count(len(p))
	}
	later := t.takeLater()
	t.mu.Unlock()
	later()
	return b, changed
}

// isUnwanted reports whether p is a 100 of HTTP/1.1 that is not to be sent.
// net/http's server writes it by itself.
func (t *Tap) isUnwanted(p []byte) bool {
	x := t.h1.current()
	return x != nil && x.noContinue && string(p) == "HTTP/1.1 100 Continue\r\n\r\n"
}

// didWrite corrects what willWrite took for granted. The parser has seen all
// of the bytes; those that were not written are expected again.
func (t *Tap) didWrite(asked, n int, err error) {
	if n == asked && err == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	out := t.outgoing()
	out.count(n - asked)
	out.ahead += asked - n
	if err != nil {
		t.writeFailed(err)
	}
}

// writeOwn writes what the interposer has made. If that fails, nobody writes
// the rest.
func (t *Tap) writeOwn(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	n, err := t.Conn.Write(b)
	if err == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.outgoing().count(n - len(b))
	t.writeFailed(err)
	return err
}

// letWrite lets others write. What they put in meanwhile is for this one, or
// for them.
func (t *Tap) letWrite() {
	t.writing.release()
	t.kick()
	t.callWritten()
}

// onceWritten has f called when what has passed the parser was written. It is
// called with mu held, by who writes.
func (t *Tap) onceWritten(f func()) {
	t.written = append(t.written, f)
	t.waited.Store(true)
}

func (t *Tap) callWritten() {
	if !t.waited.Load() {
		return
	}
	t.mu.Lock()
	t.waited.Store(false)
	all := t.written
	t.written = nil
	t.mu.Unlock()
	for _, f := range all {
		f()
	}
}

// kick writes what was put in, unless somebody writes just now, who then does.
// What cannot be put in yet waits for the write that ends the frame.
func (t *Tap) kick() {
	for t.queued.Load() && t.writing.try() {
		t.mu.Lock()
		var b []byte
		if t.outgoing().ahead == 0 {
			b = t.ip.Load().out.flush()
			t.outgoing().count(len(b))
			t.ip.Load().settle()
		}
		later := t.takeLater()
		t.mu.Unlock()
		later()
		t.writeOwn(b)
		t.writing.release()
		t.callWritten()
	}
}

// pen is held by who writes. Its owner waits for it by a channel, so that
// virtual time goes on; others only try.
type pen struct {
	state atomic.Int32
	freed chan struct{}
}

const (
	penFree = iota
	penHeld
	penAwaited // held, and the owner waits
)

func newPen() pen { return pen{freed: make(chan struct{}, 1)} }

func (p *pen) try() bool { return p.state.CompareAndSwap(penFree, penHeld) }

// hold is for the owner, of whom there is one.
func (p *pen) hold() {
	for !p.try() {
		if p.state.CompareAndSwap(penHeld, penAwaited) {
			<-p.freed
		}
	}
}

func (p *pen) release() {
	if p.state.Swap(penFree) == penAwaited {
		p.freed <- struct{}{}
	}
}
