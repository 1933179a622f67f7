package schedule

import "container/heap"

// ordered is a heap: the least of its elements comes first. Each knows its rank, so that
// it is moved and taken out without looking for it.
type ordered[E any] struct {
	all  []E
	less func(a, b E) bool
	rank func(E) *int // 1 + its index; 0: it is not in the heap
}

// put enters x, or moves it after a change.
func (h *ordered[E]) put(x E) {
	if rank := *h.rank(x); rank > 0 {
		heap.Fix(h, rank-1)
	} else {
		heap.Push(h, x)
	}
}

// remove takes x out, if it is there.
func (h *ordered[E]) remove(x E) {
	if rank := *h.rank(x); rank > 0 {
		heap.Remove(h, rank-1)
	}
}

// The rest is for package heap.

func (h *ordered[E]) Len() int           { return len(h.all) }
func (h *ordered[E]) Less(i, j int) bool { return h.less(h.all[i], h.all[j]) }

func (h *ordered[E]) Swap(i, j int) {
	h.all[i], h.all[j] = h.all[j], h.all[i]
	*h.rank(h.all[i]), *h.rank(h.all[j]) = i+1, j+1
}

func (h *ordered[E]) Push(x any) {
	h.all = append(h.all, x.(E))
	*h.rank(x.(E)) = len(h.all)
}

func (h *ordered[E]) Pop() any {
	last := len(h.all) - 1
	x := h.all[last]
	var none E
	h.all[last] = none
	*h.rank(x) = 0
	h.all = h.all[:last]
	return x
}
