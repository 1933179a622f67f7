package protocol_test

import (
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/protocol"
)

// Who may take over: whoever asks after the holder's own lease, on the
// server's clock, or knows that the holder is dead.

func TestLeases(t *testing.T) { onEachServer(t, leaseTrials) }

var leaseTrials = []trial{
	{name: "a short lease never cuts a longer one", run: leasesDiffer},
	{name: "no lease is never over", run: func(w *world) {
		w.clean(rangeMerge)
		w.put("m")
		w.took(w.as("zookeeper", 0), "m")
		w.lease = time.Second
		w.later(time.Hour.Milliseconds())
		a := w.turn(w.as("redis", 0), protocol.Busy)
		w.must(a.Holder == "zookeeper" && a.Wait == 0, "%+v", a)
		w.turn(knowing("another", w.as("redis", 0)), protocol.Busy)
		w.tells(protocol.Number, knowing("zookeeper", w.as("redis", 0)))
	}},
	{name: "a holder with another lease", run: func(w *world) {
		w.clean(rangeMerge)
		w.put("m")
		w.lease = time.Second
		a := w.took(w.as("a", 0), "m")
		w.put("n")
		w.lease = 5 * time.Second
		w.took(w.as("a", a.Fence), "n")
		s := w.slot()
		w.must(s.holder == "a" && s.lease == 5000 && s.until == w.now+5000, "lease %d until %d", s.lease, s.until)
	}},
	{name: "told again begins the lease anew", run: toldAgain},
	{name: "a touch begins the lease anew", run: touchKeeps},
	{name: "take-over tells the old holder", run: takeOverTells},
	{name: "no number, no batch", run: func(w *world) {
		w.clean(rangeMerge)
		w.put("m", "n")
		a := w.took(asking(1, w.as("a", 0)), "m")
		number := w.tells(protocol.Left, leaving(w.as("a", a.Fence)))
		for _, wrong := range []int64{0, 1, a.Fence, number + 1} {
			w.must(w.tells(protocol.Number, w.as("b", wrong)) == number, "told another number")
		}
		w.took(w.as("b", number), "n")
	}},
	{name: "busy hides the number", run: func(w *world) {
		w.clean(rangeMerge)
		w.put("m")
		a := w.took(w.as("a", 0), "m")
		b := w.turn(w.as("b", a.Fence), protocol.Busy)
		w.must(b.Fence == 0 && b.Holder == "a", "%+v", b)
		w.took(w.as("a", 0), "m")
	}},
	{name: "the server's clock steps back", run: clockBack},
	{name: "the server's clock steps forward", run: clockForward},
	{name: "numbers grow with the clock", run: numbersGrow},
	{name: "meta is lost", run: metaLost},
}

func leasesDiffer(w *world) {
	w.clean(rangeMerge)
	w.put("m")
	w.lease = 5 * time.Second
	a := w.took(w.as("long", 0), "m")
	w.lease = time.Second
	for range 5 {
		b := w.turn(w.as("short", 0), protocol.Busy)
		w.must(b.Wait.Milliseconds() == startOfTime+5000-w.now, "busy for %v at +%d ms", b.Wait, w.now-startOfTime)
		w.later(1000)
	}
	w.turn(w.as("short", 0), protocol.Busy) // in its very last millisecond
	w.turn(w.as("long", 0), protocol.Batch) // alive, and told again
	w.later(5001)
	number := w.tells(protocol.Number, w.as("short", 0))
	w.must(number > a.Fence, "number %d after %d", number, a.Fence)

	// And the other way round: a long lease of the asker saves nobody.
	w.later(1000)
	w.took(w.as("short", number), "m")
	w.lease = time.Hour
	w.later(1001)
	w.tells(protocol.Number, w.as("long", 0))
}

func toldAgain(w *world) {
	for _, k := range kinds {
		w.clean(k)
		w.put("m", "n")
		w.lease = 2 * time.Second
		first := w.took(w.as("a", 0), "m", "n")
		w.later(1900)
		before := w.slot()
		again := w.took(w.as("a", 0), "m", "n")
		w.must(again.Fence == first.Fence && again.Attempt == 1 && again.Priority(0) == 0, "%+v after %+v", again, first)
		s := w.slot()
		w.must(s.until == w.now+2000 && s.lease == 2000, "lease %d until %d", s.lease, s.until)
		s.until = before.until
		before.same(s)
		w.later(1900)
		w.turn(w.as("b", 0), protocol.Busy)

		// The lease is the one of the asking turn.
		w.lease = 7 * time.Second
		w.took(w.as("a", 0), "m", "n")
		s = w.slot()
		w.must(s.until == w.now+7000 && s.lease == 7000, "lease %d until %d", s.lease, s.until)

		// A retry is told again with its attempt.
		number := w.tells(protocol.Left, leaving(w.as("a", first.Fence, fail("m", time.Second))))
		w.later(1000)
		w.must(w.took(w.as("a", number), "m").Attempt == 2, "attempt")
		w.must(w.took(w.as("a", 0), "m").Attempt == 2, "attempt told again")
	}
}

