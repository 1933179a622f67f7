package protocol_test

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slotmq/go-rmq/internal/protocol"
)

// The scripts told a second time, in Go: from the state of a slot, a request
// and its answer follows the state afterwards. What is left to chance (which of
// equal contents are taken) is read from the answer; everything else must
// agree. Every difference is a broken rule, thrown as a panic.

const (
	retries  = 16 // after the first delivery
	putBack  = 18 // marks a first delivery in retry that was put back with its priority
	maxBatch = protocol.MaxBatch
)

// slot is everything Redis knows about one slot.
type slot struct {
	store, prepare, retry, dead map[string]int64
	firsts                      map[string]int64 // since when what extends waits
	seen                        map[string]int64 // until when unique ones are
	why, notes                  map[string]string
	plans                       map[string]int64  // name -> when its rule occurs next
	rules                       map[string]string // name -> base and rule

	holder               string
	number, until, lease int64
	paused, explains     bool
	since                int64 // when it was paused; 0 also where that is no number

	passed int   // fresh ones that went before due retries
	later  int64 // when the last one that was put back is due

	most int // bytes of a batch, for the script that answers; 0: 1 MiB
}

// fits tells if contents may be one batch.
func fits(contents []string, most int) bool {
	if most == 0 {
		most = 1 << 20
	}
	sum := 0
	for _, x := range contents {
		sum += len(x)
	}
	return sum <= most || len(contents) == 1
}

func (s *slot) clone() *slot {
	c := *s
	c.store, c.prepare, c.retry, c.dead = maps.Clone(s.store), maps.Clone(s.prepare), maps.Clone(s.retry), maps.Clone(s.dead)
	c.why, c.notes, c.firsts, c.seen = maps.Clone(s.why), maps.Clone(s.notes), maps.Clone(s.firsts), maps.Clone(s.seen)
	c.plans, c.rules = maps.Clone(s.plans), maps.Clone(s.rules)
	return &c
}

// broken is a rule that did not hold.
type broken struct{ rule, detail string }

func need(ok bool, rule, format string, args ...any) {
	if !ok {
		panic(broken{rule, fmt.Sprintf(format, args...)})
	}
}

// outcome is what a turn did, for the ledger.
type outcome struct {
	ended   []ending   // of the batch that was in flight
	taken   []delivery // the batch that is
	over    string     // the reason why a batch was taken over
	again   bool       // a batch was told again
	wanted  bool       // it took a retry that was wanted before what would have come first
	place   int        // of the one that it took alone from behind others; 0: it did not
	dropped bool       // a due retry merged into a fresh copy
	takenUp []string   // what was put back before, and took its place
}

type ending struct {
	content string
	left    int64 // retries if that delivery failed
	fate    string
}

const (
	done     = "done"
	merged   = "merged" // a fresh copy won
	back     = "back"   // not started
	first    = "first"  // not started, or put back, and the fresh copy takes its time
	snoozed  = "snoozed"
	failed   = "failed"
	deadLast = "dead after its last delivery"
	deadNow  = "dead by verdict"
)

type delivery struct {
	content string
	attempt int
	score   int64 // of a fresh one in the store, else 0
}

// turn expects what turn.lua does at the time now.
func (s *slot) turn(t *protocol.Turn, now int64, a protocol.Answer) (o outcome) {
	following := max(s.number+1, now*1000) // the clock of the tests has whole ms
	mine := s.holder == t.Worker && s.number == t.Fence
	if len(s.prepare) > 0 && s.holder == t.Worker && !mine {
		s.again(t, now, a)
		o.again = true
		return o
	}
	if len(s.prepare) > 0 && !mine {
		switch {
		case s.holder == "":
			o.over = "its holder is unknown"
		case s.holder == t.DeadHolder:
			o.over = "its worker died"
		case s.lease > 0 && s.until < now:
			o.over = "the lease of its worker ended"
		default:
			s.busy(now, a)
			return o
		}
		for x, mark := range s.prepare {
			v := protocol.Verdict{Content: x, Delay: t.TakeoverDelay, Reason: o.over}
			o.ended = append(o.ended, s.end(x, mark, &v, t, now))
		}
		clear(s.prepare)
		s.holder, s.number = "", following
		need(a.Code == protocol.Number && a.Fence == following, "NUMBER", "of a take-over must be NUMBER %d, not %s %d", following, a.Code, a.Fence)
		return o
	}
	if !mine && t.Fence != s.number {
		need(a.Code == protocol.Number && a.Fence == s.number, "NUMBER", "must be told to who does not know it (%d), not %s %d", s.number, a.Code, a.Fence)
		return o
	}
	o.ended = s.finish(t, now)
	switch {
	case t.Count == 0:
		s.holder, s.number = "", following
		need(a.Code == protocol.Left && a.Fence == following, "LEAVE", "must answer LEFT %d, not %s %d", following, a.Code, a.Fence)
	case s.paused:
		need(a.Code == protocol.Paused && a.Fence == s.number, "PAUSED", "must be answered with number %d, not %s %d", s.number, a.Code, a.Fence)
	default:
		s.take(t, now, a, &o)
		if len(o.taken) > 0 {
			need(a.Fence == following, "NUMBER", "of a new batch must be %d, not %d", following, a.Fence)
			s.holder, s.number, s.lease = t.Worker, following, t.Lease.Milliseconds()
			s.until = now + s.lease
		}
	}
	return o
}

