package protocol_test

import (
	"maps"

	"github.com/slotmq/go-rmq/internal/protocol"
)

// ledger is what the users of a slot may expect of every content, kept apart
// from what Redis knows.
type ledger map[string]*account

type account struct {
	owed       bool           // a send is neither handled, nor dead, nor cancelled
	sends      int            // counted
	deliveries int            // since the last send that was stored, and neither handed back nor put back
	promised   int64          // due or priority of the copy that waits fresh; 0: no promise
	later      int64          // when the copy that waits may be delivered, since its handler put it back
	noted      *protocol.Note // what the sends of the newest copy come to, in topics with notes
	unique     int64          // until when it is
	kept       int64          // the priority of that copy, if it is a first delivery
}

// invariants hold after every request that reaches Redis. What turn, touch and
// cancel do to the state is told in full by type slot; these say, in another way,
// what it is for.
var invariants = []struct {
	name string
	says func(d *driver, e *effect) string // what is wrong, or ""
}{
	{"LOST: what is owed waits, is in flight, or waits for its retry", func(d *driver, e *effect) string {
		for x, account := range d.ledger {
			if _, here := whereIs(e.after, x); account.owed && !here {
				return x
			}
		}
		return ""
	}},
	{"HOLDER: a batch in flight has a holder and a number", func(_ *driver, e *effect) string {
		if len(e.after.prepare) > 0 && (e.after.holder == "" || e.after.number == 0) {
			return "holder " + e.after.holder
		}
		return ""
	}},
	{"SERIAL: a batch in flight ends by its holder, by the end of its lease, or by the death of its worker", func(d *driver, e *effect) string {
		b := e.before
		if len(b.prepare) == 0 || maps.Equal(b.prepare, e.after.prepare) && b.number == e.after.number {
			return ""
		}
		byHolder := e.turn != nil && e.turn.Worker == b.holder && e.turn.Fence == b.number
		overdue := b.lease > 0 && b.until < d.now
		proven := e.turn != nil && e.turn.DeadHolder == b.holder && !d.alive[b.holder]
		if !byHolder && !overdue && !proven {
			return "batch of " + b.holder + " ended"
		}
		if !byHolder && len(e.after.prepare) > 0 {
			return "batch of " + b.holder + " replaced at once"
		}
		return ""
	}},
	{"GROWS: the number of a slot only grows, and every batch has one of its own", func(_ *driver, e *effect) string {
		if e.after.number < e.before.number || e.after.number == e.before.number && len(e.out.taken) > 0 {
			return "number"
		}
		return ""
	}},
	{"ALONE: a batch is all fresh, or one retry alone", func(_ *driver, e *effect) string {
		for x, mark := range e.after.prepare {
			if mark%1000 != retries && len(e.after.prepare) > 1 {
				return x
			}
		}
		return ""
	}},
	{"COPY: what was just taken waits nowhere else", func(_ *driver, e *effect) string {
		for _, t := range e.out.taken {
			if e.after.store[t.content] != 0 || e.after.retry[t.content] != 0 {
				return t.content
			}
		}
		return ""
	}},
	{"ATTEMPT: the attempt told is the number of deliveries since the last send, at most 17", func(d *driver, e *effect) string {
		for _, t := range e.out.taken {
			if t.attempt != d.ledger[t.content].deliveries || t.attempt > 17 {
				return t.content
			}
		}
		return ""
	}},
	{"MARK: prepare scores are the second of the take and the retries left", func(d *driver, e *effect) string {
		for _, t := range e.out.taken {
			if e.after.prepare[t.content] != d.now/1000*1000+17-int64(t.attempt) {
				return t.content
			}
		}
		return ""
	}},
	{"EARLY: nothing fresh comes before its time, and every priority is the last one sent", func(d *driver, e *effect) string {
		for _, t := range e.out.taken {
			promised := d.ledger[t.content].promised
			if t.score == 0 || promised == 0 {
				continue
			}
			if d.kind == priorityKind && t.score != promised || d.kind != priorityKind && d.now < promised {
				return t.content
			}
		}
		return ""
	}},
	{"LATER: what its handler put back does not come before its time", func(d *driver, e *effect) string {
		for _, t := range e.out.taken {
			if d.now < d.ledger[t.content].later {
				return t.content
			}
		}
		return ""
	}},
	{"PLACE: what was put back in a priority topic goes in the order of priorities", func(d *driver, e *effect) string {
		if d.kind != priorityKind || e.out.place > 0 || len(e.out.taken) == 0 || e.out.taken[0].score == 0 {
			return ""
		}
		for x, a := range d.ledger {
			if _, waits := e.after.retry[x]; waits && a.kept > e.out.taken[0].score && a.later <= d.now && e.after.store[x] <= retries {
				return x
			}
		}
		return ""
	}},
	{"DEAD: after exactly 17 deliveries, or by a verdict", func(d *driver, e *effect) string {
		for x, at := range e.after.dead {
			if e.before.dead[x] != at && !endedAs(e, x, deadNow) && !(endedAs(e, x, deadLast) && d.ledger[x].deliveries == 17) {
				return x
			}
		}
		return ""
	}},
	{"AGAIN: telling a batch again changes its lease only", func(_ *driver, e *effect) string {
		if !e.out.again {
			return ""
		}
		expected := e.before.clone()
		expected.until, expected.lease = e.after.until, e.after.lease
		expected.same(e.after)
		return ""
	}},
	{"PAUSED: nothing is taken while the slot is paused", func(_ *driver, e *effect) string {
		if e.before.paused && len(e.out.taken) > 0 {
			return e.out.taken[0].content
		}
		return ""
	}},
	{"STRANDED: no living worker that left the slot holds it", func(d *driver, e *effect) string {
		for _, w := range d.workers {
			if len(e.after.prepare) > 0 && w.id == e.after.holder && !w.joined && w.sent == nil {
				return w.id
			}
		}
		return ""
	}},
	{"EXPLAINED: every failed content that waits or is dead has its record in `why`, and only contents that are somewhere have one", func(_ *driver, e *effect) string {
		return unexplained(e.after)
	}},
	{"FLAG: meta tells if `why` holds records of contents that are not dead", func(_ *driver, e *effect) string {
		for x := range e.after.why {
			if _, buried := e.after.dead[x]; !buried && !e.after.explains {
				return x
			}
		}
		return ""
	}},
	{"PLAN: what stands for a time has a rule", func(_ *driver, e *effect) string {
		for name := range e.after.plans {
			if e.after.rules[name] == "" {
				return name
			}
		}
		return ""
	}},
	{"ONE COPY: an occurrence leaves alone what waits", func(_ *driver, e *effect) string {
		if waited := e.before.store[e.sends]; waited > retries && e.after.store[e.sends] != waited {
			return e.sends
		}
		return ""
	}},
	{"RULES: those of the package hold", func(d *driver, e *effect) string {
		return inWords(e.after.rulesBroken(d.k, d.kind == priorityKind, d.literal, d.now))
	}},
}

