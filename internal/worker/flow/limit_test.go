package flow

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/sharetest"
)

// Eight are served at a time, under 64 places: between 6 and 14 handlers are left, and handle as
// much as 64 did.
func TestSettlesWhereMoreHandleNoMore(t *testing.T) {
	t.Parallel()
	random := sharetest.Rand(t)
	for name, c := range map[string]struct {
		service func(*rand.Rand) time.Duration
		settles time.Duration
		in      float64 // this part of the time it is between 6 and 14
	}{
		"constant":    {constant(20 * time.Millisecond), 8 * time.Second, 1},
		"around":      {around(20 * time.Millisecond), 20 * time.Second, 0.8},
		"quick":       {around(3 * time.Millisecond), 20 * time.Second, 0.9},
		"exponential": {exponential(20 * time.Millisecond), 5 * time.Minute, 0.6},
	} {
		t.Run(name, func(t *testing.T) {
			var fixed, flows, least, most float64
			in := 0
			const worlds, seconds = 3, 60
			least = 64
			for range worlds {
				w := newWorld(random, nil, 1, c.service)
				w.capacity(8)
				w.run(c.settles)
				fixed += w.run(seconds*time.Second) / worlds
				w = newWorld(random, New("", 1, 64), 1, c.service)
				w.capacity(8)
				w.run(c.settles)
				for range seconds {
					flows += w.run(time.Second) / seconds / worlds
					stays := float64(w.limit.stay)
					least, most = min(least, stays), max(most, stays)
					if stays >= 6 && stays <= 14 {
						in++
					}
				}
			}
			t.Logf("%.0f messages a second with 64 handlers, %.0f with %.0f to %.0f (%.3f); %d of %d s 6 to 14", fixed, flows, least, most, flows/fixed, in, worlds*seconds)
			if flows < 0.95*fixed || float64(in) < c.in*worlds*seconds {
				t.Error("too little is handled, or by too many or too few")
			}
		})
	}
}

// Where every handler is of use, or none costs anything, next to nothing is lost.
func TestLosesLittle(t *testing.T) {
	t.Parallel()
	random := sharetest.Rand(t)
	for name, c := range map[string]struct {
		each, capacity int
		service        func(*rand.Rand) time.Duration
	}{
		"constant 1 ms":        {10, 0, constant(time.Millisecond)},
		"constant 20 ms":       {1, 0, constant(20 * time.Millisecond)},
		"constant 200 ms":      {1, 0, constant(200 * time.Millisecond)},
		"around 20 ms":         {1, 0, around(20 * time.Millisecond)},
		"exponential 20 ms":    {1, 0, exponential(20 * time.Millisecond)},
		"bimodal 1 and 100 ms": {1, 0, bimodal(time.Millisecond, 100*time.Millisecond, 10)},
		"bimodal 2 and 50 ms":  {2, 0, bimodal(2*time.Millisecond, 50*time.Millisecond, 5)},
		"two processors, 1 ms": {1, 2, constant(time.Millisecond)},
		"two processors, 5 ms": {1, 2, around(5 * time.Millisecond)},
		"8 processors, 5 ms":   {1, 8, constant(5 * time.Millisecond)},
	} {
		t.Run(name, func(t *testing.T) {
			fixed, flows := 0.0, 0.0
			for range 3 {
				w := newWorld(random, nil, c.each, c.service)
				w.capacity(c.capacity)
				fixed += w.run(time.Minute)
				w = newWorld(random, New("", 1, 64), c.each, c.service)
				w.capacity(c.capacity)
				flows += w.run(time.Minute)
			}
			t.Logf("%.0f messages a second with 64 handlers, %.0f without (%.3f)", fixed, flows, flows/fixed)
			if flows < 0.97*fixed {
				t.Error("too much is lost")
			}
		})
	}
}

// What is behind the handlers serves eight at a time, then two, then 32: each time the limit
// follows within ten seconds.
func TestFollowsAStep(t *testing.T) {
	t.Parallel()
	random := sharetest.Rand(t)
	const worlds = 10
	late := 0
	for range worlds {
		w := newWorld(random, New("", 1, 64), 1, around(20*time.Millisecond))
		w.capacity(8)
		w.run(time.Minute)
		first := w.limit.stay
		w.capacity(2)
		w.run(10 * time.Second)
		second := w.limit.stay
		w.run(20 * time.Second)
		w.capacity(32)
		w.run(10 * time.Second)
		third, rate := w.limit.stay, w.run(5*time.Second)
		t.Logf("%d, %d, %d; in the end %.0f of 1600 messages a second", first, second, third, rate)
		if second > 4 || third < 24 || rate < 0.9*1600 {
			late++
		}
	}
	if late > worlds/10 {
		t.Errorf("%d of %d were too slow", late, worlds)
	}
}

// feed has a limit learn of batches for a time, as many at a time as it allows, each of which takes
// 10 ms. change makes them what they are.
func feed(l *Limit, from time.Time, d time.Duration, change func(*Batch)) (now time.Time) {
	for now = from; now.Before(from.Add(d)); now = now.Add(10 * time.Millisecond) {
		for range l.Places() {
			b := Batch{End: now, Took: 10 * time.Millisecond, Busy: 10 * time.Millisecond, Good: 1, Places: l.Places(), Waiting: true}
			change(&b)
			l.Finished(b)
		}
	}
	return now
}