func (s *slot) again(t *protocol.Turn, now int64, a protocol.Answer) {
	need(a.Code == protocol.Batch && a.Fence == s.number, "AGAIN", "must tell batch %d, not %s %d", s.number, a.Code, a.Fence)
	need(sameSet(a.Contents, s.prepare), "AGAIN", "told %q of %v", a.Contents, s.prepare)
	for i, x := range a.Contents {
		need(int64(a.Attempt) == 17-s.prepare[x]%1000, "AGAIN", "attempt %d of %s", a.Attempt, x)
		s.told(x, a, i, 0, time.Time{})
	}
	s.lease = t.Lease.Milliseconds()
	s.until = now + s.lease
}

func (s *slot) busy(now int64, a protocol.Answer) {
	need(a.Code == protocol.Busy && a.Holder == s.holder, "BUSY", "must name %s, not %s %s", s.holder, a.Code, a.Holder)
	if s.lease > 0 && s.until > now+2*s.lease { // the clock stepped back
		s.until = now + s.lease
	}
	need(a.Wait.Milliseconds() == max(0, s.until-now), "BUSY", "for %v, not %d ms", a.Wait, max(0, s.until-now))
}

// finish expects the end of the worker's own batch.
func (s *slot) finish(t *protocol.Turn, now int64) (ended []ending) {
	verdicts := map[string]*protocol.Verdict{}
	for i := range t.Verdicts {
		verdicts[t.Verdicts[i].Content] = &t.Verdicts[i]
	}
	for x, mark := range s.prepare {
		if v := verdicts[x]; v != nil {
			ended = append(ended, s.end(x, mark, v, t, now))
			continue
		}
		ended = append(ended, ending{x, mark % 1000, done})
		if _, buried := s.dead[x]; !buried {
			delete(s.why, x)
		}
	}
	clear(s.prepare)
	return ended
}

// end expects the end of one content that was not done.
func (s *slot) end(x string, mark int64, v *protocol.Verdict, t *protocol.Turn, now int64) ending {
	left := mark % 1000
	if v.Fate == protocol.PutBack {
		return s.putOff(x, left, v, t, now+v.Delay.Milliseconds(), now)
	}
	due := min(now, mark-left)
	if at := v.Due.UnixMilli(); at > retries && v.Fate == protocol.NotStarted {
		due = min(now, at)
	}
	if v.Fate == protocol.NotStarted && t.Merge && left == retries && s.store[x] > due {
		s.store[x] = due
		return ending{x, left, first}
	}
	if s.store[x] > retries {
		return ending{x, left, merged}
	}
	if v.Fate == protocol.NotStarted {
		switch {
		case left < retries:
			s.retry[x] = now*100 + left + 1
		case !t.Priority:
			s.store[x] = due
		case v.Priority > 0:
			s.store[x] = v.Priority
		default:
			s.retry[x] = now*100 + 17
		}
		return ending{x, left, back}
	}
	s.note(x, left, v, now)
	switch {
	case v.Fate == protocol.Dead:
		s.dead[x] = now
		return ending{x, left, deadNow}
	case left == 0:
		s.dead[x] = now
		return ending{x, left, deadLast}
	case v.Delay > 0:
		s.retry[x] = (now+v.Delay.Milliseconds())*100 + left
	default:
		s.store[x] = left
	}
	return ending{x, left, failed}
}

