package schedule

// A topic may gather: its slots wait for more messages before they take any. A slot that
// has something to do sleeps for Topic.Gather first. It does so after a batch, too, unless
// more is known to wait: it leaves the slot, which reports the batch, and sleeps. So it
// holds nothing while it gathers, neither a place nor messages. Wake-ups that come
// meanwhile do not make it longer.

// gatherLocked makes a slot that sleeps ready, when it has gathered if its topic does
// that. One that is paused or another worker's only looks whether it still is.
func (s *Schedule) gatherLocked(x *Slot) {
	switch {
	case x.gathers:
	case x.topic.Gather <= 0 || x.facts.Unavailable:
		s.readyLocked(x)
	default:
		s.sleepLocked(x, s.now().Add(x.topic.Gather))
		x.gathers = true
	}
}

// gathersLocked reports whether a slot that finishes a batch is to gather before the next.
func (s *Schedule) gathersLocked(x *Slot) bool {
	return x.topic.Gather > 0 && x.facts.Held && x.facts.Few
}

// Settle returns when every slot is asleep and none gathers: it ends that at once.
func (s *Schedule) Settle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for again := true; again; {
		s.waitIdleLocked()
		again = false
		for _, t := range s.topics {
			for _, x := range t.slots {
				if x.gathers && !s.closed {
					s.readyLocked(x)
					again = true
				}
			}
		}
	}
}
