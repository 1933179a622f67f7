package breaker

import (
	"container/heap"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/night"
	"github.com/slotmq/go-rmq/internal/testing/sharetest"
)

// rig is a breaker with handlers that run in virtual time: so many at once, each with the next
// message that may begin. It is not told how the schedule works.
type rig struct {
	*Breaker
	now     time.Time
	running handlerEnds
	begun   int
	outages int
	lost    time.Duration // while fewer handlers ran than could have
}

type handlerEnd struct {
	at      time.Time
	pass    uint32
	content uint64
	fails   bool
}

type handlerEnds []handlerEnd

func (e handlerEnds) Len() int           { return len(e) }
func (e handlerEnds) Less(i, j int) bool { return e[i].at.Before(e[j].at) }
func (e handlerEnds) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *handlerEnds) Push(x any)        { *e = append(*e, x.(handlerEnd)) }
func (e *handlerEnds) Pop() (x any)      { x, *e = (*e)[len(*e)-1], (*e)[:len(*e)-1]; return x }

func newRig(most int) *rig {
	return &rig{Breaker: New(most, LongestPause), now: time.Unix(1e9, 0)}
}

// run goes on until a time, with messages from next: how long the handler takes, and if it fails.
func (r *rig) run(until time.Time, next func() (content uint64, took time.Duration, fails bool)) {
	for r.now.Before(until) {
		for len(r.running) < min(r.most, max(r.Places(r.now), 1)) || r.oneByOne() && len(r.running) < r.most {
			pass, ok := r.Begin(r.now, time.Minute)
			if !ok {
				break
			}
			r.begun++
			content, took, fails := next()
			heap.Push(&r.running, handlerEnd{r.now.Add(took), pass, content, fails})
		}
		at, handler := r.Next(), false
		if len(r.running) > 0 && (at.IsZero() || !r.running[0].at.After(at) || !at.After(r.now)) {
			at, handler = r.running[0].at, true
		}
		if r.now = at; !handler {
			r.Look(r.now)
			continue
		}
		e := heap.Pop(&r.running).(handlerEnd)
		was := r.outage
		if e.fails {
			r.Fails(r.now, e.pass, Message{Content: e.content, Retry: e.pass%2 == 1})
		} else {
			r.Succeeds(e.pass)
		}
		if r.outage && !was {
			r.outages++
		}
	}
}

// An hour in which everything fails at once, with 64 handlers.
func TestSpendsLittleInAnHour(t *testing.T) {
	t.Parallel()
	for _, most := range []int{1, 8, 64} {
		for _, took := range []time.Duration{time.Microsecond, time.Millisecond, time.Second, 30 * time.Second} {
			r := newRig(most)
			content := uint64(0)
			r.run(r.now.Add(time.Hour), func() (uint64, time.Duration, bool) {
				content++
				return content, took, true
			})
			t.Logf("%d handlers of %v: %d attempts, %d of them probes", most, took, r.begun, r.probes)
			if r.begun > 200 || r.outages != 1 || r.probes < 40 {
				t.Errorf("%d handlers of %v: %d attempts, %d probes, %d outages", most, took, r.begun, r.probes, r.outages)
			}
			ended := r.now
			r.run(r.now.Add(LongestPause+took+2*time.Second), func() (uint64, time.Duration, bool) { return 0, time.Second, false })
			if r.Probing() || r.open < min(2, most) {
				t.Errorf("%d handlers of %v: still probing %v after the outage", most, took, r.now.Sub(ended))
			}
		}
	}
}

// Poison beside good messages is never taken for an outage, and costs the good ones little: in any
// mixture up to one third, whichever of the two takes longer, and however many handlers there are.
func TestIgnoresPoison(t *testing.T) {
	t.Parallel()
	random := sharetest.Rand(t)
	for range night.Times(10, 100) {
		most := 1 + random.IntN(64)
		poison := random.Float64() / 3
		good, bad := time.Duration(1+random.IntN(1000))*time.Millisecond, time.Duration(1+random.IntN(1000))*time.Millisecond
		r := newRig(most)
		done, content := 0, uint64(0)
		const long = 10 * time.Minute
		r.run(r.now.Add(long), func() (uint64, time.Duration, bool) {
			content++
			if random.Float64() < poison {
				return content, bad, true
			}
			done++
			return content, good, false
		})
		// What as many handlers would have done without it.
		each := (1-poison)*good.Seconds() + poison*bad.Seconds()
		all := (1 - poison) * long.Seconds() / each * float64(most)
		if r.outages > 0 || float64(done) < 0.9*all-float64(most) {
			t.Errorf("%d handlers, %.2f poison of %v beside %v: %d outages, %d done of %.0f", most, poison, bad, good, r.outages, done, all)
		}
	}
}