// putOff expects the end of one content that its handler put back.
func (s *slot) putOff(x string, left int64, v *protocol.Verdict, t *protocol.Turn, due, now int64) ending {
	e := ending{x, left, snoozed}
	switch waits := s.store[x]; {
	case waits > retries && t.Merge && left == retries && due < waits:
		e.fate = first
	case waits > retries:
		return ending{x, left, merged}
	}
	switch {
	case left < retries: // its record stays what it is
		s.retry[x] = due*100 + left + 1
		return e
	case !t.Priority:
		s.store[x] = due
	case v.Priority == 0:
		s.retry[x] = due*100 + 17
	default:
		s.retry[x] = due*100 + putBack
		s.later = max(s.later, due)
	}
	since, priority := now, "-"
	if v.Priority > 0 {
		priority = strconv.FormatInt(v.Priority, 10)
	}
	_, buried := s.dead[x]
	if part := strings.SplitN(s.why[x], " ", 6); len(part) == 6 && (buried || part[0] == "0") {
		if v.Priority == 0 {
			priority = part[3]
		}
		if buried { // it is of another copy
			part[3] = priority
			s.why[x] = strings.Join(part, " ")
			return e
		}
		since, _ = strconv.ParseInt(part[1], 10, 64)
	}
	s.why[x] = fmt.Sprintf("0 %d %d %s %s %s", since, now, priority, cmp.Or(s.holder, "-"), v.Reason)
	return e
}

// takeUp expects those that were put back, and whose time has come, in the store again.
func (s *slot) takeUp(now int64, o *outcome) {
	for _, x := range ordered(s.retry) {
		record, _ := protocol.ParseFailure(s.why[x.content])
		if x.score/100 > now || x.score%100 != putBack || record.Priority <= retries {
			continue
		}
		delete(s.retry, x.content)
		if s.store[x.content] > retries {
			o.dropped = true
			continue
		}
		s.store[x.content] = record.Priority
		o.takenUp = append(o.takenUp, x.content)
	}
	if now >= s.later {
		s.later = 0
	}
}

func (s *slot) note(x string, left int64, v *protocol.Verdict, now int64) {
	first, priority := strconv.FormatInt(now, 10), "-"
	if part := strings.SplitN(s.why[x], " ", 6); left < retries && len(part) == 6 {
		first, priority = part[1], part[3]
	}
	if v.Priority > 0 {
		priority = strconv.FormatInt(v.Priority, 10)
	}
	s.why[x] = fmt.Sprintf("%d %s %d %s %s %s", 17-left, first, now, priority, cmp.Or(s.holder, "-"), v.Reason)
}

// take expects the next batch, or that there is none.
func (s *slot) take(t *protocol.Turn, now int64, a protocol.Answer, o *outcome) {
	if t.Wants == protocol.Behind && s.behind(t, now, a, o) {
		return
	}
	soonest := int64(math.MaxInt64)
	failures := ordered(s.retry)
	if t.Priority && len(failures) > 0 && failures[0].score/100 <= now {
		s.takeUp(now, o)
		failures = ordered(s.retry)
	}
	waiting := ordered(s.store) // ascending
	if len(failures) > 0 {
		soonest = failures[0].score / 100
	}
	next := soonest
	var retriesFirst bool
	if t.Priority {
		none := len(waiting) == 0 || waiting[len(waiting)-1].score <= retries
		late := soonest <= now || len(waiting) > 0 && waiting[0].score <= retries
		o.wanted = late && !none && t.Wants == protocol.Retry && s.passed < 7
		retriesFirst = none || late && s.passed >= 7 || o.wanted
		defer func() {
			switch {
			case len(o.taken) == 0:
			case !late:
				s.passed = 0
			case o.taken[0].score == 0: // a retry
				s.passed = max(0, s.passed-7)
			default:
				s.passed += len(o.taken)
			}
		}()
	} else {
		if len(waiting) > 0 {
			next = min(next, waiting[0].score)
		}
		waiting = slices.DeleteFunc(waiting, func(w scored) bool { return w.score > now })
		o.wanted = t.Wants == protocol.Retry && soonest <= now && len(waiting) > 0 && soonest > waiting[0].score
		retriesFirst = len(waiting) == 0 || soonest <= waiting[0].score || o.wanted
	}
	if retriesFirst && soonest <= now {
		x := failures[0]
		if s.store[x.content] <= retries {
			s.alone(x.content, x.score%100, now, a, o)
			return
		}
		delete(s.retry, x.content)
		o.dropped = true
	}
	switch {
	case len(waiting) == 0:
		need(a.Code == protocol.Empty && a.Fence == s.number, "EMPTY", "must be answered with number %d, not %s %d", s.number, a.Code, a.Fence)
		known := next < math.MaxInt64
		need(known == (a.Wait >= 0) && (!known || (a.Wait+time.Millisecond-1).Milliseconds() == max(0, next-now)), "EMPTY", "for %v at %d, the next is due at %d", a.Wait, now, next)
	case waiting[0].score <= retries && retriesFirst, waiting[0].score <= retries && !t.Priority:
		s.alone(waiting[0].content, waiting[0].score, now, a, o)
	default:
		s.fresh(waiting, t, now, a, o)
	}
}