func touchKeeps(w *world) {
	w.clean(rangeMerge)
	w.put("m")
	w.lease = 3 * time.Second
	a := w.took(w.as("a", 0), "m")
	touch := func(worker string, number int64) bool {
		before := w.slot()
		held, err := w.s.Touch(ctx, w.k, worker, number)
		w.must(err == nil, "touch: %v", err)
		before.touch(worker, number, w.now, held)
		before.same(w.slot())
		return held
	}
	for range 4 {
		w.later(2000)
		w.must(touch("a", a.Fence), "not held any more")
		w.must(!touch("b", a.Fence) && !touch("a", a.Fence-1) && !touch("a", 0), "held by another")
	}
	w.later(2999)
	w.turn(w.as("b", 0), protocol.Busy)
	w.later(2)
	w.tells(protocol.Number, w.as("b", 0))
	w.must(!touch("a", a.Fence), "held after the take-over")
}

// takeOverTells: the holder that was taken over learns it from its next turn,
// even if nothing was taken since.
func takeOverTells(w *world) {
	for _, delay := range []time.Duration{0, time.Second} {
		w.clean(rangeMerge)
		w.put("m")
		w.crash = delay
		a := w.took(w.as("a", 0), "m")
		number := w.tells(protocol.Number, knowing("a", w.as("b", 0)))
		s := w.slot()
		w.must(s.holder == "" && s.number == number && len(s.store)+len(s.retry) == 1, "%+v", s)
		w.must(w.tells(protocol.Number, w.as("a", a.Fence)) == number, "a late finish was taken for real")
		w.must(w.tells(protocol.Number, w.as("a", a.Fence, fail("m", time.Hour))) == number, "a late failure was taken for real")
		s.same(w.slot())
	}
}

func clockBack(w *world) {
	w.clean(rangeMerge)
	w.put("m")
	w.lease = 5 * time.Second
	a := w.took(w.as("a", 0), "m")
	w.lease = time.Second
	w.later(-time.Hour.Milliseconds())
	b := w.turn(w.as("b", 0), protocol.Busy)
	w.must(b.Wait == 5*time.Second, "busy for %v: not one lease of the holder", b.Wait)
	w.later(5000)
	w.turn(w.as("b", 0), protocol.Busy)
	w.later(1)
	number := w.tells(protocol.Number, w.as("b", 0))
	w.must(number > a.Fence, "number %d after %d", number, a.Fence)
	w.later(1000)
	c := w.took(w.as("b", number), "m")
	w.must(c.Attempt == 2 && c.Fence > number, "%+v", c)

	// An end of up to two leases ahead is nothing odd, and a later one is mended.
	for ahead, wait := range map[int64]int64{10_000: 10_000, 10_001: 5000} {
		w.clean(rangeMerge)
		w.put("m")
		w.lease = 5 * time.Second
		w.took(w.as("a", 0), "m")
		w.later(5000 - ahead)
		b := w.turn(w.as("b", 0), protocol.Busy)
		w.must(b.Wait.Milliseconds() == wait, "busy for %v, the lease ended in %d ms", b.Wait, ahead)
	}

	// A holder without a lease loses nothing by it.
	w.clean(rangeMerge)
	w.put("m")
	w.took(w.as("a", 0), "m")
	w.later(-time.Hour.Milliseconds())
	w.lease = time.Second
	before := w.slot()
	w.turn(w.as("b", 0), protocol.Busy)
	before.same(w.slot())
}

func clockForward(w *world) {
	w.clean(rangeMerge)
	w.put("m")
	w.lease = 5 * time.Second
	a := w.took(w.as("a", 0), "m")
	w.later(time.Hour.Milliseconds())
	number := w.tells(protocol.Number, w.as("b", 0))
	w.tells(protocol.Number, w.as("a", a.Fence)) // its late finish ends nothing
	w.later(1000)
	w.must(w.took(w.as("b", number), "m").Attempt == 2, "attempt")
}

// numbersGrow even if Redis forgot the last ones in a failover.
func numbersGrow(w *world) {
	w.clean(rangeMerge)
	w.put("m", "n")
	a := w.took(asking(1, w.as("a", 0)), "m")
	w.must(a.Fence == w.now*1000, "number %d at %d ms", a.Fence, w.now)
	w.do("del", w.k.Meta, w.k.Prepare)
	w.later(1)
	b := w.took(asking(1, w.as("b", 0)), "n")
	w.must(b.Fence > a.Fence, "number %d after %d", b.Fence, a.Fence)

	w.later(-5000) // and while the clock steps back
	left := w.tells(protocol.Left, leaving(w.as("b", b.Fence)))
	w.must(left == b.Fence+1, "number %d after %d", left, b.Fence)

	// Whatever is written there, the slot goes on, and its numbers grow from then on.
	for _, odd := range []string{"x", "", "inf", "-inf", "nan", "1e300", "9007199254740992", "-7", "1.5", "-0.5"} {
		w.do("hset", w.k.Meta, "batch", odd)
		n := w.tells(protocol.Empty, w.as("a", w.tells(protocol.Number, w.as("a", 17))))
		w.put("m")
		a := w.took(w.as("a", n), "m")
		w.must(a.Fence == w.now*1000, "number %d at %d ms, after %q", a.Fence, w.now, odd)
		w.turn(w.as("a", a.Fence), protocol.Empty)
	}
}

func metaLost(w *world) {
	for _, k := range kinds {
		w.clean(k)
		w.put("m")
		w.took(w.as("a", 0), "m")
		w.do("del", w.k.Meta)
		number := w.tells(protocol.Number, knowing("another", w.as("b", 0)))
		s := w.slot()
		why, _ := protocol.ParseFailure(s.why["m"])
		w.must(len(s.retry) == 1 && why.Worker == "-" && why.Reason == "its holder is unknown", "%v: %+v", k, s)
		w.later(1000)
		w.must(w.took(w.as("b", number), "m").Attempt == 2, "attempt")
	}
}
