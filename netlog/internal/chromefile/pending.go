package chromefile

// largestPending bounds the events kept for constants that come after them.
const largestPending = 256 << 20

// pending are events that wait for the constants.
type pending struct {
	slabs   [][]byte // whole events, one after the other
	offsets []int64
	size    int
}

// add keeps a copy; false if there is no room.
func (p *pending) add(event []byte, offset int64) bool {
	const slab = 1 << 20
	if p.size += len(event); p.size > largestPending {
		return false
	}
	last := len(p.slabs) - 1
	if last < 0 || cap(p.slabs[last])-len(p.slabs[last]) < len(event) {
		p.slabs = append(p.slabs, make([]byte, 0, max(len(event), min(slab, 2*p.size))))
		last++
	}
	p.slabs[last] = append(p.slabs[last], event...)
	p.offsets = append(p.offsets, offset)
	return true
}

// flush gives them all to each, and forgets them.
func (p *pending) flush(each func(raw *rawEvent, offset int64)) {
	n := 0
	for _, slab := range p.slabs {
		for c := (cursor{b: slab}); c.i < len(slab); n++ {
			var raw rawEvent
			if _, v := c.event(&raw); v != whole {
				return // cannot be: it was whole before
			}
			each(&raw, p.offsets[n])
		}
	}
	*p = pending{size: p.size}
}
