package schedule

import "sync"

// Moves are what has become of the slots of a worker: which have come to it, and which it has left.
type Moves struct {
	schedule *Schedule
	topics   []*Topic   // whose slots were gained or left, since Topics was called
	all      []Move     // since Next was called
	recorded *sync.Cond // there are some, or the schedule is closed
}

// Move is a slot that has come to this worker, or that the worker has left.
type Move struct {
	Topic  *Topic
	Slot   int
	Gained bool
	ID     string // that its turns are taken under, or were
}

// Record has Next return what moves from now on. Call it before slots are assigned.
func (m *Moves) Record() {
	for _, t := range m.schedule.topics {
		t.held = make([]string, len(t.slots))
	}
}

// Next waits until slots have moved, and returns these in their order, in the memory of
// those before. It returns none when the schedule is closed.
func (m *Moves) Next(before []Move) []Move {
	s := m.schedule
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(m.all) == 0 && !s.closed {
		m.recorded.Wait()
	}
	clear(before)
	moves := m.all
	m.all = before[:0]
	return moves
}

// Topics returns those of which Topic.Holding may say something else than when Topics was
// called before, and all of them in a new term.
func (m *Moves) Topics() (topics []*Topic) {
	s := m.schedule
	s.mu.Lock()
	defer s.mu.Unlock()
	topics, m.topics = m.topics, nil
	for _, t := range topics {
		t.moved = false
	}
	return topics
}

// note notes that what Holding says of a topic may have changed.
func (m *Moves) note(t *Topic) {
	if !t.moved {
		t.moved = true
		m.topics = append(m.topics, t)
	}
}

// record notes whether the worker holds a slot, as Holding does. One that was taken away is
// held until it was left, also in the moments before the turn that leaves it is queued.
func (m *Moves) record(x *Slot) {
	t := x.topic
	if t.held == nil || t.slots[x.Index] != x {
		return
	}
	held, by := x.assigned || x.state != Asleep || x.facts.Fence > 0, &t.held[x.Index]
	if held == (*by != "") {
		return
	}
	move := Move{t, x.Index, held, *by}
	if *by = ""; held {
		*by, move.ID = x.id, x.id
	}
	m.all = append(m.all, move)
	m.recorded.Signal()
}
