package linkdelay

import (
	"cmp"
	"slices"
)

// schedule gives back what comes due first; ties go by the order of adding, so
// that equal instants never reorder. It is a binary heap, written out because
// container/heap allocates for each element.
type schedule[T any] struct {
	heap []due[T]
	seq  uint64
}

type due[T any] struct {
	at   instant
	seq  uint64
	what T
}

func (s *schedule[T]) len() int { return len(s.heap) }

// next is when the first comes due; never if there is none.
func (s *schedule[T]) next() instant {
	if len(s.heap) == 0 {
		return never
	}
	return s.heap[0].at
}

func (s *schedule[T]) add(at instant, what T) {
	s.heap = append(s.heap, due[T]{at, s.seq, what})
	s.seq++
	child := len(s.heap) - 1
	for child > 0 {
		parent := (child - 1) / 2
		if !s.less(child, parent) {
			return
		}
		s.swap(child, parent)
		child = parent
	}
}

func (s *schedule[T]) pop() T {
	first := s.heap[0].what
	last := len(s.heap) - 1
	s.swap(0, last)
	s.heap[last] = due[T]{} // let go of what it points to
	s.heap = s.heap[:last]
	s.sink(0)
	return first
}

// remove drops what gone says, which it asks for each in no order.
func (s *schedule[T]) remove(gone func(*due[T]) bool) {
	kept := s.heap[:0]
	for i := range s.heap {
		if !gone(&s.heap[i]) {
			kept = append(kept, s.heap[i])
		}
	}
	clear(s.heap[len(kept):])
	s.heap = kept
	for i := len(kept)/2 - 1; i >= 0; i-- {
		s.sink(i)
	}
}

// sorted takes everything out in order.
func (s *schedule[T]) sorted() []due[T] {
	all := s.heap
	s.heap = nil
	slices.SortFunc(all, func(a, b due[T]) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.seq, b.seq)) })
	return all
}

func (s *schedule[T]) sink(parent int) {
	for {
		child := 2*parent + 1
		if child >= len(s.heap) {
			return
		}
		if right := child + 1; right < len(s.heap) && s.less(right, child) {
			child = right
		}
		if !s.less(child, parent) {
			return
		}
		s.swap(child, parent)
		parent = child
	}
}

func (s *schedule[T]) less(i, j int) bool {
	if s.heap[i].at != s.heap[j].at {
		return s.heap[i].at < s.heap[j].at
	}
	return s.heap[i].seq < s.heap[j].seq
}

func (s *schedule[T]) swap(i, j int) { s.heap[i], s.heap[j] = s.heap[j], s.heap[i] }
