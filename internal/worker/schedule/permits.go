package schedule

import (
	"sync/atomic"
	"time"
)

// permits are the handlers that may run at once, one permit for each. While there are as many
// of them as topics, each topic has some that no other may take, half of its fair share
// and at least one: so a topic whose handlers are slow never keeps another from
// starting at once. What is left goes to the first that asks. Where there are more
// topics than permits, they take turns: see Slice.
//
// A slot without a permit waits. A permit that comes free goes to the topic that has
// the fewest, among those to the one that was given one least recently, and in it
// to the slot that has waited longest.
//
// This is the account alone: whoever gives back calls Schedule.serve.
type permits struct {
	limit     int
	topics    int // how many share them
	used      int
	kept      int             // that are free, and only their topic may take
	given     uint64          // so far
	suspended bool            // no slot may take anything
	waiting   ordered[*Topic] // that may have more, and of which slots wait: the one to be served next first
	waiters   atomic.Int32    // slots that wait
	rates     *rates
	now       func() time.Time
}

// quota is what a topic has of the permits.
type quota struct {
	used    int
	reserve int // that no other topic may take
	limits  [limiters]int
	allowed int          // the smallest of Topic.Most and the limits
	excess  atomic.Int32 // that it has, and may not have any more; changed with the schedule's lock
	latest  uint64       // the last permit it was given, of all that were
	waiting queue        // slots that are ready, or have a batch, but for a permit
	rank    int          // among the topics that wait
}

// permit is what a slot has of them.
type permit struct {
	held     bool
	since    time.Time // when it got it
	borrowed int       // that its batch has beside it
}

// count is how many they are.
func (p *permit) count() int {
	if p.held {
		return p.borrowed + 1
	}
	return p.borrowed
}

func newPermits(limit, topics int, now func() time.Time, rates *rates) permits {
	return permits{limit: limit, topics: topics, rates: rates, now: now, waiting: ordered[*Topic]{
		less: func(a, b *Topic) bool {
			if a.used != b.used {
				return a.used < b.used
			}
			return a.latest < b.latest
		},
		rank: func(t *Topic) *int { return &t.quota.rank },
	}}
}

// reserve is how many permits are kept free for a topic.
func reserve(limit, topics, most int) int {
	if topics > limit {
		return 0
	}
	return min(max(1, limit/topics/2), most)
}

// lacks is how many of the permits that are kept for a topic it does not have.
func (q *quota) lacks() int { return max(0, q.reserve-q.used) }

// free reports whether a topic may have one more permit.
func (p *permits) free(t *Topic) bool {
	return !p.suspended && p.used < p.limit && t.used < t.allowed && (t.used < t.reserve || p.used+p.kept < p.limit)
}

// count notes that a topic has n more permits, or fewer.
func (p *permits) count(t *Topic, n int) {
	p.kept -= t.lacks()
	t.used += n
	p.used += n
	p.kept += t.lacks()
	p.weigh(t)
}

// fit has a topic's permits follow its limits. What is kept for it does, too: a permit
// that it may not take is for others. When that is grown again there may be less than is kept,
// until others give permits back.
func (p *permits) fit(t *Topic) {
	t.allowed = t.Most
	for _, n := range t.limits {
		t.allowed = min(t.allowed, n)
	}
	p.kept -= t.lacks()
	t.reserve = min(reserve(p.limit, p.topics, t.Most), t.allowed)
	p.kept += t.lacks()
	p.weigh(t)
}

// weigh notes what follows from a change of what a topic has, of what it may have, or of which
// of its slots wait: whether it is one that waits, and how many permits it is to give up, for
// the batches under way to see.
func (p *permits) weigh(t *Topic) {
	if n := int32(max(0, t.used-t.allowed)); n != t.excess.Load() {
		t.excess.Store(n)
	}
	if throttled := t.rated != nil && p.rates.throttles(t); !throttled && t.waiting.length > 0 && t.used < t.allowed {
		p.waiting.put(t)
	} else {
		p.waiting.remove(t)
	}
}

