package schedule

// A topic may have Topic.Most permits, and at times fewer: each limiter says how many, and the
// schedule goes by the smallest. A limiter touches no slot of the topic. Those that
// get no permit wait, as they always do for one, and go on by themselves when more is allowed.
//
// A permit in use is not taken away, since a handler runs under it. It comes back after the
// message in hand: the rest of the batch is handed back, and the next turn only reports.

// Limiter is a reason for which a topic may have fewer permits.
type Limiter uint8

const (
	ByFlow     Limiter = iota // more handlers would handle no more
	ByBreaker                 // all of them fail
	ByPushback                // its handlers want no more for a while
	ByPolicy                  // a person has set it
	limiters                  // how many there are
)

// Allow sets how many permits a topic may have in the eyes of a limiter, from now on. With 0
// nothing of it is begun, and batches that wait for their permit are given back.
func (t *Topic) Allow(by Limiter, permits int) {
	s := t.lock()
	defer s.mu.Unlock()
	t.limits[by] = max(permits, 0)
	s.permits.fit(t)
	for x := t.waiting.first; t.allowed == 0 && x != nil && x.facts.Held; x = t.waiting.first {
		s.permits.awaitNoMore(x)
		s.launch(x) // without a permit, which gives its batch back
	}
	s.serve()
}

// Allowed returns how many permits a topic may have, in the eyes of all.
func (t *Topic) Allowed() int {
	s := t.lock()
	defer s.mu.Unlock()
	return t.allowed
}

// Used returns how many permits a topic has.
func (t *Topic) Used() int {
	s := t.lock()
	defer s.mu.Unlock()
	return t.used
}

// Demand is how much a topic makes of the permits it may have.
type Demand struct {
	Permits int  // in use
	Waiting bool // slots of it wait for a permit; not where they wait for tokens
	Full    bool // nearly all that it could have without any limit are in use
	Others  bool // another limiter allows it fewer than its flow does
	Slots   int  // of it are this worker's
}

// Demand returns that of a topic.
func (t *Topic) Demand() Demand {
	s := t.lock()
	defer s.mu.Unlock()
	could := min(t.Most, s.permits.limit)
	if t.Together == nil {
		could = min(could, t.own)
	}
	waiting := t.waiting.length > 0 && (t.rated == nil || !t.rated.throttled)
	return Demand{Permits: t.used, Waiting: waiting, Full: 10*t.used >= 9*could, Others: t.allowed < t.limits[ByFlow], Slots: t.own}
}
