package flow

import (
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/sharetest"
)

// until has a world go on until the limit is as it is to be, and returns after which time it was.
func (w *world) until(t *testing.T, is func(stays int) bool) time.Duration {
	t.Helper()
	from := w.now
	for !is(w.limit.stay) {
		if w.now.Sub(from) > time.Minute {
			t.Fatalf("%d handlers after a minute", w.limit.stay)
		}
		w.run(10 * time.Millisecond)
	}
	return w.now.Sub(from)
}

// How soon the limit follows where chance plays no part.
func TestFollowsSoon(t *testing.T) {
	t.Parallel()
	w := newWorld(nil, New("", 1, 64), 1, constant(20*time.Millisecond))
	for _, step := range []struct {
		capacity, least, most int
		within                time.Duration
	}{
		{8, 6, 14, 6500 * time.Millisecond}, {2, 2, 4, 8 * time.Second}, {32, 28, 48, 4 * time.Second}, {8, 6, 14, 4 * time.Second}, {64, 64, 64, 4 * time.Second},
	} {
		w.capacity(step.capacity)
		took := w.until(t, func(stays int) bool { return stays >= step.least && stays <= step.most })
		t.Logf("%d are served at once: %d handlers after %v", step.capacity, w.limit.stay, took)
		if took > step.within {
			t.Errorf("%d are served at once: it took %v", step.capacity, took)
		}
		w.run(20 * time.Second)
	}
}

// After an overload no more handlers are tried for two seconds, and no fewer either; then they become
// more soon.
func TestRecoversFromAnOverload(t *testing.T) {
	t.Parallel()
	w := newWorld(nil, New("", 1, 64), 1, constant(20*time.Millisecond))
	w.run(time.Second)
	w.limit.Finished(Batch{End: w.now, Pushed: true})
	for from := w.now; w.now.Sub(from) < 1900*time.Millisecond; w.run(10 * time.Millisecond) {
		if got := w.limit.Places(); got != 44 {
			t.Fatalf("%d handlers %v after an overload", got, w.now.Sub(from))
		}
	}
	least := 64
	took := w.until(t, func(stays int) bool {
		least = min(least, w.limit.Places())
		return stays == 64
	})
	t.Logf("all are back after another %v", took)
	if took > 3*time.Second || least < 44 {
		t.Errorf("it took another %v, with %d handlers at the least", took, least)
	}
}

// After the rate has fallen to a hundredth no fewer than 0.3 times as many handlers are tried.
func TestTrialAfterARateThatFell(t *testing.T) {
	t.Parallel()
	l, least := New("", 1, 64), 64
	now := feed(l, time.Now(), 5*time.Second, func(b *Batch) { b.Good = 100 })
	feed(l, now, 5*time.Second, func(b *Batch) { least = min(least, l.Places()) })
	if least != 19 {
		t.Errorf("%d of 64 handlers were tried", least)
	}
}

// A topic with 16 slots has no more handlers than that. What fewer must handle is a part of what these
// do, not of what all handlers would that it may have.
func TestTrialIsOfThoseInUse(t *testing.T) {
	t.Parallel()
	w := newWorld(nil, New("", 1, 64), 1, constant(20*time.Millisecond))
	w.places = 16
	w.capacity(12)
	if rate := w.run(time.Minute); rate < 0.97*600 {
		t.Errorf("%.0f of 600 messages a second, with %d handlers", rate, w.limit.stay)
	}
}

// What fewer handlers do in a trial in which work did not wait all the time proves nothing.
func TestTrialNeedsWorkThatWaits(t *testing.T) {
	t.Parallel()
	l := New("", 1, 64)
	feed(l, time.Now(), 10*time.Second, func(b *Batch) {
		if l.Places() < 64 { // all that comes is handled, and nothing waits
			b.Good, b.Waiting = 2, false
		}
	})
	if got := l.stay; got != 64 {
		t.Errorf("%d handlers", got)
	}
}

// Work that hardly ever does not wait is enough for a trial.
func TestLittleSlackIsNoMatter(t *testing.T) {
	t.Parallel()
	for every, want := range map[int]bool{20: true, 5: false} {
		l, n, tried := New("", 1, 64), 0, false
		feed(l, time.Now(), 5*time.Second, func(b *Batch) {
			n++
			b.Waiting = n%every != 0
			tried = tried || l.Places() != 64
		})
		if tried != want {
			t.Errorf("a trial where each %dth batch left a place free: %v", every, tried)
		}
	}
}

// Where more handlers are of no use, they are not tried all the time.
func TestTrialsInVainAreRare(t *testing.T) {
	t.Parallel()
	w := newWorld(nil, New("", 1, 64), 1, constant(20*time.Millisecond))
	w.capacity(8)
	w.run(20 * time.Second)
	more := 0
	for range 6000 {
		w.run(10 * time.Millisecond)
		if w.limit.Places() > w.limit.stay {
			more++
		}
	}
	t.Logf("more are tried in %d %% of a minute", more/60)
	if more == 0 || more > 6000*4/10 {
		t.Errorf("more are tried in %d %% of a minute", more/60)
	}
}

// Where each handler is of use the trials with fewer become rare, but do not end.
func TestTrialsDoNotEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(nil, New("", 1, 64), 1, constant(time.Second))
	trials := 0
	for range 10 * 3600 {
		before := w.limit.Places()
		w.run(time.Second)
		if before == 64 && w.limit.Places() < 64 {
			trials++
		}
	}
	t.Logf("%d trials in ten hours", trials)
	if trials < 15 || trials > 60 {
		t.Errorf("%d trials in ten hours", trials)
	}
}

