package schedule

// A topic may have Topic.Most places, and at times fewer: each limiter says how many, and the
// schedule goes by the smallest. A limiter touches no slot of the topic. Those that
// get no place wait, as they always do for one, and go on by themselves when more is allowed.
//
// A place in use is not taken away, since a handler runs in it. It comes back after the
// message in hand: the rest of the batch is handed back, and the next turn only reports.

// Limiter is a reason for which a topic may have fewer places.
type Limiter uint8

const (
	ByFlow     Limiter = iota // more handlers would handle no more
	ByBreaker                 // all of them fail
	ByPushback                // its handlers want no more for a while
	ByPolicy                  // a person has set it
	limiters                  // how many there are
)

// Allow sets how many places a topic may have in the eyes of a limiter, from now on. With 0
// nothing of it is begun, and batches that wait for their place are given back.
func (t *Topic) Allow(by Limiter, places int) {
	s := t.schedule
	s.mu.Lock()
	defer s.mu.Unlock()
	t.limits[by] = max(places, 0)
	s.allowLocked(t)
}

// Allowed returns how many places a topic may have, in the eyes of all.
func (t *Topic) Allowed() int {
	s := t.schedule
	s.mu.Lock()
	defer s.mu.Unlock()
	return t.allowed
}

// Used returns how many places a topic has.
func (t *Topic) Used() int {
	s := t.schedule
	s.mu.Lock()
	defer s.mu.Unlock()
	return t.used
}

// Demand is how much a topic makes of the places it may have.
type Demand struct {
	Places  int  // in use
	Waiting bool // slots of it wait for a place; not where they wait for tokens
	Full    bool // nearly all that it could have without any limit are in use
	Others  bool // another limiter allows it fewer than its flow does
	Slots   int  // of it are this worker's
}

// Demand returns that of a topic.
func (t *Topic) Demand() Demand {
	s := t.schedule
	s.mu.Lock()
	defer s.mu.Unlock()
	could := min(t.Most, s.limit)
	if t.Together == nil {
		could = min(could, t.own)
	}
	waiting := t.waiting.length > 0 && (t.rated == nil || !t.rated.dry)
	return Demand{Places: t.used, Waiting: waiting, Full: 10*t.used >= 9*could, Others: t.allowed < t.limits[ByFlow], Slots: t.own}
}

// unlimit lets a new topic have all its places.
func (t *Topic) unlimit() {
	for by := range t.limits {
		t.limits[by] = t.Most
	}
}

// allowLocked has a topic's places follow its limits. What is kept for it does, too: a place
// that it may not take is for others. When that is grown again there may be less than is kept,
// until others give places back.
func (s *Schedule) allowLocked(t *Topic) {
	t.allowed = t.Most
	for _, n := range t.limits {
		t.allowed = min(t.allowed, n)
	}
	s.kept -= t.lacksLocked()
	t.reserve = min(reserve(s.limit, len(s.topics), t.Most), t.allowed)
	s.kept += t.lacksLocked()
	t.excessLocked()
	s.weighLocked(t)
	for x := t.waiting.first; t.allowed == 0 && x != nil && x.facts.Held; x = t.waiting.first {
		s.unqueueLocked(x)
		s.launchLocked(x) // without a place, which gives its batch back
	}
	s.serveWaitingLocked()
}

// lacksLocked is how many of the places that are kept for a topic it does not have.
func (t *Topic) lacksLocked() int { return max(0, t.reserve-t.used) }

// excessLocked notes how many places a topic has that it may not have any more, for the
// batches under way to see.
func (t *Topic) excessLocked() {
	if n := int32(max(0, t.used-t.allowed)); n != t.excess.Load() {
		t.excess.Store(n)
	}
}

// GiveUp gives a place of a slot's batch back if its topic has more than it may have, and
// reports whether it did: then no other message of the batch may begin. A borrowed place is left
// to ReturnOne.
func (x *Slot) GiveUp() bool {
	s := x.topic.schedule
	if x.topic.excess.Load() == 0 { // nearly always
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if x.topic.excess.Load() == 0 {
		return false
	}
	if x.borrowed == 0 {
		s.releaseLocked(x)
	}
	return true
}
