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
// out only on arrival whether somebody listens.
type mailbox struct {
	clock clock

	mu       sync.Mutex
	alarm    alarm
	coming   schedule[datagram]
	arrived  queue[datagram]
	owner    any  // who reads it; nil is nobody
	draining bool // nothing is sent any more: ends for its owner once it is empty
	deadline instant
	spare    [][]byte
	dropped  drops
}

type datagram struct {
	from *Addr
	data []byte
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

// post sends a copy of p, which arrives at an instant; false is that the
// mailbox is draining.
func (b *mailbox) post(at instant, from *Addr, p []byte) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.draining {
		return false
	}
	b.advance(b.clock.now())
	first := b.coming.next()
	b.coming.add(at, datagram{from, b.copy(p)})
	if at < first {
		b.alarm.wake()
	}
	return true
}

// advance plays what has happened up to now. Whatever looks at the mailbox does
// so first, hence each datagram meets the mailbox as it was when it arrived.
func (b *mailbox) advance(now instant) {
	for b.coming.next() <= now {
		d := b.coming.pop()
		switch {
		case b.owner == nil:
			b.dropped.nobody++
			b.recycle(d.data)
		case b.arrived.len() == queueLimit:
			b.dropped.overflow++
			b.recycle(d.data)
		default:
			b.arrived.push(d)
		}
	}
}

// receive copies the next datagram into p; what does not fit is lost.
func (b *mailbox) receive(owner any, p []byte) (int, *Addr, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
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
			n := copy(p, d.data)
			b.recycle(d.data)
			return n, d.from, nil
		case b.draining && b.coming.len() == 0:
			return 0, nil, net.ErrClosed
		}
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