// In half an outage about as much succeeds as without a breaker, from up to 19 of 20 messages that fail on,
// with few handlers and with many, quick ones and slow ones. A few times in a hundred all of the first 72 fail, and it is
// taken for a whole outage until a probe succeeds.
func TestInHalfAnOutage(t *testing.T) {
	t.Parallel()
	random := sharetest.Rand(t)
	for _, x := range []struct {
		most int
		took time.Duration
	}{{8, 60 * time.Millisecond}, {8, 300 * time.Millisecond}, {8, 2 * time.Second}, {64, 500 * time.Millisecond}, {64, 2 * time.Second}} {
		for bad, least := range map[float64]float64{0.3: 0.8, 0.6: 0.8, 0.85: 0.8, 0.95: 0.65} { // the last by far, for what may come by chance
			long := max(30*time.Second, 100*x.took)
			good, content, rounds := 0, uint64(0), night.Times(400, 4000)*8/x.most
			for range rounds {
				r := newRig(x.most)
				r.run(r.now.Add(long), func() (uint64, time.Duration, bool) {
					content++
					fails := random.Float64() < bad
					if !fails {
						good++
					}
					return content, x.took, fails
				})
			}
			all := (1 - bad) * float64(rounds*x.most) * long.Seconds() / x.took.Seconds()
			t.Logf("%d handlers of %v, %.0f %% fail: %.2f of what succeeds without it", x.most, x.took, 100*bad, float64(good)/all)
			if float64(good) < least*all {
				t.Errorf("%d handlers of %v, %.0f %% fail: only %.2f of what succeeds without it", x.most, x.took, 100*bad, float64(good)/all)
			}
		}
	}
}

// What it bears grows fourfold with each alarm that a success ends, to a bound; and is as little as at first
// after some successes in a row. So an outage that was half a one before costs at most so many attempts more.
func TestBearsMore(t *testing.T) {
	r := newRig(64)
	for _, failures := range []int{8, 32, 128, 512, 512} {
		for range 2 { // any success that comes sooner changes nothing
			for i := range failures - 1 {
				r.Fails(r.now, 0, Message{Content: uint64(i)})
			}
			if r.oneByOne() {
				t.Fatalf("%d failures are not borne", failures-1)
			}
			r.Succeeds(0)
		}
		for i := range failures {
			r.Fails(r.now, 0, Message{Content: uint64(i)})
		}
		if !r.oneByOne() || r.Probing() {
			t.Fatalf("%d failures: one by one %v, probing %v", failures, r.oneByOne(), r.Probing())
		}
		r.Succeeds(0)
	}
	for n := range uint64(768) {
		if r.Probing() {
			t.Fatalf("it probes after %d failures", n)
		}
		r.Fails(r.now, 0, Message{Content: n})
	}
	if !r.Probing() {
		t.Error("768 failures, and it does not probe")
	}
	for n := range 20 {
		if r.State() == Calm {
			t.Fatalf("it is calm after %d successes", n)
		}
		r.Succeeds(0)
	}
	if !(r.State() == Calm) {
		t.Error("it is not calm after 20 successes in a row")
	}
}

// Where handlers take so long that 72 failures would take minutes, 40 are enough. The time counts from the eighth content
// on, and not from when it fails again.
func TestOfSlowHandlers(t *testing.T) {
	r := newRig(8)
	for n := range uint64(40) {
		if r.Probing() {
			t.Fatalf("it probes after %d failures", n)
		}
		r.Fails(r.now, 0, Message{Content: n})
		switch n {
		case 6:
			r.now = r.now.Add(time.Hour)
		case 7:
			r.now = r.now.Add(5 * time.Second)
			r.tries--
			r.Fails(r.now, 0, Message{Content: n})
		}
	}
	if !r.Probing() {
		t.Error("40 failures in 5 s, and it does not probe")
	}
}

