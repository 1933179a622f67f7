package consumer

import (
	"container/heap"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// schedule knows every slot's state and hands the ready ones to the turners,
// round robin. A slot that may take messages needs a place under the
// concurrency limit first, so that no batch waits in flight for a goroutine.
//
// Nothing here takes longer the more topics there are, but for what is done with
// all of them at once.
//
// Methods that other types call lock mu. Callers of these hold it already: use, weigh,
// free, take, lend, release, giveBack, serveWaiting, await, unqueue, yields, ahead,
// disown, ready, launch, set, sleep, replace, former, forget and forsake.
type schedule struct {
	limit  int
	topics []*topic
	now    func() time.Time
	start  func(*slot) // starts to handle the slot's batch, without waiting for anything

	waiters atomic.Int32 // slots that wait for a place

	mu        sync.Mutex
	queues    nodeQueues // ready
	sleepers  sleepers
	used      int    // places
	kept      int    // places that nobody has, and only their topic may take
	given     uint64 // places so far
	hungry    hungry
	active    int // slots that are not idle
	stopping  bool
	dropped   []string // slots that could not be left
	suspended bool     // no slot may take anything
	closed    bool
	turners   *sync.Cond    // there is something in queue, or closed
	settled   *sync.Cond    // active is 0
	earlier   chan struct{} // the first sleeper wakes earlier than it did
	done      chan struct{} // closed with the schedule
}

func newSchedule(limit int, topics []*topic, start func(*slot)) *schedule {
	s := &schedule{
		limit: limit, topics: topics, now: time.Now, start: start,
		earlier: make(chan struct{}, 1), done: make(chan struct{}),
	}
	s.turners, s.settled = sync.NewCond(&s.mu), sync.NewCond(&s.mu)
	for _, t := range topics {
		t.reserve = reserve(limit, len(topics), t.opts.Concurrency)
		s.kept += t.reserve
	}
	return s
}

// next returns up to most ready slots of one node, and none when the schedule
// is closed. leave tells for each whether its turn shall leave the slot.
func (s *schedule) next(most int, slots []*slot, leave []bool) ([]*slot, []bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.queues.length == 0 && !s.closed {
		s.turners.Wait()
	}
	now := s.now()
	// A write to several nodes of a Cluster would wait for the slowest.
	for from := s.queues.next(); from != nil && from.length > 0 && len(slots) < most; {
		x := from.first
		s.unqueue(x)
		x.woken = false
		s.set(x, turning)
		// One that was to be left, and was assigned anew while it was queued, has
		// no place: it is left, and then waits for one.
		leaves := !x.owned || !x.place || s.suspended || s.yields(x, now)
		if x.topic.opts.Parallel && !x.open {
			n := 0
			if !leaves { // before the turn, so that it takes no more than can be handled at once
				n = x.topic.size.most() - 1
			}
			s.lend(x, n)
		}
		slots, leave = append(slots, x), append(leave, leaves)
	}
	if s.queues.length > 0 {
		s.turners.Signal()
	}
	return slots, leave
}

// own sets which slots of a topic this worker shall work at in a term. Those that are
// gained are to be looked at.
func (s *schedule) own(t *topic, in *term, indexes []int) (gained, lost int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.term != in {
		return 0, 0 // it is over
	}
	mine := make([]bool, len(t.slots))
	for _, i := range indexes {
		mine[i] = !s.stopping
	}
	for i, x := range t.slots {
		switch {
		case mine[i] && !x.owned:
			gained++
			x.owned = true
			x.leaving.Store(false)
			x.gained = x.state == idle // otherwise whoever has it in hand goes on with it
		case !mine[i] && x.owned:
			lost++
			s.disown(x)
		}
	}
	return gained, lost
}

// disown lets a slot go. If it was ever turned at, it must be left by a turn.
func (s *schedule) disown(x *slot) {
	x.owned = false
	x.leaving.Store(true)
	switch x.state {
	case waiting:
		s.unqueue(x)
		if x.held {
			s.launch(x) // which gives the batch back
			return
		}
		s.set(x, idle)
		fallthrough
	case idle:
		if x.number > 0 {
			s.ready(x)
		} else {
			s.sleep(x, time.Time{})
		}
	}
}

// stop disowns every slot.
func (s *schedule) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopping = true
	for _, t := range s.topics {
		for _, x := range t.slots {
			if x.owned {
				s.disown(x)
			}
		}
	}
}

