package linkdelay

import "example.com/wiretest/linkdelay/internal/sender"

// line is where packets wait for a Rate. Sending is virtual: each packet's bits
// leave as soon as those before it have, which is known when it enters.
type line struct {
	rate int64 // bits per second; 0 is no limit
	room int   // bytes

	busy    instant // when the last bit leaves
	rest    int64   // of busy, in nanoseconds / rate: sums are exact
	backlog int
	leaving queue[leaving] // in the order of leaving
	now     instant        // it is played until here

	waiting queue[*stream] // what has more to send, in turn
	open    *stream        // whose last segment may grow, as long as
	openAt  instant        // it is this instant
}

// leaving is a packet in the queue.
type leaving struct {
	at      instant
	size    int
	way     *way
	packets int // 1 for a datagram, 0 for a segment
}

// configure changes what follows; what waits keeps its time.
func (l *line) configure(p *Path) {
	if p.Rate != l.rate {
		l.rate, l.rest = p.Rate, 0
	}
	l.room = p.room()
}

// depart lets leave what has left by an instant.
func (l *line) depart(t instant) {
	for l.leaving.len() > 0 && l.leaving.front().at <= t {
		p := l.leaving.pop()
		l.backlog -= p.size
		p.way.queued.take(p.packets, p.size)
	}
	l.now = max(l.now, t)
}

// full reports whether a packet of that size does not fit.
func (l *line) full(size int) bool { return l.rate > 0 && l.backlog+size > l.room }

// enter queues a packet at an instant, and returns when its last bit leaves.
// What has width takes time.
func (l *line) enter(t instant, width int, p leaving) instant {
	if l.rate == 0 {
		return t
	}
	l.open = nil
	p.at = l.transmit(t, width)
	l.leaving.push(p)
	l.backlog += p.size
	p.way.queued.add(p.packets, p.size)
	return p.at
}

func (l *line) transmit(t instant, width int) instant {
	if t > l.busy {
		l.busy, l.rest = t, 0
	}
	work := int64(width)*8e9 + l.rest
	l.busy += instant(work / l.rate)
	l.rest = work % l.rate
	return l.busy
}

// passes is when something without width leaves that comes at an instant, such
// as a FIN or a SYN: behind all that is queued.
func (l *line) passes(t instant) instant { return max(t, l.busy) }

// wait queues a stream that has something to send, from now on; it had not.
func (l *line) wait(s *stream, now instant) {
	l.play(now)
	s.waiting = true
	l.waiting.push(s)
	l.admit()
}

// next is when there may be room for the stream that waits longest.
func (l *line) next() instant {
	if l.waiting.len() == 0 {
		return never
	}
	if l.leaving.len() == 0 {
		return l.now
	}
	return l.leaving.front().at
}

// play lets leave and enter what does until now.
func (l *line) play(now instant) {
	for l.waiting.len() > 0 {
		at := l.next()
		if at > now {
			break
		}
		l.depart(at)
		l.admit()
	}
	l.depart(now)
}

// clear loses what is in the queue.
func (l *line) clear(now instant) {
	for l.leaving.len() > 0 {
		p := l.leaving.pop()
		p.way.queued.take(p.packets, p.size)
	}
	l.backlog, l.busy, l.rest, l.open = 0, now, 0, nil
}

// admit lets streams enter, a segment of each in turn, as far as there is room.
func (l *line) admit() {
	for l.waiting.len() > 0 {
		s := *l.waiting.front()
		if s.unsent == 0 { // it has ended
			l.waiting.pop()
			s.waiting = false
			continue
		}
		if l.full(min(s.unsent, sender.MSS)+fullSize) && l.backlog > 0 {
			return
		}
		l.waiting.pop()
		l.admitSegment(s)
		if s.waiting = s.unsent > 0; s.waiting {
			l.waiting.push(s)
		}
	}
}

// fullSize is a datagram that fills a packet of Ethernet, with IPv4; streams
// leave room for one, else no datagram would ever pass beside a busy stream.
const fullSize = 1472

// admitSegment takes what fits in the segment that the stream is at. One that
// entered in this instant, with nothing behind it, may grow, so that writes of
// one instant are cut as one.
func (l *line) admitSegment(s *stream) {
	grows := l.rate > 0 && l.open == s && l.openAt == l.now && s.spans.len() > 0 && l.leaving.len() > 0
	width, size := s.cutSegment(grows)
	switch {
	case l.rate == 0:
		s.carry(size, l.passes(l.now))
	case size == 0: // the segment is full
		l.open = nil
		l.admitSegment(s)
	case grows:
		l.grow(s, width, size)
	default:
		left := l.enter(l.now, width, leaving{size: size, way: s.way})
		s.carry(size, left)
		l.open, l.openAt = s, l.now
	}
}

func (l *line) grow(s *stream, width, size int) {
	last := l.leaving.back()
	last.at = l.transmit(l.now, width)
	last.size += size
	l.backlog += size
	s.way.queued.add(0, size)
	s.stretch(size, last.at)
}

// cutSegment takes from what waits at most what is left of the segment that
// begins at a multiple of the segment's size: where segments end does not
// depend on how goroutines wrote.
func (s *stream) cutSegment(grows bool) (width, size int) {
	room := sender.MSS - int(s.cutAt%sender.MSS)
	if grows && room == sender.MSS {
		return 0, 0
	}
	width, size = s.widths.Cut(room)
	s.cutAt += int64(width)
	s.unsent -= size
	return width, size
}
