package wire

import (
	"slices"
	"sync/atomic"
)

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
	seen := min(out.ahead, len(p))
	out.ahead -= seen
	switch ip := t.ip.Load(); {
	case ip != nil:
		b, changed = ip.out.transform(p[seen:]), true
		if seen > 0 {
			b = slices.Concat(p[:seen], b)
		}
		out.count(len(b))
		ip.settle()
	case t.mute && t.isUnwanted(p):
		changed = true
	default:
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
	written := t.takeWritten()
	t.writing.release()
	written()
	t.kick()
}

// onceWritten has f called when what has passed the parser was written. It is
// called with mu held, by who writes.
func (t *Tap) onceWritten(f func()) {
	t.written = append(t.written, f)
	t.waited.Store(true)
}

// takeWritten returns what is to be called when others may write. Who takes it
// still holds the pen, so nothing of it waits for a write to come.
func (t *Tap) takeWritten() func() {
	if !t.waited.Load() {
		return func() {}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.waited.Store(false)
	all := t.written
	t.written = nil
	return func() { callAll(all) }
}

func callAll(all []func()) {
	for _, f := range all {
		f()
	}
}

// kick writes what was put in, and calls what waits for a write to end, unless
// somebody writes just now, who then does. What cannot be put in yet waits for
// the write that ends the frame.
func (t *Tap) kick() {
	for {
		written := t.writePut()
		if written == nil {
			return
		}
		written()
	}
}

// writePut writes once what was put in, and returns what is then to be called; nil
// where there is nothing to do, or somebody writes just now.
func (t *Tap) writePut() (written func()) {
	if !t.queued.Load() && !t.waited.Load() || !t.writing.try() {
		return nil
	}
	t.writeQueue()
	written = t.takeWritten()
	t.writing.release()
	return written
}

func (t *Tap) writeQueue() {
	t.mu.Lock()
	ip := t.ip.Load()
	t.queued.Store(false)
	if ip == nil || t.outgoing().ahead > 0 {
		t.mu.Unlock()
		return
	}
	b := ip.out.flush()
	t.outgoing().count(len(b))
	ip.settle()
	later := t.takeLater()
	t.mu.Unlock()
	later()
	t.writeOwn(b)
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