// whereIs names the one of store, prepare and retry that holds a content.
func whereIs(s *slot, x string) (where string, ok bool) {
	if _, ok := s.store[x]; ok {
		return "store", true
	}
	if _, ok := s.prepare[x]; ok {
		return "prepare", true
	}
	_, ok = s.retry[x]
	return "retry", ok
}

func endedAs(e *effect, x, fate string) bool {
	for _, end := range e.out.ended {
		if end.content == x && end.fate == fate {
			return true
		}
	}
	return false
}

// unexplained compares `why` with the failures it should explain.
func unexplained(s *slot) string {
	for x := range s.why {
		_, here := whereIs(s, x)
		if _, buried := s.dead[x]; !here && !buried {
			return x + " is nowhere, but has a record"
		}
	}
	for x := range s.dead {
		if _, ok := protocol.ParseFailure(s.why[x]); !ok {
			return x + " is dead, but has no record"
		}
	}
	for x, score := range s.retry {
		if failures := 17 - score%100; failures > 0 && s.store[x] <= retries && !hasFailed(s, x, failures) {
			return x + " waits for its retry, but has the record " + s.why[x]
		}
	}
	for x, score := range s.store {
		if score <= retries && !hasFailed(s, x, 17-score) {
			return x + " waits for its retry, but has the record " + s.why[x]
		}
	}
	return ""
}

func hasFailed(s *slot, x string, times int64) bool {
	record, ok := protocol.ParseFailure(s.why[x])
	return ok && record.Attempts == int(times) && record.Reason != "" && !record.Last.Before(record.First)
}

// apply enters what a turn did.
func (l ledger) apply(d *driver, e *effect) {
	for _, end := range e.out.ended {
		a := l[end.content]
		switch end.fate {
		case back:
			a.deliveries--
			for _, v := range e.turn.Verdicts {
				if v.Content == end.content && end.left == retries {
					a.promised = v.Priority
				}
			}
		case first:
			a.promised, a.later = e.after.store[end.content], 0
		case snoozed:
			a.deliveries--
			a.kept = 0
			for _, v := range e.turn.Verdicts {
				if v.Content != end.content {
					continue
				}
				a.later = d.now + v.Delay.Milliseconds()
				if end.left == retries {
					a.promised, a.kept = v.Priority, v.Priority
				}
			}
		case deadNow, deadLast:
			a.owed = false
		}
	}
	for _, t := range e.out.taken {
		l[t.content].deliveries++
	}
}

// delivered forgets the promises that were kept.
func (l ledger) delivered(e *effect) {
	for _, t := range e.out.taken {
		l[t.content].promised, l[t.content].later, l[t.content].kept = 0, 0, 0
	}
}

// send enters a send that was stored, or merged with what waits for `at`.
func (l ledger) send(x string, at int64) {
	a := l[x]
	a.owed, a.promised, a.deliveries, a.later, a.kept = true, at, 0, 0, 0
	a.sends++
}

// cancelled enters a cancel: nothing is owed any more, except that a copy in
// flight goes on, with its own count.
func (l ledger) cancelled(s *slot, x string) {
	a := l[x]
	a.owed, a.promised, a.later, a.kept = false, 0, 0, 0
	if mark, flying := s.prepare[x]; flying {
		a.deliveries = int(17 - mark%1000)
	}
}
