package protocol_test

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/byhand"
	"github.com/slotmq/go-rmq/internal/testing/night"
)

// A plain ZADD is a documented way to send, so any score may stand anywhere. None
// stops a slot, none makes an answer that cannot be read, and none loses a content.
// (The Lua of the in-memory server cannot read "inf" and "1e+300".)

func TestOddScores(t *testing.T) { onEachServer(t, oddTrials) }

// Where a long has 32 bits, as on small machines and on Windows, %d makes one and the same number of all
// times, and of all numbers of slots.
func TestTurnWhereLongIsShort(t *testing.T) {
	t.Parallel()
	const short = `local string = {sub = string.sub, match = string.match, format = function(f, ...)
		if f == '%d' then return string.format(f, math.max(-2147483648, math.min(2147483647, (...)))) end
		return string.format(f, ...)
	end}
	`
	rdb := near(t)
	rdb.FlushAll(ctx)
	w := newWorld(t, rdb, 3, func(name, source string) string {
		if name == "turn" {
			return short + source
		}
		return source
	})
	for _, trial := range []func(*world){retryAlone, emptyTells, oldestFirst, highestFirst} {
		trial(w)
	}
}

var oddTrials = []trial{
	{name: "any score in any key", run: func(w *world) {
		for _, k := range kinds {
			for i, score := range oddScores {
				if !night.Is() && kinds[i%len(kinds)] != k { // by day each of them in one kind
					continue
				}
				w.clean(k)
				w.later(123)
				w.oddly(rand.New(rand.NewPCG(1, 0)), func() string { return score })
			}
		}
	}, live: true},
	{name: "odd scores by chance", run: func(w *world) {
		for round := range uint64(night.Times(4, 12)) {
			for _, k := range kinds {
				r := rand.New(rand.NewPCG(round, 4))
				w.clean(k)
				w.oddly(r, func() string { return anyScore(r, w.now) })
			}
		}
	}, live: true},
	{name: "no wait is endless", run: func(w *world) {
		for _, score := range []string{"1e300", "1e18"} {
			w.clean(fixedTime)
			w.do("zadd", w.k.Store, score, "m")
			a := w.turn(w.as("a", 0), protocol.Empty)
			w.must(a.Wait > 0 && a.Wait <= 1e12*time.Millisecond, "%s: due in %v", score, a.Wait)
		}
	}, live: true},
	{name: "odd marks", run: oddMarks, live: true},
	{name: "a priority that cannot be", run: func(w *world) {
		for score, want := range map[string]int64{
			"16.5": 17, "16.000000001": 17, "17.5": 17, "99.9": 99, "9007199254740993": 1<<53 - 1, "9.3e18": 1<<53 - 1, "1e300": 1<<53 - 1, "inf": 1<<53 - 1,
		} {
			w.clean(priorityKind)
			w.do("zadd", w.k.Store, score, "m")
			a := w.took(asking(1, w.as("a", 0)), "m")
			w.must(a.Attempt == 1 && a.Priority(0) == want, "%s: attempt %d, priority %d", score, a.Attempt, a.Priority(0))
			number := w.tells(protocol.Left, leaving(w.as("a", a.Fence, giveBack("m", a.Priority(0)))))
			w.must(w.slot().store["m"] == want, "%s: handed back with %d", score, w.slot().store["m"])
			w.took(w.as("a", number), "m")
		}
	}, live: true},
	{name: "a retry with any score is moved", run: func(w *world) {
		for score, left := range map[string]int64{
			"inf": 17, "-inf": 17, "0": 1, "-5": 17, "45": 17, "99.5": 17, "170000000000016.5": 16, "170000000000099": 17, "170000000000007": 7,
		} {
			w.clean(fixedTime)
			w.do("zadd", w.k.Retry, score, "m")
			_, _, _, err := w.s.Reschedule(ctx, w.k, "m", byhand.Move{In: time.Second})
			w.must(err == nil, "%s: %v", score, err)
			got := w.scores()[2]["m"]
			w.must(got == float64((w.now+1000)*100+left), "%s: moved to %.1f, with other retries left than %d", score, got, left)
		}
	}, live: true},
	{name: "members with any score", run: func(w *world) {
		for _, score := range oddScores {
			w.clean(rangeMerge)
			w.do("zadd", protocol.WorkersKey("world"), score, "odd", score, "me")
			for range 2 {
				list, _, err := w.s.Members(ctx, "world", "me", 10*time.Second, true)
				w.must(err == nil && len(list) >= 1 && list[len(list)-1] == "me", "%s: %q, %v", score, list, err)
			}
			w.later(601_000) // nobody who is not seen counts for longer
			list, _, err := w.s.Members(ctx, "world", "me", 10*time.Second, true)
			w.must(err == nil && len(list) == 1, "%s: %q, %v", score, list, err)
		}
	}, live: true},
}

