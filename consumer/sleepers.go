package consumer

import (
	"container/heap"
	"time"
)

// sleepers is a heap of slots by the time they wake.
type sleepers []*slot

func (h sleepers) Len() int           { return len(h) }
func (h sleepers) Less(i, j int) bool { return h[i].at.Before(h[j].at) }
func (h sleepers) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].inHeap, h[j].inHeap = i, j
}

func (h *sleepers) Push(x any) {
	s := x.(*slot)
	s.inHeap = len(*h)
	*h = append(*h, s)
}

func (h *sleepers) Pop() any {
	last := len(*h) - 1
	s := (*h)[last]
	(*h)[last] = nil
	s.inHeap = -1
	*h = (*h)[:last]
	return s
}

// sleep sets when a slot wakes by itself; never, if at is zero.
func (s *schedule) sleep(x *slot, at time.Time) {
	x.at = at
	switch {
	case at.IsZero() && x.inHeap >= 0:
		heap.Remove(&s.sleepers, x.inHeap)
	case at.IsZero():
		return
	case x.inHeap >= 0:
		heap.Fix(&s.sleepers, x.inHeap)
	default:
		heap.Push(&s.sleepers, x)
	}
	if len(s.sleepers) > 0 && s.sleepers[0] == x {
		select {
		case s.earlier <- struct{}{}:
		default:
		}
	}
}

// alarm wakes sleepers when their time has come, until the schedule is closed.
func (s *schedule) alarm() {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		s.mu.Lock()
		now := time.Now()
		for len(s.sleepers) > 0 && !s.sleepers[0].at.After(now) {
			s.ready(s.sleepers[0])
		}
		in := time.Hour
		if len(s.sleepers) > 0 {
			in = time.Until(s.sleepers[0].at)
		}
		s.mu.Unlock()
		timer.Reset(in)
		select {
		case <-timer.C:
		case <-s.earlier:
		case <-s.done:
			return
		}
	}
}
