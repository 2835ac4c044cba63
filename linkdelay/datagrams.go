package linkdelay

import (
	"net"
	"time"

	"example.com/wiretest/linkdelay/internal/sender"
)

// post sends a copy of a datagram over the way, from an address. The wire's
// mutex is held.
func (w *way) post(now instant, from net.Addr, p []byte) {
	w.lane.play(now)
	w.line().depart(now)
	w.in.add(1, len(p))
	d, index := w.next(len(p))
	why := w.refuses(now, d, index, p)
	if why == none && w.line().full(len(p)) {
		why = queueFull
	}
	if why != none {
		w.drop(why, 1, len(p))
		w.note(now, why, len(p), index, 0)
	} else {
		w.carry(now, d, index, from, p)
	}
	w.lane.wire.passed(1, len(p))
}

// next names a datagram by its rank among those of its size: what differs from
// run to run is how many small ones, acknowledgements, are between large ones.
func (w *way) next(size int) (d dice, index int) {
	const large = 1000
	class := 0
	if size >= large {
		class = 1
	}
	d = dice{w.key, sender.Segment{Cell: w.ranks[class], Attempt: class}}
	w.ranks[class]++
	return d, int(w.ranks[0] + w.ranks[1])
}

// refuses is the cause that loses a datagram wherever it is in the queue.
func (w *way) refuses(now instant, d dice, index int, p []byte) cause {
	t := w.lane.track(datagrams)
	path := &t.path
	if why := w.stops(); why != none {
		return why
	}
	if path.MaxDatagram > 0 && len(p) > path.MaxDatagram {
		return tooBig
	}
	long := len(p) > 0 && p[0]&0x80 != 0
	if over := &path.LossOver; over.Loss > 0 && len(p) > over.Size && !(over.ShortHeader && long) && d.falls(forSize, over.Loss) {
		return bySize
	}
	return t.lost(d, Packet{
		Network: "udp", Connection: int(w.flow.ordinal), Index: index,
		Size: len(p), LongHeader: long, Sent: time.Duration(now),
	}, now)
}

// carry puts a datagram on its way.
func (w *way) carry(now instant, d dice, index int, from net.Addr, p []byte) {
	path := w.path()
	l := w.line()
	left := l.enter(now, len(p), leaving{size: len(p), way: w, packets: 1})
	at := left.add(d.delay(path))
	if d.falls(forReorder, path.Reorder) {
		w.reordered++
		at = max(at, w.last).add(path.reorderBy())
	} else {
		w.last = max(w.last, at)
		at = w.last
	}
	bit := -1
	if len(p) > 0 && d.falls(forCorrupt, path.Corrupt) {
		w.corrupted++
		bit = int(d.draw(forWhere) * float64(8*len(p)))
	}
	w.box.post(at, w, from, p, index, w.lane.pausedAt != never, bit)
	if d.falls(forDuplicate, path.Duplicate) {
		w.duplicated.add(1, len(p))
		w.box.post(at, w, from, p, index, w.lane.pausedAt != never, bit)
	}
}

// swallow drops the datagrams that are on their way.
func (w *way) swallow(why cause, now instant) {
	if w.box == nil {
		return
	}
	w.box.withdraw(w, now, func(d *datagram) {
		w.drop(why, 1, len(d.data))
		w.note(now, why, len(d.data), d.rank, 0)
	})
}

// meet is the flow between two sockets, of which the one that lane from leads
// away from sends; it is one user more.
func (w *wire) meet(from int, socket, peer string) *flow {
	key := socketPair{socket, peer}
	if from == 1 {
		key = socketPair{peer, socket}
	}
	f := w.sockets[key]
	if f == nil {
		f = newFlow(w, datagrams, from, socket, peer)
		w.sockets[key] = f
		w.open = append(w.open, f)
		w.changed()
	}
	f.users++
	return f
}

// part is called when one of the users ends; the wire's mutex is held.
func (f *flow) part() {
	if f.users--; f.users == 0 {
		delete(f.wire.sockets, socketPair{f.ends[0], f.ends[1]})
		f.wire.end(f)
	}
}

// lose drops a datagram that goes to an address from before a rebinding.
func (w *way) lose(now instant, p []byte) {
	w.in.add(1, len(p))
	_, index := w.next(len(p))
	w.drop(byRebind, 1, len(p))
	w.note(now, byRebind, len(p), index, 0)
	w.lane.wire.passed(1, len(p))
}

// unheard corrects the account of a datagram that was delivered to be written to
// a socket, which refused it or had nobody to send it to.
func (w *way) unheard(size int) {
	wire := w.lane.wire
	wire.mu.Lock()
	defer wire.mu.Unlock()
	w.box.mu.Lock()
	defer w.box.mu.Unlock()
	w.met.delivered.take(1, size)
	w.met.noReceiver.add(1, size)
	w.met.largestDropped = max(w.met.largestDropped, size)
	w.note(wire.clock.now(), noReceiver, size, 0, 0)
	wire.changed()
}
