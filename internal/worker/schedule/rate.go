package schedule

import "time"

// A topic may have a rate: so many messages a second in the whole cluster. Each worker has a
// bucket with the part of it that its slots are of all slots. So the parts follow the slots
// with no word between workers, and together they are the rate: a worker with all slots has
// all of it.
//
// A slot pays for the messages of a turn before the turn, when it gets its permit: one token
// each, at most twice as many as its last turn took. What was not taken is given back, and so
// is what was taken and not begun. Slots that cannot pay wait where slots wait for a permit, and
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
	bucket    bucket
	throttled bool      // slots wait for tokens, until `tokens`
	tokens    time.Time // when there will be some
	rank      int       // among the topics that are throttled
}

// rates are the topics with a rate.
type rates struct {
	throttled ordered[*Topic] // by when they will have tokens
	alarm     alarm
	now       func() time.Time
}

func newRates(now func() time.Time, a alarm) rates {
	return rates{now: now, alarm: a, throttled: ordered[*Topic]{
		less: func(a, b *Topic) bool { return a.rated.tokens.Before(b.rated.tokens) },
		rank: func(t *Topic) *int { return &t.rated.rank },
	}}
}

// SetRate sets the rate of a topic from now on.
func (t *Topic) SetRate(rate Rate) {
	s := t.lock()
	defer s.mu.Unlock()
	s.rates.set(t, rate)
	s.permits.weigh(t)
	s.serve()
}

// Rate returns the rate of a topic.
func (t *Topic) Rate() (rate Rate) {
	s := t.lock()
	defer s.mu.Unlock()
	if t.rated != nil {
		rate = t.rated.Rate
	}
	return rate
}

// set sets the rate of a topic, none of whose slots waits for tokens then.
func (r *rates) set(t *Topic, rate Rate) {
	if rate.PerSecond <= 0 {
		r.throttle(t, false)
		t.rated = nil
		return
	}
	if t.rated == nil {
		t.rated = &rated{bucket: bucket{tokens: rate.Phase, at: r.now()}}
	}
	t.rated.Rate = rate
	r.share(t)
	r.throttle(t, false)
}

// share has a topic's bucket follow its rate, and the slots that the worker has of it.
func (r *rates) share(t *Topic) {
	if t.rated == nil {
		return
	}
	b := r.bucket(t)
	part := float64(t.own) / float64(t.Slots)
	if b.rate == 0 && part > 0 {
		b.at = r.now().Add(settles)
	}
	b.set(t.rated.PerSecond*part, t.rated.Burst*part)
	if t.rated.throttled {
		r.throttle(t, true)
	}
}

// bucket is that of a topic with a rate, as it is now.
func (r *rates) bucket(t *Topic) *bucket {
	b := &t.rated.bucket
	b.fill(r.now(), t.rated.throttled)
	return b
}

// wants is how many messages a turn of the slot is to pay for.
func wants(x *Slot) int { return max(1, x.topic.Wants, 2*x.took) }

// pay has a slot pay for its next turn. It reports false if it cannot.
func (r *rates) pay(x *Slot) bool {
	if x.topic.rated == nil || x.paid > 0 {
		return true
	}
	x.paid = r.bucket(x.topic).take(wants(x))
	return x.paid > 0
}

// payAgain is pay for a slot that keeps its permit. It leaves what there is to others that wait.
func (r *rates) payAgain(x *Slot) bool {
	if x.paid == 0 && x.topic.waiting.length > 0 && r.bucket(x.topic).whole() < wants(x) {
		return false
	}
	return r.pay(x)
}

// paysAfterOthers reports whether a slot without a permit must wait because others of its topic
// wait for tokens.
func paysAfterOthers(x *Slot) bool {
	return x.topic.rated != nil && x.paid == 0 && x.topic.waiting.length > 0
}

// settle gives back what a slot has paid, but for n messages. It reports whether that ends a
// wait for tokens.
func (r *rates) settle(x *Slot, n int) (tokens bool) {
	t, rest := x.topic, x.paid-n
	x.paid = n
	if t.rated == nil || rest == 0 {
		return false
	}
	b := r.bucket(t)
	b.giveBack(rest)
	if !t.rated.throttled || b.whole() == 0 {
		return false
	}
	r.throttle(t, false)
	return true
}

// throttles reports whether the first slot of a topic with a rate that waits could have a permit, but for tokens.
func (r *rates) throttles(t *Topic) bool {
	switch {
	case t.waiting.length == 0 || t.waiting.first.facts.Held || t.waiting.first.paid > 0:
		r.throttle(t, false)
	case !t.rated.throttled && r.bucket(t).whole() == 0:
		r.throttle(t, true)
	}
	return t.rated.throttled
}

// throttle notes whether slots of a topic wait for tokens, and until when.
func (r *rates) throttle(t *Topic, yes bool) {
	switch {
	case yes:
		t.rated.throttled = true
		t.rated.tokens = t.rated.bucket.at.Add(t.rated.bucket.in())
		r.throttled.put(t)
		if r.throttled.all[0] == t {
			r.alarm.sooner()
		}
	case t.rated != nil && t.rated.throttled:
		t.rated.throttled = false
		r.throttled.remove(t)
	}
}

// next takes a topic that has tokens by now out from among those that are throttled. If there is none, it
// returns how long it is until the next one has.
func (r *rates) next(now time.Time) (*Topic, time.Duration) {
	if len(r.throttled.all) == 0 {
		return nil, time.Hour
	}
	t := r.throttled.all[0]
	if in := t.rated.tokens.Sub(now); in > 0 {
		return nil, in
	}
	r.bucket(t) // what came while it was throttled
	r.throttle(t, false)
	return t, 0
}
