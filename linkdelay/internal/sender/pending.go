package sender

// pending is what was written and is in no segment yet: runs of bytes that
// have width and of bytes that have none, in turn.
type pending struct {
	runs ring[run]
	size int
}

type run struct {
	size int
	wide bool
}

func (p *pending) add(size int, wide bool) {
	if size == 0 {
		return
	}
	p.size += size
	if p.runs.size > 0 {
		if last := p.runs.back(); last.wide == wide {
			last.size += size
			return
		}
	}
	p.runs.push(run{size, wide})
}

// cut takes at most room bytes that have width, and those without that are
// before, among and right behind them: nothing that has no width need wait for
// what follows it.
func (p *pending) cut(room int) (width, size int) {
	for p.runs.size > 0 {
		next := p.runs.front()
		n := next.size
		if next.wide {
			if n = min(n, room-width); n == 0 {
				break
			}
			width += n
		}
		size += n
		if next.size -= n; next.size == 0 {
			p.runs.pop()
		}
	}
	p.size -= size
	return width, size
}
