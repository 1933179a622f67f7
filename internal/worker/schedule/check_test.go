package schedule

import (
	"math"
	"testing"
)

// check looks whether all that is noted twice agrees: each slot is in one place, as its state
// says, the sums are right, and nothing waits that could begin.
func (p *play) check(t *testing.T) {
	t.Helper()
	used, kept, waiters, queued, asleepUntil, active, starving, own, all := 0, 0, 0, 0, 0, 0, 0, 0, 0
	for _, x := range p.topics {
		mine, waits, assigned := 0, 0, 0
		ids := map[string]bool{}
		for i, s := range append(x.replaced[:len(x.replaced):len(x.replaced)], x.slots...) {
			mine += s.permit.borrowed
			if s.permit.held {
				mine++
			}
			if s.assigned {
				assigned++
			}
			if s.state == Waiting {
				waits++
			}
			if s.state == Ready {
				queued++
			}
			if s.state != Asleep {
				active++
			}
			if s.rank > 0 {
				asleepUntil++
			}
			current := i >= len(x.replaced)
			switch {
			case (s.in == &x.waiting) != (s.state == Waiting), (s.in != nil) != (s.state == Waiting || s.state == Ready):
				t.Errorf("topic %s slot %d is in a queue, or in none, in state %d", x.Name, s.Index, s.state)
			case s.rank > 0 && s.state != Asleep && s.state != Delayed, (s.rank > 0) != !s.at.IsZero(), s.state == Delayed && s.rank == 0:
				t.Errorf("topic %s slot %d is to wake at %v in state %d", x.Name, s.Index, s.at, s.state)
			case s.state == Asleep && (s.permit.held || s.permit.borrowed > 0), s.hung && s.permit.held && s.state == Working:
				t.Errorf("topic %s slot %d has a place in state %d", x.Name, s.Index, s.state)
			case !current && (s.assigned || s.state == Asleep):
				t.Errorf("topic %s slot %d is kept for nothing: assigned %v, state %d", x.Name, s.Index, s.assigned, s.state)
			case s.leaving.Load() && s.assigned:
				t.Errorf("topic %s slot %d is this worker's, and leaves", x.Name, s.Index)
			}
			// Two turns under one id would be told the same batch.
			if id := s.id + " " + string(rune(s.Index)); s.state != Asleep {
				if ids[id] {
					t.Errorf("topic %s slot %d has two turns under %s", x.Name, s.Index, s.id)
				}
				ids[id] = true
			}
		}
		if mine != x.used || waits != x.waiting.length || assigned != x.own || mine > x.Most || int(x.excess.Load()) != max(0, mine-x.allowed) {
			t.Errorf("topic %s: %d places counted as %d, %d slots assigned, counted as %d, %d places too many, %d waiting as %d", x.Name, mine, x.used, assigned, x.own, x.excess.Load(), waits, x.waiting.length)
		}
		x.checkRate(t)
		own, all = own+x.own, all+x.Slots
		dry := x.rated != nil && x.rated.throttled
		used, waiters, kept = used+mine, waiters+waits, kept+max(0, x.reserve-mine)
		if hungry := waits > 0 && mine < x.allowed && !dry; hungry != (x.rank > 0) {
			t.Errorf("topic %s is hungry: %t, rank %d among them", x.Name, hungry, x.rank)
		}
		if x.allowed == 0 && waits > 0 && x.waiting.first.facts.Held {
			t.Errorf("topic %s may have no place, and a batch of it waits for one", x.Name)
		}
		// It never grows beyond what it may have.
		if mine > max(p.had[x], x.allowed) {
			t.Errorf("topic %s has %d places, of %d", x.Name, mine, x.allowed)
		}
		p.had[x] = mine
		if waits > 0 && p.permits.free(x) && !dry {
			starving++
		}
	}
	if used != p.permits.used || kept != p.permits.kept || waiters != int(p.permits.waiters.Load()) || used > p.permits.limit || used+kept > p.permits.limit && !p.limited || starving > 0 {
		t.Errorf("%d places counted as %d, %d kept as %d, of %d; %d waiting as %d, of %d topics in vain",
			used, p.permits.used, kept, p.permits.kept, p.permits.limit, waiters, p.permits.waiters.Load(), starving)
	}
	if own != p.own || all != p.all {
		t.Errorf("%d of %d slots are counted as %d of %d", own, all, p.own, p.all)
	}
	if queued != p.ready.length || asleepUntil != len(p.sleepers.all) || active != p.active {
		t.Errorf("%d ready counted as %d, %d that will wake as %d, %d active as %d",
			queued, p.ready.length, asleepUntil, len(p.sleepers.all), active, p.active)
	}
}

// checkRate looks whether what is noted of a topic's rate agrees.
func (x *Topic) checkRate(t *testing.T) {
	t.Helper()
	own := 0
	for _, s := range append(x.replaced[:len(x.replaced):len(x.replaced)], x.slots...) {
		if s.assigned {
			own++
		}
		if s.paid < 0 || s.paid > 0 && s.state == Asleep {
			t.Errorf("topic %s slot %d has paid for %d messages in state %d", x.Name, s.Index, s.paid, s.state)
		}
	}
	if own != x.own {
		t.Errorf("topic %s has %d slots counted as %d", x.Name, own, x.own)
	}
	r := x.rated
	if r == nil {
		return
	}
	b := &r.bucket
	if part := r.PerSecond * float64(own) / float64(x.Slots); math.Abs(b.rate-part) > some || b.tokens < 0 || b.tokens > b.most+r.PerSecond*0.050+some {
		t.Errorf("topic %s has %d of %d slots, and %v; its bucket is %+v", x.Name, own, x.Slots, r.Rate, *b)
	}
	if r.throttled != (r.rank > 0) || r.throttled && (x.waiting.length == 0 || x.waiting.first.facts.Held) {
		t.Errorf("topic %s is dry: %v, rank %d, %d slots wait", x.Name, r.throttled, r.rank, x.waiting.length)
	}
}