// What runs when a trial begins has begun before, and does not count in it.
func TestTrialCountsWhatBeginsInIt(t *testing.T) {
	t.Parallel()
	l, now := New("", 1, 64), time.Now()
	for l.Places() == 64 {
		now = feed(l, now, 10*time.Millisecond, func(*Batch) {})
	}
	began := l.begun.Add(-10 * time.Millisecond) // each takes that long
	for _, c := range []struct {
		after time.Duration
		want  int
	}{{9 * time.Millisecond, 0}, {10 * time.Millisecond, 1}} {
		if l.Finished(Batch{End: began.Add(c.after), Took: 10 * time.Millisecond, Good: 1}); l.measure.batches != c.want {
			t.Errorf("%v after the begin of a trial %d batches count", c.after, l.measure.batches)
		}
	}
}

// Where a few messages take two hundred times as long as the others, chance looks like a loss or a
// gain for long. Nothing is tried before the rate is fairly sure.
func TestChanceIsWaitedOut(t *testing.T) {
	t.Parallel()
	random := sharetest.Rand(t)
	const runs = 36 // chance moves what is lost by half a percent, up or down
	flows := 0.0
	for range runs {
		flows += newWorld(random, New("", 1, 64), 1, bimodal(10*time.Millisecond, 2*time.Second, 20)).run(time.Minute) / runs
	}
	fixed := 64 / (0.95*0.010 + 0.05*2 + 0.001) // messages a second of 64 handlers, and a turn before each
	t.Logf("%.1f %% are lost", 100*(1-flows/fixed))
	if flows < 0.955*fixed {
		t.Error("too much is lost")
	}
}

// A trial goes on while chance may explain what it shows, and then it is given up, or kept. Only one
// that shows that each handler is of use makes the waits longer.
func TestTrialLastsUntilItIsClear(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		good        float64 // messages of a batch in the trial, if 64 handlers have one each
		least, most time.Duration
		times       int
	}{
		{1, 0, 500 * time.Millisecond, 2}, {64.0 / 35, 0, 500 * time.Millisecond, 1},
		{0.999 * (1 - (1-35.0/64)*mayLoseMuch) * 64 / 35, 2 * time.Second, 4 * time.Second, 1},
	} {
		l, sum, times := New("", 1, 64), 0.0, 0
		var begun, ended time.Time
		feed(l, time.Now(), 10*time.Second, func(b *Batch) {
			switch {
			case l.Places() == 35 && begun.IsZero():
				begun = b.End
			case l.Places() != 35 && !begun.IsZero() && ended.IsZero():
				ended, times = b.End, l.times
			}
			if l.Places() == 35 {
				sum += c.good
				b.Good = int(sum)
				sum -= float64(b.Good)
			}
		})
		if took := ended.Sub(begun); begun.IsZero() || took < c.least || took > c.most {
			t.Errorf("with %.2f messages each the trial lasts %v", c.good, took)
		}
		if times != c.times {
			t.Errorf("with %.2f messages each the waits are %d times as long", c.good, times)
		}
	}
}

// The first trial is one with much fewer, and those after one in vain are with fewer. One that
// helps ends the growth of the waits.
func TestTrialsAfterOneInVain(t *testing.T) {
	t.Parallel()
	l, tried := New("", 1, 64), []int(nil)
	now := feed(l, time.Now(), 30*time.Second, func(*Batch) {
		if p := l.Places(); p != 64 && (len(tried) == 0 || tried[len(tried)-1] != p) {
			tried = append(tried, p)
		}
	})
	if len(tried) != 2 || tried[0] != 35 || tried[1] != 44 || l.times < 4 {
		t.Errorf("%v were tried, and the waits are %d times as long", tried, l.times)
	}
	for until := now.Add(10 * time.Minute); l.stay == 64 && l.times > 1 && now.Before(until); {
		now = feed(l, now, 10*time.Millisecond, func(b *Batch) {
			if l.Places() == 44 {
				b.Good = 2
			}
		})
	}
	if l.times != 1 {
		t.Errorf("after one that helped the waits are %d times as long", l.times)
	}
}

// What is behind the handlers has served more for a while, and serves eight at a time again: trials
// with more, which had helped, do not come before one with fewer.
func TestFollowsDownAfterGrowth(t *testing.T) {
	t.Parallel()
	random := sharetest.Rand(t)
	const worlds = 40
	took := time.Duration(0)
	for range worlds {
		w := newWorld(random, New("", 1, 64), 1, around(20*time.Millisecond))
		for _, capacity := range []int{8, 2, 32} {
			w.capacity(capacity)
			w.run(30 * time.Second)
		}
		w.capacity(8)
		took += w.until(t, func(stays int) bool { return stays <= 14 }) / worlds
	}
	t.Logf("it takes %v", took)
	if took > 4500*time.Millisecond {
		t.Errorf("it takes %v", took)
	}
}

// A trial with more is one with about 1.4 times as many, and with one more at the least: where few are of use, one too many
// in each of several workers is much.
func TestRaised(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]int{1: 2, 2: 3, 3: 4, 5: 7, 10: 14, 60: 64} {
		if got := raised(n, more, 64); got != want {
			t.Errorf("%d become %d, not %d", n, got, want)
		}
	}
}