// close ends the turners.
func (s *schedule) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.closed = true
	close(s.done)
	s.turners.Broadcast()
	s.settled.Broadcast()
}

// watch returns a channel that is closed when no slot is in hand any more.
func (s *schedule) watch() <-chan struct{} {
	done := make(chan struct{})
	go func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		for s.active > 0 && !s.closed {
			s.settled.Wait()
		}
		close(done)
	}()
	return done
}

// wake makes an idle slot ready after a while, at once if that is 0.
func (s *schedule) wake(t *topic, index int, in time.Duration) {
	if index < 0 || index >= len(t.slots) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	x := t.slots[index]
	switch {
	case !x.owned:
	case x.state == turning:
		x.woken = true // the turn may have looked before the message was there
	case x.state == idle && in <= 0:
		s.ready(x)
	case x.state == idle:
		if at := s.now().Add(in); x.at.IsZero() || at.Before(x.at) {
			s.sleep(x, at)
		}
	}
}

// rest lets a slot sleep until at (zero: until it is woken) and gives back its
// place.
func (s *schedule) rest(x *slot, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.release(x)
	s.set(x, idle)
	switch {
	case !x.owned && x.number > 0, x.owned && x.woken:
		s.ready(x)
	case x.owned:
		s.sleep(x, at)
	default: // a turn that was under way when it was let go has taken nothing
		s.forget(x)
	}
}

// forget has nobody wait any more for an earlier incarnation of a slot.
func (s *schedule) forget(x *slot) {
	x.topic.replaced = slices.DeleteFunc(x.topic.replaced, func(other *slot) bool { return other == x })
}

// pause lets a slot whose turn had no answer sleep until at. It keeps its place
// for a while, for the turn may have taken a batch.
func (s *schedule) pause(x *slot, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lend(x, 0)
	if x.failures > 1 { // it may go on for long, and others could use the place
		s.release(x)
	}
	s.set(x, pausing)
	s.sleep(x, at)
}

// again queues a slot for another turn: at once, or at a time if that is set.
func (s *schedule) again(x *slot, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at.IsZero() {
		s.ready(x)
		return
	}
	s.set(x, pausing)
	s.sleep(x, at)
}

// leave ends the work at a slot. If it has been assigned anew meanwhile, the
// work begins again.
func (s *schedule) leave(x *slot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.release(x)
	s.set(x, idle)
	if x.owned {
		s.ready(x)
	}
	s.forget(x)
}

// work notes that the slot has a batch, and reports whether it is to be handled
// now. If not, because its place was given up while a turn had no answer, or because
// the turn was to leave, the slot goes on with line.
func (s *schedule) work(x *slot) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	x.forsaken = false // it was for the batch before
	if !x.place {
		if !x.owned || !s.free(x.topic) {
			return false
		}
		s.take(x)
	}
	s.set(x, working)
	return true
}

// line has the slot wait for a place to handle its batch in. One that is to be
// left gets none, and begins nothing of the batch.
func (s *schedule) line(x *slot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !x.owned:
		s.launch(x)
	case s.free(x.topic):
		s.take(x)
		s.launch(x)
	default:
		s.await(x)
	}
}

// launch starts to handle the slot's batch, or, without a place, to give it back.
func (s *schedule) launch(x *slot) {
	x.denied = !x.place
	s.set(x, working)
	s.start(x)
}

// ready queues a slot, if it needs no place or gets one.
func (s *schedule) ready(x *slot) {
	if x.inHeap >= 0 {
		heap.Remove(&s.sleepers, x.inHeap)
	}
	x.at = time.Time{}
	if x.owned && !x.place && !x.open && !x.held {
		if !s.free(x.topic) {
			s.await(x)
			return
		}
		s.take(x)
	}
	s.set(x, ready)
	s.queues.push(x)
	s.turners.Signal()
}

// set changes a slot's state. Every change of state passes here, so that active
// is right.
func (s *schedule) set(x *slot, to state) {
	if x.state == idle && to != idle {
		s.active++
	}
	if x.state != idle && to == idle {
		if s.active--; s.active == 0 {
			s.settled.Broadcast()
		}
	}
	x.state = to
}
