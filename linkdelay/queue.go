package linkdelay

// queue is first in, first out, in a ring that grows.
type queue[T any] struct {
	ring []T
	head int
	n    int
}

func (q *queue[T]) len() int { return q.n }

func (q *queue[T]) push(v T) {
	if q.n == len(q.ring) {
		q.grow()
	}
	q.ring[q.index(q.n)] = v
	q.n++
}

func (q *queue[T]) grow() {
	bigger := make([]T, max(4, 2*len(q.ring)))
	k := copy(bigger, q.ring[q.head:])
	copy(bigger[k:], q.ring[:q.head])
	q.ring, q.head = bigger, 0
}

// index works without division: the sum is less than two rings.
func (q *queue[T]) index(i int) int {
	i += q.head
	if i >= len(q.ring) {
		i -= len(q.ring)
	}
	return i
}

func (q *queue[T]) front() *T { return &q.ring[q.head] }

func (q *queue[T]) at(i int) *T { return &q.ring[q.index(i)] }

func (q *queue[T]) back() *T { return &q.ring[q.index(q.n-1)] }

func (q *queue[T]) pop() T {
	var zero T
	v := q.ring[q.head]
	q.ring[q.head] = zero // let go of what it points to
	q.head = q.index(1)
	q.n--
	return v
}
