package consumer

import "container/heap"

// Places are the handlers that may run at once. While there are as many of them
// as topics, each topic has some that no other may take, half of its fair share
// and at least one: so a topic whose handlers are slow never keeps another from
// starting at once. What is left goes to whoever comes. Where there are more
// topics than places, they take turns: see slice.
//
// Whoever has no place waits. A place that comes free goes to the topic that has
// the fewest, among those to the one that was given one least recently, and in it
// to the slot that has waited longest.

// reserve is how many places are kept free for a topic.
func reserve(limit, topics, most int) int {
	if topics > limit {
		return 0
	}
	return min(max(1, limit/topics/2), most)
}

// free reports whether the topic may have one more place.
func (s *schedule) free(t *topic) bool {
	return !s.suspended && s.used < s.limit && t.used < t.opts.Concurrency && (t.used < t.reserve || s.used+s.kept < s.limit)
}

// use notes that a topic has n more places, or fewer. All changes pass here, so
// that kept and hungry are right.
func (s *schedule) use(t *topic, n int) {
	s.kept -= max(0, t.reserve-t.used)
	t.used += n
	s.used += n
	s.kept += max(0, t.reserve-t.used)
	s.weigh(t)
}

// weigh enters a topic among the hungry ones, or takes it out, after a change of
// what it has or who waits.
func (s *schedule) weigh(t *topic) {
	hungry := t.waiting.length > 0 && t.used < t.opts.Concurrency
	switch {
	case hungry && t.inHeap < 0:
		heap.Push(&s.hungry, t)
	case hungry:
		heap.Fix(&s.hungry, t.inHeap)
	case t.inHeap >= 0:
		heap.Remove(&s.hungry, t.inHeap)
	}
}

// take gives the slot a place.
func (s *schedule) take(x *slot) {
	x.place, x.since = true, s.now()
	s.given++
	x.topic.given = s.given
	s.use(x.topic, 1)
}

// release gives back the slot's places, if it has any.
func (s *schedule) release(x *slot) {
	n := x.borrowed
	x.borrowed = 0
	if x.place {
		x.place = false
		n++
	}
	if n > 0 {
		s.giveBack(x.topic, n)
	}
}

// giveBack gives back n places of a topic, to whoever waits.
func (s *schedule) giveBack(t *topic, n int) {
	s.use(t, -n)
	s.serveWaiting()
}

// await lets a slot wait for a place. One that has a batch already goes before
// those of its topic that want one.
func (s *schedule) await(x *slot) {
	s.set(x, waiting)
	if x.held {
		x.topic.waiting.pushFront(x)
	} else {
		x.topic.waiting.push(x)
	}
	s.waiters.Add(1)
	s.weigh(x.topic)
}

// unqueue takes a slot out of the queue it is in, if any.
func (s *schedule) unqueue(x *slot) {
	switch {
	case x.in == nil:
	case x.state == waiting:
		x.in.remove(x)
		s.waiters.Add(-1)
		s.weigh(x.topic)
	default:
		s.queues.remove(x)
	}
}

// serveWaiting gives free places to slots that wait for one. If the first of the
// hungry topics may have none, no other may: it has the fewest, and if it has what
// is kept for it, so have the others.
func (s *schedule) serveWaiting() {
	for len(s.hungry) > 0 && s.free(s.hungry[0]) {
		x := s.hungry[0].waiting.first
		s.unqueue(x)
		if x.held {
			s.take(x)
			s.launch(x)
		} else {
			s.ready(x)
		}
	}
}

// lend gives a slot n places beside its own, for a batch that is handled in
// parallel, or as many as there are. What it has too many of it gives back.
func (s *schedule) lend(x *slot, n int) {
	n = max(n, 0)
	for x.borrowed < n && s.free(x.topic) {
		x.borrowed++
		s.use(x.topic, 1)
	}
	if more := x.borrowed - n; more > 0 {
		x.borrowed = n
		s.giveBack(x.topic, more)
	}
}

// borrow is lend, and tells how many the slot has then.
func (s *schedule) borrow(x *slot, n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lend(x, n)
	return x.borrowed
}

// repay gives one borrowed place back, if there is one.
func (s *schedule) repay(x *slot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lend(x, x.borrowed-1)
}

// hungry is a heap of the topics of which slots wait, and that may have more
// places: the one to be served next first.
type hungry []*topic

func (h hungry) Len() int { return len(h) }

func (h hungry) Less(i, j int) bool {
	if h[i].used != h[j].used {
		return h[i].used < h[j].used
	}
	return h[i].given < h[j].given
}

func (h hungry) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].inHeap, h[j].inHeap = i, j
}

func (h *hungry) Push(x any) {
	t := x.(*topic)
	t.inHeap = len(*h)
	*h = append(*h, t)
}

func (h *hungry) Pop() any {
	last := len(*h) - 1
	t := (*h)[last]
	(*h)[last] = nil
	t.inHeap = -1
	*h = (*h)[:last]
	return t
}
