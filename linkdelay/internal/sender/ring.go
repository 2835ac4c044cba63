package sender

// ring is a first-in, first-out queue that stops allocating once it is as long
// as it gets.
type ring[T any] struct {
	items []T // a power of two of them
	head  int
	size  int
}

func (r *ring[T]) push(item T) {
	if r.size == len(r.items) {
		r.grow()
	}
	r.items[(r.head+r.size)&(len(r.items)-1)] = item
	r.size++
}

func (r *ring[T]) grow() {
	bigger := make([]T, max(16, 2*len(r.items)))
	n := copy(bigger, r.items[r.head:])
	copy(bigger[n:], r.items[:r.head])
	r.items, r.head = bigger, 0
}

func (r *ring[T]) front() *T { return &r.items[r.head] }

func (r *ring[T]) back() *T { return &r.items[(r.head+r.size-1)&(len(r.items)-1)] }

func (r *ring[T]) pop() T {
	item := r.items[r.head]
	r.head = (r.head + 1) & (len(r.items) - 1)
	r.size--
	return item
}