// Half an outage is forgotten when nothing has failed for a minute.
func TestForgets(t *testing.T) {
	r := newRig(64)
	for range 8 {
		r.trip()
		r.Succeeds(0)
	}
	for pause, want := range map[time.Duration]int{59 * time.Second: 512, time.Minute + 1: 8} {
		x := *r.Breaker
		x.failed = map[uint64]struct{}{}
		x.Fails(r.now.Add(pause), 0, Message{Content: 1})
		if x.bears != want {
			t.Errorf("after %v without a failure it bears %d, not %d", pause, x.bears, want)
		}
	}
}

// A message that is known to fail says nothing: it neither counts, nor ends what is reassuring.
func TestKnownFailuresSayNothing(t *testing.T) {
	r := newRig(64)
	for i := range 8 {
		r.Fails(r.now, 0, Message{Content: uint64(i)})
	}
	for range reassuring {
		r.Succeeds(0)
		r.Fails(r.now, 0, Message{Content: 1, Known: true})
	}
	if r.State() != Calm {
		t.Errorf("after %d successes it is not calm: %+v", reassuring, r.Breaker)
	}
}

// Where a message that fails comes again at once, and each is tried 17 times before the next, few are spent: 20 until it probes,
// and after half an outage no more than it bears.
func TestWhereFailedMessagesComeAgainAtOnce(t *testing.T) {
	for _, x := range []struct{ alarms, want int }{{0, 20}, {1, 20}, {4, 46}} {
		r, n := newRig(64), uint64(0)
		for range x.alarms {
			for i := uint64(0); !r.oneByOne(); i++ {
				r.Fails(r.now, 0, Message{Content: i})
			}
			r.Succeeds(0)
		}
		for ; !r.Probing(); n++ {
			for range 17 {
				r.Fails(r.now, 0, Message{Content: n})
			}
		}
		if int(n) != x.want {
			t.Errorf("after %d alarms %d messages are spent until it probes, not %d", x.alarms, n, x.want)
		}
	}
}

// As many are tried with few handlers as with many, before it goes one by one.
func TestTriesEnough(t *testing.T) {
	for most, want := range map[int]int{1: 71, 8: 64, 32: 40, 64: 8, 100: 8} {
		r, n := newRig(most), 0
		for ; !r.oneByOne(); n++ {
			r.Fails(r.now, 0, Message{Content: uint64(n)})
		}
		if n != want {
			t.Errorf("%d handlers: one by one after %d failures instead of %d", most, n, want)
		}
	}
}

// Contents that failed beside others which succeeded since, and few that fail again and again,
// are no outage. Nor is one message that has failed, whatever it was in.
func TestCountsContents(t *testing.T) {
	r := newRig(64)
	for i := range 1000 {
		r.Fails(r.now, 0, Message{uint64(i), true, true})
		r.Fails(r.now, 0, Message{Content: uint64(i % (carefulAfter - 1))})
	}
	if r.oneByOne() {
		t.Errorf("%d different contents that failed are taken for an outage", len(r.failed))
	}
	r.Fails(r.now, 0, Message{Content: carefulAfter})
	if !r.oneByOne() || r.Probing() {
		t.Errorf("%d different contents have failed: one by one %v, probing %v", len(r.failed), r.oneByOne(), r.Probing())
	}
	for range reassuring {
		r.Succeeds(0)
	}
	if !(r.State() == Calm) || r.Places(r.now) != 64 {
		t.Errorf("after successes: %+v", r.Breaker)
	}
}

// trip has as many contents fail as it takes.
func (r *rig) trip() {
	for i := uint64(0); !r.Probing(); i++ {
		r.Fails(r.now, 0, Message{Content: i})
	}
}

// Where all slots but one have only retries of messages that are known to fail, the first probe in that
// one is in time: they make no pause longer, and do not change how the next probe is chosen.
func TestPassesOverWhatIsKnown(t *testing.T) {
	for range 100 {
		for _, slots := range []int{1, 2, 8, 64, excuses} {
			r := newRig(64)
			r.trip()
			begun, good := r.now, rand.IntN(slots)
			for slot := 0; r.Probing(); slot = (slot + 1) % slots {
				r.now = r.Next()
				pass, ok := r.Begin(r.now, time.Minute)
				switch {
				case !ok:
					t.Fatal("no probe")
				case slot == good && r.tried != ProbeRetry:
					r.Succeeds(pass)
				default:
					r.Fails(r.now, pass, Message{Content: uint64(slot), Retry: true, Known: true})
				}
			}
			if took, most := r.now.Sub(begun), time.Duration(slots)*firstPause; took > most {
				t.Fatalf("%d slots: a probe meets the good message after %v instead of %v", slots, took, most)
			}
		}
	}
}

