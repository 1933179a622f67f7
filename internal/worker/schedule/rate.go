package schedule

import "time"

// A topic may have a rate: so many messages a second in the whole cluster. Each worker has a
// bucket with the part of it that its slots are of all slots. So the parts follow the slots
// with no word between workers, and together they are the rate: a worker with all slots has
// all of it.
//
// A slot pays for the messages of a turn before the turn, when it gets its place: one token
// each, at most twice as many as its last turn took. What was not taken is given back, and so
// is what was taken and not begun. Slots that cannot pay wait where slots wait for a place, and
// are served in turn. One that has a batch to report does not wait: its turn reports, and takes
// nothing.

// Rate is how many messages of a topic all workers begin together. The zero Rate is none.
type Rate struct {
	PerSecond float64
	Burst     float64 // how many may begin at once after a time with fewer

	// Phase is the part of a token that the worker begins with, from 0 to 1. Let it be a
	// random one: then workers that come and go begin as many as those that stay, however
	// seldom that is.
	Phase float64
}

// settles is how long no tokens come after the first slots have: workers that start together each believe for a
// moment that they have more of them.
const settles = 100 * time.Millisecond

// rated is what a topic with a rate has.
type rated struct {
	Rate
	bucket bucket
	dry    bool      // slots wait for tokens, until `wet`
	wet    time.Time // when there will be some
	rank   int       // in the heap of dry topics
}

// SetRate sets the rate of a topic from now on.
func (t *Topic) SetRate(r Rate) {
	s := t.schedule
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case r.PerSecond <= 0:
		if t.rated != nil {
			s.dry.remove(t)
		}
		t.rated = nil
	case t.rated == nil:
		t.rated = &rated{Rate: r, bucket: bucket{tokens: r.Phase, at: s.now()}}
		s.partLocked(t)
	default:
		t.rated.Rate = r
		s.partLocked(t)
	}
	s.wetLocked(t)
}

// RateOf returns the rate of a topic.
func (s *Schedule) RateOf(t *Topic) (r Rate) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.rated != nil {
		r = t.rated.Rate
	}
	return r
}

// partLocked has a topic's bucket follow its rate, and the slots that the worker has of it.
func (s *Schedule) partLocked(t *Topic) {
	r := t.rated
	if r == nil {
		return
	}
	s.fillLocked(t)
	part := float64(t.own) / float64(t.Slots)
	if r.bucket.rate == 0 && part > 0 {
		r.bucket.at = s.now().Add(settles)
	}
	r.bucket.set(r.PerSecond*part, r.Burst*part)
	if r.dry {
		s.dryLocked(t)
	}
}

// fillLocked brings a topic's bucket up to now.
func (s *Schedule) fillLocked(t *Topic) { t.rated.bucket.fill(s.now(), t.rated.dry) }

// wantsLocked is how many messages a turn of the slot is to pay for.
func (x *Slot) wantsLocked() int { return max(1, x.topic.Wants, 2*x.took) }

// payLocked has a slot pay for its next turn. It reports false if it cannot.
func (s *Schedule) payLocked(x *Slot) bool {
	t := x.topic
	if t.rated == nil || x.paid > 0 {
		return true
	}
	s.fillLocked(t)
	if x.paid = t.rated.bucket.take(x.wantsLocked()); x.paid == 0 {
		return false
	}
	s.weighLocked(t)
	return true
}

// queuesLocked reports whether a slot without a place must wait because others of its topic
// wait for tokens.
func (x *Slot) queuesLocked() bool {
	return x.topic.rated != nil && x.paid == 0 && x.topic.waiting.length > 0
}

// reportsLocked reports whether a slot that keeps its place is only to report its batch: it
// cannot pay, or leaves what there is to others that wait.
func (s *Schedule) reportsLocked(x *Slot) bool {
	t := x.topic
	if t.rated == nil {
		return false
	}
	if x.paid == 0 && t.waiting.length > 0 {
		if s.fillLocked(t); t.rated.bucket.whole() < x.wantsLocked() {
			return true
		}
	}
	return !s.payLocked(x)
}

// settleLocked gives back what a slot has paid, but for n messages.
func (s *Schedule) settleLocked(x *Slot, n int) {
	t, rest := x.topic, x.paid-n
	x.paid = n
	if t.rated == nil || rest == 0 {
		return
	}
	s.fillLocked(t)
	t.rated.bucket.giveBack(rest)
	if t.rated.dry && t.rated.bucket.whole() > 0 {
		s.wetLocked(t)
	}
}

// drainedLocked reports whether the first slot that waits could have a place, but for tokens.
func (s *Schedule) drainedLocked(t *Topic) bool {
	r := t.rated
	if r == nil {
		return false
	}
	if t.waiting.length == 0 || t.waiting.first.facts.Held || t.waiting.first.paid > 0 {
		r.dry = false
		s.dry.remove(t)
		return false
	}
	if !r.dry {
		if s.fillLocked(t); r.bucket.whole() > 0 {
			return false
		}
		r.dry = true
		s.dryLocked(t)
	}
	return true
}

// dryLocked sets when a topic without tokens will have some.
func (s *Schedule) dryLocked(t *Topic) {
	t.rated.wet = t.rated.bucket.at.Add(t.rated.bucket.in())
	s.dry.put(t)
	if s.dry.all[0] == t {
		s.soonerLocked()
	}
}

// wetLocked serves the slots of a topic that has tokens again, or no rate any more.
func (s *Schedule) wetLocked(t *Topic) {
	if t.rated != nil {
		t.rated.dry = false
		s.dry.remove(t)
	}
	s.weighLocked(t)
	s.serveWaitingLocked()
}

// refillLocked serves the slots of topics that have tokens by now, and returns how long it is
// until the next one has.
func (s *Schedule) refillLocked(now time.Time) time.Duration {
	for len(s.dry.all) > 0 {
		t := s.dry.all[0]
		if in := t.rated.wet.Sub(now); in > 0 {
			return in
		}
		s.fillLocked(t)
		s.wetLocked(t)
	}
	return time.Hour
}

// newDry is a heap of the topics without tokens, by when they will have some.
func newDry() ordered[*Topic] {
	return ordered[*Topic]{
		less: func(a, b *Topic) bool { return a.rated.wet.Before(b.rated.wet) },
		rank: func(t *Topic) *int { return &t.rated.rank },
	}
}
