package flow

import (
	"testing"
	"time"
)

// led is a word about a trial, or about none.
func led(stay, places, of int) Word { return Word{"b", stay, places, of, 64, 0} }

// follower is one of a worker that has worked with so many handlers for a while, as the one that leads.
func follower(stay int) (l *Limit, now time.Time) {
	l, now = New("c", 1, 64), time.Now()
	for range 4 {
		l.Heard(led(stay, stay, stay), now)
		now = feed(l, now, time.Second, func(*Batch) {})
	}
	return l, now
}

// A trial that another worker has begun is joined with the same part of the handlers, and ends as that one
// says where what came out is not clear.
func TestJoinsATrial(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		end   Word
		stays int
	}{{led(2, 2, 2), 2}, {led(1, 1, 1), 1}, {led(1, 2, 1), 1}} {
		l, now := follower(2)
		for range 2 { // it is said once more while it is under way
			if got := l.Heard(led(2, 1, 2), now); got != 1 || l.stay != 2 {
				t.Fatalf("%d of %d handlers in a trial with half of them", got, l.stay)
			}
			now = feed(l, now, 40*time.Millisecond, func(b *Batch) { b.Took, b.Busy = 5*time.Millisecond, 5*time.Millisecond })
		}
		l.Heard(c.end, now)
		if l.stay != c.stays || l.Places() != c.stays*c.end.Places/c.end.Stay {
			t.Errorf("after %v: %d of %d handlers", c.end, l.Places(), l.stay)
		}
	}
}

// What a worker clearly saw in a trial counts more than what the one that leads says: handlers that it
// needs it keeps, and those that help it alone.
func TestGoesByWhatItSaw(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name       string
		from       int
		trial, end Word
		stays      int
	}{
		{"each handler is of use", 64, led(64, 32, 64), led(32, 32, 32), 64},
		{"more handlers handle more", 16, led(16, 32, 16), led(16, 16, 16), 32},
	} {
		l, now := follower(c.from)
		l.Heard(c.trial, now)
		now = feed(l, now, time.Second, func(*Batch) {})
		l.Heard(c.end, now)
		if l.stay != c.stays {
			t.Errorf("%s: %d handlers", c.name, l.stay)
		}
	}
	// What is behind serves as much by half of them, as this one sees it. It tries that alone.
	l, now := follower(64)
	l.Heard(led(64, 32, 64), now)
	now = feed(l, now, time.Second, func(b *Batch) { b.Good = 2 })
	l.Heard(led(64, 64, 64), now)
	if l.stay != 64 {
		t.Errorf("%d handlers, though only this one needs fewer", l.stay)
	}
	tried := 64
	for range 20 {
		now = feed(l, now, 100*time.Millisecond, func(b *Batch) { tried = min(tried, b.Places) })
		l.Heard(led(64, 64, 64), now)
	}
	if tried >= 64 {
		t.Error("it does not try alone what had helped it")
	}
}

// A worker that hears of another one begins no trial with fewer handlers. Five seconds after the last word it does, and
// says so.
func TestLeadsWhenNobodyDoes(t *testing.T) {
	t.Parallel()
	l, now := New("c", 1, 64), time.Now()
	for range 40 {
		l.Heard(led(64, 64, 64), now)
		now = feed(l, now, 500*time.Millisecond, func(*Batch) {})
	}
	if w, ok := l.Says(); l.Places() != 64 || ok {
		t.Fatalf("%d handlers, and it says %v: another one leads", l.Places(), w)
	}
	heard, first := now.Add(-500*time.Millisecond), time.Duration(0)
	for first == 0 && now.Sub(heard) < time.Minute {
		now = feed(l, now, 10*time.Millisecond, func(*Batch) {})
		if _, ok := l.Says(); ok {
			first = now.Sub(heard)
		}
	}
	if first < 5*time.Second || first > 8500*time.Millisecond {
		t.Errorf("it leads %v after the last word", first)
	}
}

// One that leads is heard every two seconds, as long as its work waits.
func TestLeaderIsHeard(t *testing.T) {
	t.Parallel()
	l, now := New("c", 1, 64), time.Now()
	var said []time.Time
	for range 6000 {
		now = feed(l, now, 10*time.Millisecond, func(*Batch) {})
		if _, ok := l.Says(); ok {
			said = append(said, now)
		}
	}
	for i := range said[1:] {
		if apart := said[i+1].Sub(said[i]); apart > 2020*time.Millisecond {
			t.Errorf("nothing was said for %v", apart)
		}
	}
	if len(said) < 25 || len(said) > 60 {
		t.Errorf("%d words in a minute", len(said))
	}
	now = feed(l, now, 10*time.Second, func(b *Batch) { b.Waiting = false })
	l.Says()
	feed(l, now, 10*time.Second, func(b *Batch) { b.Waiting = false })
	if w, ok := l.Says(); ok {
		t.Errorf("nothing waits, and it says %v", w)
	}
}

