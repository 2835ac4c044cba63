package linkdelay

import (
	"net"
	"os"
	"sync"
	"time"
)

// queueLimit is how many datagrams wait for their receiver to read them before
// more are dropped.
const queueLimit = 4096

// mailbox is where the datagrams for one port of one host travel and wait. It
// is there before and after the socket that reads it, since a datagram finds
// out only on arrival whether somebody listens. Its mutex is taken after those
// of wires.
type mailbox struct {
	clock clock

	mu       sync.Mutex
	alarm    alarm
	coming   schedule[datagram]
	held     schedule[datagram] // what comes over lanes that are paused
	arrived  queue[datagram]
	owner    any  // who reads it; nil is nobody
	draining bool // nothing is sent any more: ends for its owner once it is empty
	deadline instant
	spare    [][]byte
	dropped  drops
}

type datagram struct {
	way  *way
	from net.Addr
	data []byte
	due  instant
	rank int // among those of the way, from 1
}

// drops counts datagrams by the cause of their loss.
type drops struct {
	nobody   uint64 // the port was closed when they arrived
	overflow uint64 // their receiver did not read
}

func newMailbox(c clock) *mailbox {
	b := &mailbox{clock: c, deadline: never}
	b.alarm = newAlarm(c, &b.mu)
	return b
}

// taken reports whether a socket is bound to the port.
func (b *mailbox) taken() bool {
	if b == nil {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.owner != nil
}

func (b *mailbox) bind(owner any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.advance(b.clock.now())
	b.owner, b.deadline, b.draining = owner, never, false
}

func (b *mailbox) unbind() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.advance(b.clock.now())
	b.owner = nil
	b.arrived = queue[datagram]{}
	b.spare = nil
	b.alarm.stop()
}

// drain lets the owner receive what is on its way, and then net.ErrClosed.
func (b *mailbox) drain() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.draining = true
	b.alarm.wake()
}

// post sends a copy of p, which arrives at an instant, or when it is released
// if it is held. A bit that is not negative is turned over.
func (b *mailbox) post(at instant, w *way, from net.Addr, p []byte, rank int, held bool, bit int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.advance(b.clock.now())
	d := datagram{way: w, from: from, data: b.copy(p), due: at, rank: rank}
	if bit >= 0 {
		d.data[bit/8] ^= 1 << (bit % 8)
	}
	w.met.coming.add(1, len(p))
	if held {
		b.held.add(at, d)
		return
	}
	first := b.coming.next()
	b.coming.add(at, d)
	if at < first {
		b.alarm.wake()
	}
}

// advance plays what has happened up to now. Whatever looks at the mailbox does
// so first, hence each datagram meets the mailbox as it was when it arrived.
func (b *mailbox) advance(now instant) {
	for b.coming.next() <= now {
		b.arrive(b.coming.pop())
	}
}

func (b *mailbox) arrive(d datagram) {
	size, met := len(d.data), &d.way.met
	met.coming.take(1, size)
	switch {
	case b.owner == nil:
		b.dropped.nobody++
		b.lose(d, noReceiver, &met.noReceiver)
	case b.arrived.len() == queueLimit:
		b.dropped.overflow++
		b.lose(d, unread, &met.unread)
	default:
		met.delivered.add(1, size)
		met.largestDelivered = max(met.largestDelivered, size)
		b.arrived.push(d)
	}
}

func (b *mailbox) lose(d datagram, why cause, count *Count) {
	count.add(1, len(d.data))
	d.way.met.largestDropped = max(d.way.met.largestDropped, len(d.data))
	d.way.note(d.due, why, len(d.data), d.rank, 0)
	b.recycle(d.data)
}

// withdraw takes the datagrams of a way back that have not arrived by now.
func (b *mailbox) withdraw(w *way, now instant, each func(*datagram)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.advance(now)
	for _, s := range []*schedule[datagram]{&b.coming, &b.held} {
		s.remove(func(d *due[datagram]) bool {
			if d.what.way != w {
				return false
			}
			w.met.coming.take(1, len(d.what.data))
			each(&d.what)
			b.recycle(d.what.data)
			return true
		})
	}
	b.alarm.wake() // who drains may have nothing left to wait for
}

// hold keeps the datagrams of a way that have not arrived by now, and release
// lets them go, at now if they are late.
func (b *mailbox) hold(w *way, now instant) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.advance(now)
	move(&b.coming, &b.held, w, 0)
}

func (b *mailbox) release(w *way, now instant) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.advance(now)
	move(&b.held, &b.coming, w, now)
	b.alarm.wake()
}

// move keeps the order of what it moves.
func move(from, to *schedule[datagram], w *way, earliest instant) {
	var mine schedule[datagram]
	from.remove(func(d *due[datagram]) bool {
		if d.what.way != w {
			return false
		}
		mine.heap = append(mine.heap, *d)
		return true
	})
	for _, d := range mine.sorted() {
		d.what.due = max(d.at, earliest)
		to.add(d.what.due, d.what)
	}
}

// receive copies the next datagram into p; what does not fit is lost.
func (b *mailbox) receive(owner any, p []byte) (int, net.Addr, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	waited := false
	for {
		now := b.clock.now()
		b.advance(now)
		switch {
		case b.owner != owner: // perhaps the next one on the same port
			return 0, nil, net.ErrClosed
		case now >= b.deadline:
			return 0, nil, os.ErrDeadlineExceeded
		case b.arrived.len() > 0:
			d := b.arrived.pop()
			if waited {
				d.way.lane.late.note(time.Duration(now - d.due))
			}
			n := copy(p, d.data)
			b.recycle(d.data)
			return n, d.from, nil
		case b.draining && b.coming.len()+b.held.len() == 0:
			return 0, nil, net.ErrClosed
		}
		waited = true
		b.alarm.wait(min(b.coming.next(), b.deadline))
	}
}

func (b *mailbox) setDeadline(owner any, t time.Time) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.owner != owner {
		return net.ErrClosed
	}
	b.deadline = b.clock.at(t)
	b.alarm.wake()
	return nil
}

// copy uses the memory of datagrams that were read before.
func (b *mailbox) copy(p []byte) []byte {
	if last := len(b.spare) - 1; last >= 0 {
		buf := b.spare[last]
		b.spare = b.spare[:last]
		return append(buf[:0], p...)
	}
	const usual = 1536 // fits an Ethernet frame
	return append(make([]byte, 0, max(len(p), usual)), p...)
}

func (b *mailbox) recycle(buf []byte) {
	if len(b.spare) < queueLimit {
		b.spare = append(b.spare, buf)
	}
}
