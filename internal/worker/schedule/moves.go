package schedule

// Move is a slot that has come to this worker, or that the worker has left.
type Move struct {
	Topic  *Topic
	Slot   int
	Gained bool
	ID     string // that its turns are taken under, or were
}

// RecordMoves has NextMoves return what moves from now on. Call it before slots are assigned.
func (s *Schedule) RecordMoves() {
	for _, t := range s.topics {
		t.held = make([]string, len(t.slots))
	}
}

// NextMoves waits until slots have moved, and returns these in their order, in the memory of
// those before. It returns none when the schedule is closed.
func (s *Schedule) NextMoves(before []Move) []Move {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.moves) == 0 && !s.closed {
		s.moving.Wait()
	}
	clear(before)
	moves := s.moves
	s.moves = before[:0]
	return moves
}

// recordLocked notes whether the worker holds a slot, as Holding does. One that was taken away is
// held until it was left, also in the moments before the turn that leaves it is queued.
func (s *Schedule) recordLocked(x *Slot) {
	t := x.topic
	if t.held == nil || t.slots[x.Index] != x {
		return
	}
	held, by := x.assigned || x.state != Asleep || x.facts.Fence > 0, &t.held[x.Index]
	if held == (*by != "") {
		return
	}
	m := Move{t, x.Index, held, *by}
	if *by = ""; held {
		*by, m.ID = x.id, x.id
	}
	s.moves = append(s.moves, m)
	s.moving.Signal()
}
