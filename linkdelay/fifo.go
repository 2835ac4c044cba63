package linkdelay

// fifo holds bytes between a writer and a reader in blocks, so that many small
// writes cost no allocation each and a big one is copied once on either side.
type fifo struct {
	blocks queue[[]byte] // the last one may have room
	offset int           // what was read of the first
	size   int
	spare  [][]byte
}

const (
	minBlock  = 2 << 10
	maxBlock  = 64 << 10
	maxSpares = 16
)

func (f *fifo) write(p []byte) {
	f.size += len(p)
	for len(p) > 0 {
		b := f.room(len(p))
		n := min(cap(*b)-len(*b), len(p))
		*b = append(*b, p[:n]...)
		p = p[n:]
	}
}

// room is a block with space for at least one byte.
func (f *fifo) room(want int) *[]byte {
	if f.blocks.len() > 0 {
		if b := f.blocks.back(); len(*b) < cap(*b) {
			return b
		}
	}
	f.blocks.push(f.block(want))
	return f.blocks.back()
}

func (f *fifo) block(want int) []byte {
	if last := len(f.spare) - 1; last >= 0 {
		b := f.spare[last]
		f.spare = f.spare[:last]
		return b
	}
	return make([]byte, 0, min(max(want, minBlock), maxBlock))
}

// read fills p; the caller knows that there is enough.
func (f *fifo) read(p []byte) {
	f.size -= len(p)
	for len(p) > 0 {
		b := *f.blocks.front()
		n := copy(p, b[f.offset:])
		p = p[n:]
		f.offset += n
		if f.offset == len(b) {
			f.recycle()
		}
	}
}

// each passes all bytes but the first skip of them on, without reading them.
func (f *fifo) each(skip int, do func([]byte)) {
	skip += f.offset
	for i := range f.blocks.len() {
		b := *f.blocks.at(i)
		if skip < len(b) {
			do(b[skip:])
		}
		skip = max(0, skip-len(b))
	}
}

// recycle takes the first block, which was read, for use again.
func (f *fifo) recycle() {
	f.offset = 0
	b := f.blocks.pop()[:0]
	if f.blocks.len() == 0 {
		f.blocks.push(b)
		return
	}
	if len(f.spare) < maxSpares {
		f.spare = append(f.spare, b)
	}
}

func (f *fifo) drop() { *f = fifo{} }