var oddScores = []string{
	"0", "-0", "0.3", "-0.5", "-5", "1", "3.7", "15.999", "16", "16.5", "16.000000001", "17.5", "45", "99.5", "5e-324",
	"1700000000016.5", "1700000000045", "1700000000999", "170000000000016.5", "170000000000099", "1700000100000.5",
	"9007199254740991", "9007199254740993", "9.3e18", "9223372036854775807", "-9.3e18", "1.8446744073709552e19", "1e300", "-1e300", "inf", "-inf",
}

func anyScore(r *rand.Rand, now int64) string {
	switch r.IntN(4) {
	case 0:
		return oddScores[r.IntN(len(oddScores))]
	case 1:
		return fmt.Sprint(float64(now) + r.NormFloat64()*1e5)
	case 2:
		return fmt.Sprint(r.NormFloat64() * 20)
	}
	f := math.Float64frombits(r.Uint64())
	if math.IsNaN(f) {
		f = math.Inf(1)
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}

// oddly puts contents with such scores everywhere, lets everybody at them, and sees
// whether the slot drains.
func (w *world) oddly(r *rand.Rand, score func() string) {
	w.Helper()
	k, priorities := w.k, w.topic == priorityKind
	want := map[string]bool{}
	for n, key := range []string{k.Store, k.Prepare, k.Retry, k.Dead} {
		for i := range 5 {
			x := fmt.Sprint("m", n, i)
			w.do("zadd", key, score(), x)
			want[x] = true
			if i == 0 { // and beside a fresh copy
				w.do("zadd", k.Store, score(), x)
			}
		}
	}
	w.put("plain") // whose turn comes in the end, too
	want["plain"] = true
	holder := []string{"a", "b", ""}[r.IntN(3)]
	if holder != "" {
		w.do("hset", k.Meta, "holder", holder, "batch", 7, "until", w.now+1000, "lease", 1000)
	}
	was := fmt.Sprintf("%v, with %v by %q", w.topic, w.scores(), holder)

	w.looked(was, want)
	for _, x := range slices.Sorted(maps.Keys(want)) { // so that chance falls the same way each time
		w.byHandOn(x, was, want, r)
	}
	cmd := redis.NewIntSliceCmd(ctx, append(w.s.AddArgs(k.Store, r.IntN(2) == 0, 0), score(), "m00", score(), "m11", score(), "sent")...)
	w.s.Exec(ctx, cmd)
	w.must(cmd.Err() == nil, "%s: send: %v", was, cmd.Err())
	want["sent"] = true

	number, literal := int64(0), r.IntN(2) == 0
	var verdicts []protocol.Verdict
	for turn := range 150 {
		w.later(r.Int64N(3000))
		t := w.as("a", number, verdicts...)
		t.Count, t.Random, t.Due, t.Lease = 1+r.IntN(6), r.IntN(1<<30), r.IntN(2) == 0, time.Second
		if r.IntN(10) == 0 && turn < 100 {
			t.Worker, t.Fence, t.Verdicts, t.DeadHolder = "b", 0, nil, "a" // a dies, or its answer is lost
		}
		a, err := w.s.Turn(ctx, t)
		w.must(err == nil, "%s: turn %d: %v", was, turn, err)
		number, verdicts = a.Fence, nil
		for i, x := range a.Contents {
			v := protocol.Verdict{Content: x, Priority: a.Priority(i), Due: a.Due(i), Reason: "it failed"}
			switch {
			case turn < 100 && r.IntN(3) == 0:
				v.Fate = protocol.NotStarted
			case turn < 100 && r.IntN(3) == 0 && literal:
			case turn < 100 && r.IntN(3) == 0:
				v.Delay = time.Second
			default:
				delete(want, x)
				continue
			}
			verdicts = append(verdicts, v)
		}
		if turn%50 == 0 {
			w.looked(was, want)
		}
	}
	s, now := w.scores(), float64(w.now)
	for x, f := range s[0] {
		w.must(!priorities && f > now, "%s: %s still waits with %v", was, x, f)
	}
	w.must(len(s[1]) == 0, "%s: %v still in flight", was, s[1])
	for x, f := range s[2] {
		w.must(f > now*100, "%s: the retry of %s still waits with %v", was, x, f)
	}
	for x := range want {
		found := false
		for _, set := range s {
			_, in := set[x]
			found = found || in
		}
		w.must(found, "%s: %s is lost", was, x)
	}
}

// scores reads the four sorted sets.
func (w *world) scores() (all [4]map[string]float64) {
	w.Helper()
	for i, key := range []string{w.k.Store, w.k.Prepare, w.k.Retry, w.k.Dead} {
		all[i] = map[string]float64{}
		list, err := w.rdb.ZRangeWithScores(ctx, key, 0, -1).Result()
		w.must(err == nil, "%v", err)
		for _, z := range list {
			all[i][z.Member.(string)] = z.Score
		}
	}
	return all
}

// looked: everything that looks at the slot has an answer, and what cannot be is named.
func (w *world) looked(was string, contents map[string]bool) {
	w.Helper()
	priorities := w.topic == priorityKind
	_, err := w.s.Count(ctx, w.k, priorities)
	w.must(err == nil, "%s: count: %v", was, err)
	s := w.scores()
	for x := range contents {
		f, err := w.s.Find(ctx, w.k, priorities, x)
		w.must(err == nil, "%s: find %s: %v", was, x, err)
		var in [4]bool
		for i := range s {
			_, in[i] = s[i][x]
		}
		told := [4]bool{f.Stored > 0, f.InFlight, !f.Retry.IsZero(), !f.Died.IsZero()}
		w.must(told == in && f.Left >= 0 && f.Left <= 17, "%s: %s is told to be in %v with %d retries, and is in %v", was, x, told, f.Left, in)
	}
	for _, part := range auditedParts {
		a, err := w.s.Audit(ctx, w.k, part, "0", 500)
		w.must(err == nil, "%s: audit: %v", was, err)
		named := map[string]bool{}
		for _, b := range a.Violations() {
			named[b.Content] = true
		}
		for _, e := range a.Entries {
			f, err := strconv.ParseFloat(e.Store, 64)
			cannotBe := err == nil && (f != math.Trunc(f) || f < 1 || f > 1<<53)
			w.must(part != byhand.PartStore || !cannotBe || named[e.Content], "%s: %s in the store with %s is not named", was, e.Content, e.Store)
		}
	}
}

// byHandOn lets a person at a content, now and then.
func (w *world) byHandOn(x, was string, want map[string]bool, r *rand.Rand) {
	w.Helper()
	priorities := w.topic == priorityKind
	f, err := w.s.Find(ctx, w.k, priorities, x)
	w.must(err == nil, "%v", err)
	corpse := []byhand.DeadItem{{Content: x, Died: f.Died}}
	var words []byhand.DeadResult
	switch r.IntN(6) {
	case 0:
		_, _, err = w.s.Cancel(ctx, w.k, false, x)
		delete(want, x)
	case 1:
		_, _, _, err = w.s.Reschedule(ctx, w.k, x, byhand.Move{In: time.Second, RetryOnly: priorities})
	case 2:
		_, _, _, err = w.s.Reschedule(ctx, w.k, x, byhand.Move{Priority: 50, RetryOnly: !priorities})
	case 3:
		words, err = w.s.Requeue(ctx, w.k, priorities, 50, corpse)
	case 4:
		if words, err = w.s.Delete(ctx, w.k, corpse); !f.Died.IsZero() {
			delete(want, x)
		}
	}
	w.must(err == nil, "%s: by hand on %s: %v", was, x, err)
	w.must(words == nil || (words[0] == byhand.Gone) == f.Died.IsZero(), "%s: by hand on %s, dead since %v: %s", was, x, f.Died, words)
}

// oddMarks: whatever stands in prepare, what comes back is due and counted.
func oddMarks(w *world) {
	for _, k := range kinds {
		for mark, left := range map[string]int64{
			"inf": 16, "-inf": 16, "45": 16, "7": 7, "-1700000000016": 16, "1700000000005.5": 5, "1700000000045": 16, "1e300": 16, "9.3e18": 0,
		} {
			for _, fate := range []protocol.Verdict{fail("m", time.Second), giveBack("m", 50)} {
				w.clean(k)
				w.later(5000)
				w.do("zadd", w.k.Prepare, mark, "m")
				w.do("hset", w.k.Meta, "holder", "a", "batch", 7)
				a := w.took(w.as("a", 0), "m")
				if mark != "1e300" && mark != "-1700000000016" { // what % makes of these is nobody's business
					w.must(int64(a.Attempt) == 17-left, "%v: %s is attempt %d", k, mark, a.Attempt)
				} else {
					left = int64(17 - a.Attempt)
				}
				w.turn(with(w.as("a", a.Fence, fate), func(t *protocol.Turn) { w.do("hset", w.k.Meta, "paused", 1) }), protocol.Paused)
				s := w.slot()
				switch {
				case fate.Fate == protocol.Failed && left == 0:
					w.must(s.dead["m"] == w.now, "%v, %s: %+v", k, mark, s)
				case fate.Fate == protocol.Failed:
					w.must(s.retry["m"] == (w.now+1000)*100+left, "%v, %s: %+v", k, mark, s)
				case left < retries:
					w.must(s.retry["m"] == w.now*100+left+1, "%v, %s: %+v", k, mark, s)
				case k == priorityKind:
					w.must(s.store["m"] == 50, "%v, %s: %+v", k, mark, s)
				default:
					w.must(s.store["m"] > retries && s.store["m"] <= w.now, "%v, %s: %+v", k, mark, s)
				}
			}
		}
	}
}
