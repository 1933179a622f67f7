package schedule

// Which slots are this worker's.

// Assign sets which slots of a topic this worker is to work at in a term. Those that are
// gained are to be looked at.
func (t *Topic) Assign(in Term, indexes []int) (gained, lost int) {
	s := t.lock()
	defer s.mu.Unlock()
	if s.Terms.present != in {
		return 0, 0 // it is over
	}
	mine := make([]bool, len(t.slots))
	for _, i := range indexes {
		mine[i] = !s.stopping
	}
	for i, x := range t.slots {
		switch {
		case mine[i] && !x.assigned:
			gained++
			s.assign(x, true)
			x.unseen = x.state == Asleep // otherwise whatever has it in hand goes on with it
		case !mine[i] && x.assigned:
			lost++
			s.takeAway(x)
		}
	}
	return gained, lost
}

// Assigned returns the slots of some topics that are this worker's.
func (s *Schedule) Assigned(topics ...*Topic) (slots []*Slot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range topics {
		for _, x := range t.slots {
			if x.assigned {
				slots = append(slots, x)
			}
		}
	}
	return slots
}

// assign notes whether a slot is assigned to this worker.
func (s *Schedule) assign(x *Slot, yes bool) {
	if x.assigned != yes {
		n := -1
		if yes {
			n = 1
		}
		x.topic.own += n
		s.own += n
		s.rates.share(x.topic)
	}
	x.assigned = yes
	x.leaving.Store(!yes)
	s.Moves.note(x.topic)
	s.Moves.record(x)
}

// takeAway takes a slot away. If it was ever turned at, it must be left by a turn.
func (s *Schedule) takeAway(x *Slot) {
	s.assign(x, false)
	switch x.state {
	case Waiting:
		s.unqueue(x)
		if x.facts.Held {
			s.launch(x) // which gives the batch back
			return
		}
		s.set(x, Asleep)
		fallthrough
	case Asleep:
		if x.facts.Fence > 0 {
			s.enqueue(x)
		} else {
			s.sleepers.set(x, never)
		}
	}
}