// alone expects one retry as the whole batch.
func (s *slot) alone(x string, score, now int64, a protocol.Answer, o *outcome) {
	need(a.Code == protocol.Batch && len(a.Contents) == 1 && a.Contents[0] == x, "ALONE", "retry %s is next, not %s %q", x, a.Code, a.Contents)
	left := max(0, score-1)
	need(int64(a.Attempt) == 17-left, "ATTEMPT", "of retry %s: attempt %d; score %d", x, a.Attempt, score)
	s.told(x, a, 0, 0, time.Time{})
	delete(s.store, x)
	delete(s.retry, x)
	s.prepare[x] = now/1000*1000 + left
	o.taken = []delivery{{x, a.Attempt, 0}}
}

// fresh expects first deliveries: the highest of all, or the oldest of what is due.
func (s *slot) fresh(waiting []scored, t *protocol.Turn, now int64, a protocol.Answer, o *outcome) {
	waiting = slices.DeleteFunc(waiting, func(w scored) bool { return w.score <= retries })
	if t.Priority {
		slices.Reverse(waiting)
	}
	n := min(t.Count, maxBatch, len(waiting))
	need(a.Code == protocol.Batch && a.Attempt == 1, "FILLED", "%d fresh contents wait, but %s, attempt %d", len(waiting), a.Code, a.Attempt)
	need(len(a.Contents) <= n && fits(a.Contents, s.most), "FILLED", "took %q, %d of %v", a.Contents, t.Count, waiting)
	if len(a.Contents) < n { // then they would be too large
		first := make([]string, n)
		for i := range first {
			first[i] = waiting[i].content
		}
		if t.Priority { // or others of the lowest level
			for _, w := range waiting[n:] {
				if w.score == waiting[n-1].score {
					first = append(first, w.content)
				}
			}
		} else {
			first = first[:len(a.Contents)+1]
		}
		need(!fits(first, s.most), "FILLED", "took %q, %d of %v", a.Contents, t.Count, waiting)
	}
	for i, x := range a.Contents {
		need(s.store[x] == waiting[i].score, "ORDER", "%q at %d: has score %d, not %d", x, i, s.store[x], waiting[i].score)
		s.first(x, t, now, a, i, o)
	}
}

// first expects content i of a batch of first deliveries.
func (s *slot) first(x string, t *protocol.Turn, now int64, a protocol.Answer, i int, o *outcome) {
	score := s.store[x]
	switch {
	case t.Priority:
		s.told(x, a, i, score, time.Time{})
	case t.Due:
		s.told(x, a, i, 0, time.UnixMilli(score))
	default:
		s.told(x, a, i, 0, time.Time{})
	}
	delete(s.store, x)
	delete(s.retry, x)
	s.prepare[x] = now/1000*1000 + retries
	o.taken = append(o.taken, delivery{x, 1, score})
}

// behind expects one first delivery alone, if there is any: in place Count, or the last. Nothing
// else happens then: nothing takes its place again, and nothing counts as passed.
func (s *slot) behind(t *protocol.Turn, now int64, a protocol.Answer, o *outcome) bool {
	waiting := slices.DeleteFunc(ordered(s.store), func(w scored) bool { return w.score <= retries || !t.Priority && w.score > now })
	if len(waiting) == 0 {
		return false
	}
	if t.Priority {
		slices.Reverse(waiting)
	}
	n := min(t.Count, maxBatch, len(waiting))
	need(a.Code == protocol.Batch && a.Attempt == 1 && len(a.Contents) == 1 && a.Contents[0] == waiting[n-1].content, "BEHIND", "%s of %v, not number %d: %s %q", a.Code, waiting, n, a.Code, a.Contents)
	s.first(waiting[n-1].content, t, now, a, 0, o)
	o.place = n
	return true
}

