package schedule

// Places are the handlers that may run at once. While there are as many of them
// as topics, each topic has some that no other may take, half of its fair share
// and at least one: so a topic whose handlers are slow never keeps another from
// starting at once. What is left goes to the first that asks. Where there are more
// topics than places, they take turns: see Slice.
//
// A slot without a place waits. A place that comes free goes to the topic that has
// the fewest, among those to the one that was given one least recently, and in it
// to the slot that has waited longest.

// reserve is how many places are kept free for a topic.
func reserve(limit, topics, most int) int {
	if topics > limit {
		return 0
	}
	return min(max(1, limit/topics/2), most)
}

// freeLocked reports whether the topic may have one more place.
func (s *Schedule) freeLocked(t *Topic) bool {
	return !s.suspended && s.used < s.limit && t.used < t.allowed && (t.used < t.reserve || s.used+s.kept < s.limit)
}

// countLocked notes that a topic has n more places, or fewer. All changes pass here, so
// that kept and hungry are right.
func (s *Schedule) countLocked(t *Topic, n int) {
	s.kept -= t.lacksLocked()
	t.used += n
	s.used += n
	s.kept += t.lacksLocked()
	t.excessLocked()
	s.weighLocked(t)
}

// weighLocked enters a topic among the hungry ones, or takes it out, after a change of
// what it has, of what it may have, or of which of its slots wait.
func (s *Schedule) weighLocked(t *Topic) {
	if !s.drainedLocked(t) && t.waiting.length > 0 && t.used < t.allowed {
		s.hungry.put(t)
	} else {
		s.hungry.remove(t)
	}
}

// placeLocked gives the slot a place.
func (s *Schedule) placeLocked(x *Slot) {
	x.place, x.since = true, s.now()
	s.given++
	x.topic.given = s.given
	s.countLocked(x.topic, 1)
}

// releaseLocked gives back the slot's places, if it has any.
func (s *Schedule) releaseLocked(x *Slot) {
	n := x.borrowed
	x.borrowed = 0
	if x.place {
		x.place = false
		n++
	}
	if n > 0 {
		s.returnLocked(x.topic, n)
	}
}

// returnLocked gives back n places of a topic, to those that wait.
func (s *Schedule) returnLocked(t *Topic, n int) {
	s.countLocked(t, -n)
	s.serveWaitingLocked()
}

// awaitPlaceLocked lets a slot wait for a place. One that has a batch already goes before
// those of its topic that want one.
func (s *Schedule) awaitPlaceLocked(x *Slot) {
	s.setLocked(x, Waiting)
	if x.facts.Held {
		x.topic.waiting.pushFront(x)
	} else {
		x.topic.waiting.push(x)
	}
	s.waiters.Add(1)
	s.weighLocked(x.topic)
}

// serveWaitingLocked gives free places to slots that wait for one. If the first of the
// hungry topics may have none, no other may. It has all that is kept for it, and could use
// more: so that is the share of a topic, and not less because of a limit of its own. The
// others have as many places or more, and for none of them more than that share is kept.
func (s *Schedule) serveWaitingLocked() {
	for len(s.hungry.all) > 0 && s.freeLocked(s.hungry.all[0]) {
		x := s.hungry.all[0].waiting.first
		if !x.facts.Held && !s.payLocked(x) { // which the topic's weight says already
			s.weighLocked(x.topic)
			continue
		}
		s.unqueueLocked(x)
		if x.facts.Held {
			s.placeLocked(x)
			s.launchLocked(x)
		} else {
			s.readyLocked(x)
		}
	}
}

// lendLocked gives a slot n places beside its own, for a batch that is handled in
// parallel, or as many as there are. What it has too many of it gives back.
func (s *Schedule) lendLocked(x *Slot, n int) {
	n = max(n, 0)
	for x.borrowed < n && s.freeLocked(x.topic) {
		x.borrowed++
		s.countLocked(x.topic, 1)
	}
	if more := x.borrowed - n; more > 0 {
		x.borrowed = n
		s.returnLocked(x.topic, more)
	}
}

// Borrow gives a slot n places beside its own, or as many as there are, and returns how
// many it has then.
func (x *Slot) Borrow(n int) int {
	s := x.topic.schedule
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lendLocked(x, n)
	return x.borrowed
}

// ReturnOne gives one borrowed place back, if there is one.
func (x *Slot) ReturnOne() {
	s := x.topic.schedule
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lendLocked(x, x.borrowed-1)
}

// Suspend lets no slot take anything, or goes on again.
func (s *Schedule) Suspend(yes bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.suspended = yes
	if !yes {
		s.serveWaitingLocked()
	}
}

// newHungry is a heap of the topics of which slots wait, and that may have more places:
// the one to be served next first.
func newHungry() ordered[*Topic] {
	return ordered[*Topic]{
		less: func(a, b *Topic) bool {
			if a.used != b.used {
				return a.used < b.used
			}
			return a.given < b.given
		},
		rank: func(t *Topic) *int { return &t.rank },
	}
}