// A new worker tries nothing for two and a half seconds: so it hears of the one that leads. Nor does any when workers have
// come or gone.
func TestNewWorkerListens(t *testing.T) {
	t.Parallel()
	l, begun := New("c", 1, 64), time.Now()
	now := begun
	for _, slots := range []int{64, 32} { // the other half is another worker's then, so it is as if it were new
		of := func(b *Batch) { b.Slots = slots }
		now = feed(l, now, 2400*time.Millisecond, of)
		if l.Places() != 64 {
			t.Errorf("with %d slots it has tried something", slots)
		}
		for now.Sub(begun) < 10*time.Second && l.Places() == 64 {
			now = feed(l, now, 10*time.Millisecond, of)
		}
		if took := now.Sub(begun); took > 3500*time.Millisecond {
			t.Errorf("with %d slots the first trial begins after %v", slots, took)
		}
		begun = now
	}
	l = New("c", 1, 64)
	if got := l.Heard(led(5, 5, 5), begun); got != 5 || l.stay != 5 {
		t.Errorf("%d handlers, when the others have 5", got)
	}
	l = New("c", 8, 64)
	if got := l.Heard(led(5, 5, 5), begun); got != 8 {
		t.Errorf("%d handlers, at least 8", got)
	}
}

// Of two that believe to lead, the one with more handlers does; of two with as many, the one whose id comes first.
func TestOneLeads(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		id     string
		hears  Word
		yields bool
	}{
		{"c", led(64, 40, 64), true}, {"a", led(64, 40, 64), false}, {"a", led(128, 80, 128), true}, {"c", led(32, 20, 32), false},
	} {
		l, now := New(c.id, 1, 64), time.Now()
		for ok := false; !ok; _, ok = l.Says() {
			now = feed(l, now, 10*time.Millisecond, func(*Batch) {})
		}
		places := l.Places()
		if places == 64 {
			t.Fatal("it said something, and tries nothing")
		}
		l.Heard(c.hears, now)
		if yielded := l.Places() == 40; yielded != c.yields {
			t.Errorf("%s hears %v: %d handlers", c.id, c.hears, l.Places())
		} else if !yielded && l.Places() != places {
			t.Errorf("%s hears %v, and gives its trial up", c.id, c.hears)
		}
		_, _ = l.Says()
		feed(l, now, 10*time.Millisecond, func(*Batch) {})
		if _, answers := l.Says(); answers == c.yields {
			t.Errorf("%s hears %v; it answers: %v", c.id, c.hears, answers)
		}
	}
}

// The end of a trial gets lost: all handlers are back in the end.
func TestEndOfATrialIsNotHeard(t *testing.T) {
	t.Parallel()
	l, now := follower(64)
	l.Heard(led(64, 32, 64), now)
	now = feed(l, now, 5500*time.Millisecond, func(*Batch) {})
	if l.Places() != 32 {
		t.Errorf("%d handlers in the trial", l.Places())
	}
	for left := now.Add(700 * time.Millisecond); l.Places() == 32 && now.Before(left); {
		now = feed(l, now, 10*time.Millisecond, func(*Batch) {})
	}
	if l.Places() != 64 {
		t.Errorf("%d handlers after it", l.Places())
	}
	for range 2 { // it is still the same, which this worker has left; and then another one like it
		if got := l.Heard(led(64, 32, 64), now); got != 64 {
			t.Errorf("%d handlers: the trial is joined again", got)
		}
	}
	l.Heard(led(64, 64, 64), now)
	if got := l.Heard(led(64, 32, 64), now); got != 32 {
		t.Errorf("%d handlers in the next trial", got)
	}
}

// Words that are its own, or of one that does not lead, change nothing; nor do those about a trial that would last for minutes.
func TestUselessWords(t *testing.T) {
	t.Parallel()
	l, now := follower(64)
	for _, w := range []Word{
		{"c", 64, 32, 64, 64, 0},
		led(32, 16, 32), // this one has more, and will lead
	} {
		if got := l.Heard(w, now); got != 64 || l.stay != 64 {
			t.Errorf("%v: %d handlers", w, got)
		}
	}
	slow := New("c", 1, 64)
	for range 100 {
		slow.Finished(Batch{End: now, Took: 11 * time.Second, Busy: 11 * time.Second, Good: 1, Places: 64, Waiting: true})
		now = now.Add(time.Second)
	}
	if got := slow.Heard(led(64, 32, 64), now); got != 64 {
		t.Errorf("%d handlers, though a trial would last for minutes", got)
	}
}

// A worker whose handlers were pushed back, and rest, does not take a higher number of others that were not; and
// one whose work comes in bursts joins with the handlers that it needs then, not with the last one.
func TestTakesNoMoreThanItHad(t *testing.T) {
	t.Parallel()
	l, now := follower(64)
	l.Finished(Batch{End: now, Pushed: true})
	if got := l.Heard(led(64, 64, 64), now.Add(time.Minute)); got != 44 || l.stay != 44 {
		t.Errorf("%d handlers after a push-back, which left 44", got)
	}
	l, now = follower(64)
	now = feed(l, now, 500*time.Millisecond, func(b *Batch) { b.Waiting, b.Places = false, 1 })
	if got := l.Heard(led(64, 32, 64), now); got != 32 {
		t.Errorf("%d handlers in a trial with half of them, after a burst with 64", got)
	}
}