// told expects what an answer tells of content i beside its attempt; a retry comes
// with its record, if there is one.
func (s *slot) told(x string, a protocol.Answer, i int, priority int64, due time.Time) {
	need(a.Priority(i) == priority && a.Due(i).Equal(due), "TOLD", "priority %d, due %v of %q, not %d, %v", a.Priority(i), a.Due(i), x, priority, due)
	var want protocol.Failure
	known := false
	if a.Attempt > 1 {
		want, known = protocol.ParseFailure(s.why[x])
	}
	got, told := a.Failure()
	need(told == known && got == want, "TOLD", "of attempt %d of %q: %+v, not %+v", a.Attempt, x, got, want)
}

type scored struct {
	content string
	score   int64
}

// ordered is a sorted set in its order.
func ordered(set map[string]int64) []scored {
	list := make([]scored, 0, len(set))
	for x, score := range set {
		list = append(list, scored{x, score})
	}
	slices.SortFunc(list, func(a, b scored) int {
		return cmp.Or(cmp.Compare(a.score, b.score), strings.Compare(a.content, b.content))
	})
	return list
}

func sameSet(contents []string, set map[string]int64) bool {
	for _, x := range contents {
		if _, ok := set[x]; !ok {
			return false
		}
	}
	return len(contents) == len(set)
}

// touch expects what touch.lua does.
func (s *slot) touch(worker string, number, now int64, held bool) {
	need(held == (s.holder == worker && s.number == number), "TOUCH", "by %s, batch %d: %v", worker, number, held)
	if held {
		s.until = now + s.lease
	}
}

// cancel expects what cancel.lua does.
func (s *slot) cancel(x string, removed, inFlight bool) {
	_, flying := s.prepare[x]
	_, buried := s.dead[x]
	_, stored := s.store[x]
	_, retrying := s.retry[x]
	need(inFlight == flying && removed == (stored || retrying), "CANCEL", "of %s: removed %v, in flight %v", x, removed, inFlight)
	delete(s.store, x)
	delete(s.retry, x)
	if removed {
		delete(s.notes, x)
	}
	delete(s.seen, x)
	if !flying && !buried {
		delete(s.why, x)
	}
}

// same says where two states differ.
func (s *slot) same(actual *slot) {
	need(maps.Equal(s.store, actual.store), "STORE", "is %v, not %v", actual.store, s.store)
	need(maps.Equal(s.prepare, actual.prepare), "PREPARE", "is %v, not %v", actual.prepare, s.prepare)
	need(maps.Equal(s.retry, actual.retry), "RETRY", "is %v, not %v", actual.retry, s.retry)
	need(maps.Equal(s.dead, actual.dead), "DEAD", "is %v, not %v", actual.dead, s.dead)
	need(maps.Equal(s.firsts, actual.firsts), "FIRST", "is %v, not %v", actual.firsts, s.firsts)
	need(maps.Equal(s.plans, actual.plans), "PLANS", "are %v, not %v", actual.plans, s.plans)
	need(maps.Equal(s.rules, actual.rules), "RULES OF PLANS", "are %q, not %q", actual.rules, s.rules)
	need(maps.Equal(s.seen, actual.seen), "SEEN", "is %v, not %v", actual.seen, s.seen)
	need(maps.Equal(s.notes, actual.notes), "NOTE", "is %q, not %q", actual.notes, s.notes)
	need(maps.Equal(s.why, actual.why), "WHY", "is %q, not %q", actual.why, s.why)
	need(s.holder == actual.holder && s.number == actual.number, "NUMBER", "%q holds batch %d, not %q %d", actual.holder, actual.number, s.holder, s.number)
	need(s.until == actual.until && s.lease == actual.lease, "LEASE", "%d until %d, not %d until %d", actual.lease, actual.until, s.lease, s.until)
	need(s.passed == actual.passed, "PASSED", "%d fresh ones, not %d", actual.passed, s.passed)
	need(s.later == actual.later, "LATER", "is %d, not %d", actual.later, s.later)
	need(s.paused == actual.paused && s.since == actual.since, "PAUSED", "is %v since %d, not %v since %d", actual.paused, actual.since, s.paused, s.since)
}