// A message that is known to fail does not make the pauses longer, but not for ever: an outage that
// began then would spend all that such messages have left.
func TestExcusesSomeProbes(t *testing.T) {
	r := newRig(64)
	probe := func(want time.Duration) {
		t.Helper()
		r.now = r.Next()
		pass, _ := r.Begin(r.now, time.Minute)
		r.Fails(r.now, pass, Message{Content: 1, Retry: true, Known: true})
		if got := r.probeAt.Sub(r.now); got != want {
			t.Fatalf("probe %d: the next one after %v, not %v", r.probes, got, want)
		}
	}
	for range 2 { // in the next outage, too
		r.trip()
		for range excuses {
			probe(firstPause)
		}
		for pause := firstPause; pause < LongestPause; {
			pause = min(pauseGrowth*pause, LongestPause)
			probe(pause)
		}
		r.Succeeds(0)
	}
}

// The first probe takes the last message, and each of the three ways comes soon.
func TestProbesInThreeWays(t *testing.T) {
	r := newRig(64)
	r.trip()
	if r.way != ProbeLast {
		t.Errorf("the first probe: %d", r.way)
	}
	count := map[State]int{}
	const n = 4000
	for range n {
		r.now = r.Next()
		pass, _ := r.Begin(r.now, time.Minute)
		count[r.tried]++
		r.Fails(r.now, pass, Message{Content: 1})
	}
	if len(count) != 3 || count[ProbeRetry] < n*2/5 || count[ProbeLast] < n/5 || count[ProbeDrawn] < n/5 {
		t.Errorf("%v of %d probes", count, n)
	}
}

// A probe whose handler never returns counts as one that has failed, and when it does return it
// does not end the next one.
func TestGivesUpAProbe(t *testing.T) {
	r := newRig(64)
	r.trip()
	if _, ok := r.Begin(r.now, time.Minute); ok || r.Places(r.now) != 0 {
		t.Error("a probe has begun without a pause")
	}
	r.now = r.Next()
	first, ok := r.Begin(r.now, time.Minute)
	if !ok || first == 0 || r.Places(r.now) != 1 {
		t.Errorf("a probe after %v: %v, pass %d", firstPause, ok, first)
	}
	if _, ok := r.Begin(r.now, time.Minute); ok {
		t.Error("two probes at a time")
	}
	if r.now = r.Next(); !r.now.Equal(r.since.Add(firstPause + time.Minute)) {
		t.Errorf("the probe is given up at %v", r.now)
	}
	r.Look(r.now)
	if !r.outage || r.Places(r.now) != 0 {
		t.Errorf("a probe without an end: outage %v, %d places", r.outage, r.Places(r.now))
	}
	r.now = r.Next()
	second, _ := r.Begin(r.now, time.Minute)
	r.Fails(r.now, first, Message{Content: 1})
	if _, ok := r.Begin(r.now, time.Minute); ok {
		t.Error("another probe has begun while one was out")
	}
	r.Returned(second) // neither: nothing is known, so another one may begin at once
	if _, ok := r.Begin(r.now, time.Minute); !ok {
		t.Error("no probe after one that says nothing")
	}
}

// After a success the handlers come back by and by; after another failure they stop at once.
func TestOpensStepwise(t *testing.T) {
	r := newRig(12)
	r.trip()
	for _, want := range []int{2, 4, 8, 12} {
		r.Succeeds(0) // the first is one that ran already
		if r.Places(r.now) != want {
			t.Errorf("%d places instead of %d", r.Places(r.now), want)
		}
	}
	for range reassuring {
		r.Succeeds(0)
	}
	if !(r.State() == Calm) || r.Places(r.now) != 12 || !r.Next().IsZero() {
		t.Errorf("it is not as it was: %+v", r.Breaker)
	}
	r.trip()
	r.Succeeds(0)
	r.trip()
	if r.Places(r.now) != 0 || r.pause != firstPause {
		t.Errorf("%d places, next probe after %v", r.Places(r.now), r.pause)
	}
}
