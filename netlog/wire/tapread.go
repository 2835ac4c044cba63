package wire

import (
	"io"
	"sync"
	"time"
)

// Read reads from the connection below.
func (t *Tap) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return t.Conn.Read(p)
	}
	for {
		n, err := t.readSome(p)
		if n > 0 || err != nil {
			return n, err
		}
	}
}

// readSome returns nothing where a part of a frame header is held back.
func (t *Tap) readSome(p []byte) (int, error) {
	if t.deaf.Load() {
		return 0, io.EOF
	}
	if n := t.edit.flush(p); n > 0 {
		return n, nil
	}
	n, framed := t.takeIn(p)
	if n == 0 {
		if err := t.failed; err != nil {
			return t.readEnds(p, err)
		}
		n, framed = t.readMore(p)
	}
	return t.edit.push(p, n, framed), nil
}

// readMore reads what there is, lets it be recorded, and keeps the error for
// when all was given. Its second result is how many bytes stand before what is
// not understood.
func (t *Tap) readMore(p []byte) (n, framed int) {
	n, err := t.Conn.Read(p)
	if err != nil && isTimeout(err) && t.alarm.wasRung(t.Conn) {
		err = nil
	}
	t.failed = err
	return t.didRead(p, n, err)
}

// readEnds gives the error, behind what was held back for something that will
// not follow anymore.
func (t *Tap) readEnds(p []byte, err error) (int, error) {
	if !isTimeout(err) && t.edit.stop() {
		return t.edit.flush(p), nil
	}
	t.failed = nil
	return 0, err
}

// takeIn gives what the interposer has for net/http.
func (t *Tap) takeIn(p []byte) (n, framed int) {
	ip := t.ip.Load()
	if ip == nil {
		return 0, 0
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return ip.in.take(p)
}

// didRead records the n bytes that were read into p, and returns how many are
// in p when the interposer has seen them, and how many of these stand before
// what the parser could not follow.
func (t *Tap) didRead(p []byte, n int, err error) (int, int) {
	t.mu.Lock()
	in := t.incoming()
	if n > 0 {
		in.count(n)
	}
	if t.deaf.Load() {
		n = 0 // what came meanwhile
	}
	in.feed(p[:n])
	if err != nil {
		t.readFailed(err)
	}
	framed := in.followed(n)
	if ip := t.ip.Load(); ip != nil {
		n, framed = ip.read(p, n, framed, err)
	}
	later := t.takeLater()
	t.mu.Unlock()
	later()
	return n, framed
}

// read changes what was read into p.
func (ip *interposer) read(p []byte, n, framed int, err error) (int, int) {
	ip.in.push(p[:framed])
	if framed < n || err != nil && !isTimeout(err) {
		ip.in.giveUp()
	}
	ip.in.push(p[framed:n])
	ip.settle()
	return ip.in.take(p)
}

// alarm interrupts a Read, so that something else than the peer's bytes can be
// read. It borrows the deadline of the connection below, which is its owner's.
type alarm struct {
	mu    sync.Mutex // never held while blocking
	owner time.Time
	rung  bool
}

// wake has the Read that runs, or the next one, look for what was put in.
func (t *Tap) wake() {
	t.alarm.mu.Lock()
	defer t.alarm.mu.Unlock()
	t.alarm.rung = true
	t.Conn.SetReadDeadline(time.Unix(1, 0))
}

// wasRung reports whether a timeout was the alarm's, and puts the owner's
// deadline back.
func (a *alarm) wasRung(conn interface{ SetReadDeadline(time.Time) error }) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.rung {
		return false
	}
	a.rung = false
	conn.SetReadDeadline(a.owner)
	return true
}

// SetReadDeadline is as for any net.Conn.
func (t *Tap) SetReadDeadline(at time.Time) error {
	t.alarm.mu.Lock()
	defer t.alarm.mu.Unlock()
	t.alarm.owner = at
	if t.alarm.rung {
		return nil // Read will set it
	}
	return t.Conn.SetReadDeadline(at)
}

// SetDeadline is as for any net.Conn.
func (t *Tap) SetDeadline(at time.Time) error {
	if err := t.SetReadDeadline(at); err != nil {
		return err
	}
	return t.Conn.SetWriteDeadline(at)
}