// Time-outs and push-back make the handlers fewer at once, and once for all that come at a
// time, down to the least. Then they become more again.
func TestOverload(t *testing.T) {
	t.Parallel()
	l := New("", 4, 64)
	too := func(b *Batch) { b.Good, b.Overload = 0, 1 }
	now := feed(l, time.Now(), 20*time.Millisecond, too)
	if got := l.stay; got != 44 {
		t.Errorf("%d handlers after the first", got)
	}
	now = feed(l, now, 500*time.Millisecond, too)
	if got := l.stay; got != 44 {
		t.Errorf("%d handlers half a second later", got)
	}
	now = feed(l, now, time.Minute, too)
	if got := l.stay; got != 4 || l.Places() != 4 {
		t.Errorf("%d handlers in the end, at least 4", got)
	}
	now = feed(l, now, 30*time.Second, func(*Batch) {})
	if got := l.stay; got != 64 {
		t.Errorf("%d handlers when all is well again", got)
	}
	l.Finished(Batch{End: now, Pushed: true})
	l.Finished(Batch{End: now, Pushed: true})
	if got := l.stay; got != 44 {
		t.Errorf("%d handlers after a push-back", got)
	}
	now = feed(l, now, 30*time.Second, func(*Batch) {})
	few := 0
	feed(l, now, 10*time.Second, func(b *Batch) { // as with a message that cannot be handled
		if few++; few%50 == 0 {
			too(b)
		}
	})
	if got := l.stay; got != 64 {
		t.Errorf("%d handlers, because one in fifty timed out", got)
	}
}

// Nothing is tried, and so nothing learned, while work does not wait, or while it is not the
// handlers that take the time.
func TestNoTrialWithoutNeed(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Batch){
		"nothing waits":   func(b *Batch) { b.Waiting = false },
		"handlers idle":   func(b *Batch) { b.Busy = time.Millisecond },
		"nothing is done": func(b *Batch) { b.Good = 0 },
	} {
		l, tried := New("", 1, 64), false
		feed(l, time.Now(), 30*time.Second, func(b *Batch) {
			tried = tried || l.Places() != 64
			change(b)
		})
		if tried {
			t.Errorf("%s, and fewer handlers are tried", name)
		}
	}
}

// All slots of a topic that has few of them have a place: fewer are tried all the same.
func TestTrialWhereNoSlotWaits(t *testing.T) {
	t.Parallel()
	l, tried := New("", 1, 64), 64
	feed(l, time.Now(), time.Second, func(b *Batch) {
		tried = min(tried, l.Places())
		b.Waiting, b.Full, b.Places = false, true, min(16, l.Places())
	})
	if tried != 11 {
		t.Errorf("%d of 16 were tried", tried)
	}
}

// A time without work is no time in which little was done.
func TestPauseIsNotSlow(t *testing.T) {
	t.Parallel()
	l := New("", 1, 64)
	now := feed(l, time.Now(), 5*time.Second, func(*Batch) {})
	for range 20 {
		now = feed(l, now.Add(5*time.Second), 90*time.Millisecond, func(*Batch) {})
		now = feed(l, now.Add(time.Minute), 400*time.Millisecond, func(*Batch) {})
	}
	if got := l.stay; got != 64 {
		t.Errorf("%d handlers", got)
	}
}

// The work ends while fewer handlers are tried: short bursts of work later have all of them again.
func TestTrialEndsWithTheWork(t *testing.T) {
	t.Parallel()
	l, now := New("", 1, 64), time.Now()
	for l.Places() == 64 {
		now = feed(l, now, 10*time.Millisecond, func(*Batch) {})
	}
	now = feed(l, now, 50*time.Millisecond, func(*Batch) {})
	for burst := range 10 {
		now = now.Add(time.Minute)
		for left := 60; left > 0; {
			at := min(left, l.Places())
			left -= at
			now = now.Add(100 * time.Millisecond)
			for range at {
				l.Finished(Batch{End: now, Took: 100 * time.Millisecond, Busy: 100 * time.Millisecond, Good: 1, Places: at, Waiting: left > 0})
			}
		}
		if got := l.Places(); got != 64 {
			t.Errorf("%d handlers after burst %d", got, burst)
		}
	}
}

// It stays between its bounds, whatever is learned and heard.
func TestBounds(t *testing.T) {
	t.Parallel()
	random := sharetest.Rand(t)
	for range 200 {
		least := 1 + random.IntN(20)
		most := least + random.IntN(50)
		l, now := New("b", least, most), time.Now()
		for range 3000 {
			if random.IntN(50) == 0 {
				stay := 1 + random.IntN(80)
				l.Heard(Word{string(rune('a' + random.IntN(3))), stay, []int{stay, 1 + random.IntN(80)}[random.IntN(2)], 1 + random.IntN(80), 1 + random.IntN(80), random.IntN(3)}, now)
			}
			now = now.Add(time.Duration(random.Int64N(int64(20 * time.Millisecond))))
			got := l.Finished(Batch{
				End: now, Took: time.Duration(random.Int64N(int64(time.Second))), Busy: time.Duration(random.Int64N(int64(time.Second))),
				Good: random.IntN(100), Overload: random.IntN(2) * random.IntN(10), Places: random.IntN(100), Waiting: random.IntN(3) > 0, Full: random.IntN(3) > 0,
			})
			if got < least || got > most || l.stay < least || l.stay > most {
				t.Fatalf("%d handlers, of %d to %d", got, least, most)
			}
		}
	}
}