// acquire gives a slot a permit for its next turn, which it pays for, if it can have both now.
func (p *permits) acquire(x *Slot) bool {
	if paysAfterOthers(x) || !p.free(x.topic) || !p.rates.pay(x) {
		return false
	}
	p.give(x)
	return true
}

// give gives a slot a permit.
func (p *permits) give(x *Slot) {
	x.permit.held, x.permit.since = true, p.now()
	p.given++
	x.topic.latest = p.given
	p.count(x.topic, 1)
}

// release gives back the slot's permits, if it has any.
func (p *permits) release(x *Slot) {
	if n := x.permit.count(); n > 0 {
		x.permit.held, x.permit.borrowed = false, 0
		p.count(x.topic, -n)
	}
}

// spend notes for how many messages the slot's turn, or its batch, has used what the slot had paid.
// It reports whether the rest lets others have permits.
func (p *permits) spend(x *Slot, n int) bool {
	if !p.rates.settle(x, min(x.paid, n)) {
		return false
	}
	p.weigh(x.topic)
	return true
}

// payAgain has a slot that keeps its permit pay for its next turn. It reports false if the slot
// cannot pay, or leaves what there is to others that wait: then it is only to report its batch.
func (p *permits) payAgain(x *Slot) bool {
	paid := p.rates.payAgain(x)
	p.weigh(x.topic)
	return paid
}

// lend gives a slot n permits beside its own, for a batch that is handled in parallel, or
// as many as there are. What it has too many of it gives back.
func (p *permits) lend(x *Slot, n int) {
	n = max(n, 0)
	for x.permit.borrowed < n && p.free(x.topic) {
		x.permit.borrowed++
		p.count(x.topic, 1)
	}
	if more := x.permit.borrowed - n; more > 0 {
		x.permit.borrowed = n
		p.count(x.topic, -more)
	}
}

// await enters a slot among those that wait. One that has a batch already goes before those of
// its topic that want one.
func (p *permits) await(x *Slot) {
	if x.facts.Held {
		x.topic.waiting.pushFront(x)
	} else {
		x.topic.waiting.push(x)
	}
	p.waiters.Add(1)
	p.weigh(x.topic)
}

// awaitNoMore takes a slot out from among those that wait.
func (p *permits) awaitNoMore(x *Slot) {
	x.in.remove(x)
	p.waiters.Add(-1)
	p.weigh(x.topic)
}

// next gives a permit to the slot that is to have the next one, and returns it, or nil if none
// may have any. If the first of the topics that wait may have none, no other may. It has all
// that is kept for it, and could use more: so that is the share of a topic, and not less
// because of a limit of its own. The others have as many permits or more, and for none of them
// more than that share is kept.
func (p *permits) next() *Slot {
	for len(p.waiting.all) > 0 && p.free(p.waiting.all[0]) {
		x := p.waiting.all[0].waiting.first
		if !x.facts.Held && !p.rates.pay(x) { // which the topic's weight says already
			p.weigh(x.topic)
			continue
		}
		p.awaitNoMore(x)
		p.give(x)
		return x
	}
	return nil
}

// Slice is how long a slot that is busy keeps its permit while others wait for one
// that have no better right to it. The batch it has in hand when that is over ends
// with the message being handled. So with more topics than permits all of them busy,
// each is served within (topics/permits, rounded up) × (a slice + the longest handler).
const Slice = 100 * time.Millisecond

// yields reports whether a slot that finishes a batch must let another have its permit. It
// keeps it else, since a turn that only reports would be one more.
func (p *permits) yields(x *Slot, now time.Time) bool {
	if !x.facts.Held {
		return false
	}
	ahead := p.ahead(x)
	return ahead > 1 || now.Sub(x.permit.since) > Slice && (ahead > 0 || x.topic.waiting.length > 0)
}

// ahead is how many more permits the slot's topic has than the one to be served next. A
// difference of two means that they would be shared out more evenly if the slot
// had none. With one, the two topics take turns. A topic that has all it may have
// does not count: it could not use the permit.
func (p *permits) ahead(x *Slot) int {
	if len(p.waiting.all) == 0 {
		return 0
	}
	return x.topic.used - p.waiting.all[0].used
}