// Who saw otherwise than the leader takes the next turn: it joins no trial of that leader, and leads from
// its next one on, until somebody has a turn behind that.
func TestTakesTheNextTurn(t *testing.T) {
	t.Parallel()
	l, now := follower(64)
	l.Heard(led(64, 32, 64), now)
	now = feed(l, now, time.Second, func(b *Batch) { b.Good = 2 }) // as much as before
	l.Heard(led(64, 64, 64), now)
	if got := l.Heard(led(64, 40, 64), now); got != 64 {
		t.Errorf("%d handlers: it joins a trial of the leader that it relieves", got)
	}
	var w Word
	for ok := false; !ok && l.places == 64; w, ok = l.Says() {
		now = feed(l, now, 10*time.Millisecond, func(*Batch) {})
	}
	if w.Turn != 1 || w.Places >= 64 {
		t.Errorf("it says %+v", w)
	}
	l.Heard(Word{"d", 64, 50, 64, 64, 7}, now)
	if l.Places() != 50 {
		t.Errorf("%d handlers, though another one has a later turn", l.Places())
	}
	now = feed(l, now, 10*time.Second, func(*Batch) {})
	for ok := false; !ok; w, ok = l.Says() {
		now = feed(l, now, 10*time.Millisecond, func(*Batch) {})
	}
	if w.Turn != 7 {
		t.Errorf("when that one is silent it says %+v", w)
	}
}

// A worker without a trial with fewer handlers for 30 s relieves the leader: that one may have no need of one, or be
// at its minimum.
func TestLeaderThatTriesNothingIsRelieved(t *testing.T) {
	t.Parallel()
	l, begun := follower(64)
	now := begun.Add(-4 * time.Second) // its first batch
	var took time.Duration
	for now = begun; took == 0 && now.Sub(begun) < time.Minute; {
		l.Heard(led(64, 64, 64), now)
		now = feed(l, now, 500*time.Millisecond, func(*Batch) {})
		if w, ok := l.Says(); ok && w.Turn == 1 {
			took = now.Sub(begun) + 4*time.Second
		}
	}
	if took < 30*time.Second || took > 35*time.Second {
		t.Errorf("it leads after %v", took)
	}
}

// A worker that had no time to see what a trial brings goes on with it alone, and does not just believe it.
func TestFindsOutAloneWhatItHasNotSeen(t *testing.T) {
	t.Parallel()
	l, now := follower(64)
	l.Heard(led(64, 32, 64), now)
	now = feed(l, now, 20*time.Millisecond, func(*Batch) {})
	l.Heard(led(32, 32, 32), now)
	if l.Places() != 32 || l.stay != 64 {
		t.Errorf("%d of %d handlers when the leader is through", l.Places(), l.stay)
	}
	for left := now.Add(5 * time.Second); l.Places() == 32 && now.Before(left); {
		now = feed(l, now, 10*time.Millisecond, func(*Batch) {})
		l.Heard(led(32, 32, 32), now)
	}
	if l.Places() != 64 {
		t.Errorf("%d handlers, though each is of use", l.Places())
	}
}

// Whoever leads says each change, also when it comes to have fewer handlers than the last one that led.
func TestLeaderSaysEachChange(t *testing.T) {
	t.Parallel()
	l, now := follower(64)
	l.Heard(led(32, 32, 32), now)
	var at time.Time
	n, places, changes := 0, l.Places(), 0
	for end := now.Add(4 * time.Second); now.Before(end); {
		now = feed(l, now, 10*time.Millisecond, func(b *Batch) { // what is behind serves 16
			if b.End != at {
				at, n = b.End, 0
			}
			if n++; n > 16 {
				b.Good = 0
			}
		})
		_, said := l.Says()
		if l.Places() != places && !said {
			t.Errorf("%d handlers after %d, and nothing is said", l.Places(), places)
		}
		if l.Places() != places {
			changes++
		}
		places = l.Places()
	}
	if changes < 3 || l.stay >= 32 {
		t.Errorf("%d changes, %d handlers", changes, l.stay)
	}
}

// A trial ends when another one leads who knows nothing of it; and after an overload none with more is joined.
func TestTrialsThatNobodyLeads(t *testing.T) {
	t.Parallel()
	l, now := follower(64)
	l.Heard(led(64, 32, 64), now)
	if got := l.Heard(Word{"d", 64, 64, 64, 64, 1}, now); got != 64 {
		t.Errorf("%d handlers in a trial that nobody leads", got)
	}
	l, now = follower(64)
	l.Finished(Batch{End: now, Pushed: true})
	if got := l.Heard(led(44, 62, 44), now); got != 44 {
		t.Errorf("%d handlers just after a push-back", got)
	}
	now = now.Add(3 * time.Second)
	l.Heard(led(44, 44, 44), now)
	if got := l.Heard(led(44, 62, 44), now); got != 62 {
		t.Errorf("%d handlers in a trial with more, later", got)
	}
}
