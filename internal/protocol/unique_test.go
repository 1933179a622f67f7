package protocol_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
)

// Messages that are unique for a time.

func TestUnique(t *testing.T) { onEachServer(t, uniqueTrials) }

var uniqueTrials = []trial{
	{name: "unique: wherever it is", run: func(w *world) {
		for _, k := range kinds {
			for _, literal := range []bool{false, true} {
				w.clean(k)
				delay := time.Minute
				if literal {
					delay = 0
				}
				score := w.now
				if k == priorityKind {
					score = 40
				}
				until := w.now + 10_000
				send := func() replies {
					w.Helper()
					return w.sendAll(protocol.SendUnique, k != rangeMerge, 0, message{content: "x", score: score + 1, unique: 10_000})
				}
				w.sendAll(protocol.SendUnique, k != rangeMerge, 0, message{content: "x", score: score, unique: 10_000}).says(protocol.SendStored, score)
				send().says(protocol.SendDuplicate, score) // what waits is as it was
				w.later(2)
				a := w.took(w.as("a", 0), "x")
				send().says(protocol.SendDuplicate, int64(0))
				number := w.tells(protocol.Left, leaving(w.as("a", a.Fence, fail("x", delay))))
				send().says(protocol.SendDuplicate, int64(0))
				if !literal {
					w.later(time.Minute.Milliseconds())
					w.do("zadd", w.seen, until+time.Minute.Milliseconds(), "x")
				}
				a = w.took(w.as("a", number), "x")
				w.must(a.Attempt == 2, "attempt %d", a.Attempt)
				number = w.tells(protocol.Left, leaving(w.as("a", a.Fence, bury("x"))))
				send().says(protocol.SendDuplicate, int64(0))
				w.turn(w.as("a", number), protocol.Empty)
				w.at(int64(w.do("zscore", w.seen, "x").(float64)))
				score = max(40, w.now)
				if k == priorityKind {
					score = 40
				}
				send().says(protocol.SendStored, score+1)
			}
		}
	}},
	{name: "unique: until its end", run: func(w *world) {
		w.clean(fixedTime)
		send := func(unique int64) replies {
			w.Helper()
			return w.sendAll(protocol.SendUnique, true, 0, message{content: "x", score: w.now + 500, unique: unique})
		}
		send(100).says(protocol.SendStored, w.now+500)
		due := w.now + 500
		w.later(99)
		send(100).says(protocol.SendDuplicate, due)  // which makes it no longer
		send(0).says(protocol.SendMerged, w.now+500) // nor does that, and it is none
		w.later(1)
		send(100).says(protocol.SendMerged, w.now+500)
		due = w.now + 500
		w.later(99)
		send(1).says(protocol.SendDuplicate, due)
	}},
	{name: "unique: several at once", run: func(w *world) {
		w.clean(rangeMerge)
		w.sendAll(protocol.SendUnique|protocol.SendCeiling|protocol.SendNote, false, 0,
			message{content: "x", score: w.now + 5}, message{content: "x", score: w.now + 6, unique: 100}, message{content: "x", score: w.now + 7, unique: 100},
			message{content: "y", score: 50, ceiling: 90, unique: 100}, message{content: "y", score: 70, ceiling: 90, unique: 1}, message{content: "y", score: 60, ceiling: 90}).
			says(protocol.SendStored, w.now+5, protocol.SendMerged, w.now+5, protocol.SendDuplicate, w.now+5,
				protocol.SendStored, w.now+50, protocol.SendDuplicate, w.now+50, protocol.SendMerged, w.now+60)
		s := w.slot()
		n, _ := protocol.ParseNote(s.notes["y"])
		w.must(s.seen["x"] == w.now+100 && s.seen["y"] == w.now+100 && n.Sends == 2, "%v, %+v", s.seen, n)
	}},
	{name: "unique: full", run: func(w *world) {
		w.clean(fixedTime)
		w.do("zadd", w.seen, w.now+5, "was here")
		w.sendAll(protocol.SendUnique, true, 1,
			message{content: "a", score: w.now + 1, unique: 10}, message{content: "b", score: w.now + 2, unique: 10}, message{content: "was here", score: w.now + 3, unique: 10}).
			says(protocol.SendStored, w.now+1, protocol.SendRefused, w.now+2, protocol.SendDuplicate, int64(0))
		s := w.slot()
		w.must(len(s.seen) == 2 && s.seen["a"] == w.now+10 && s.seen["was here"] == w.now+5, "%v", s.seen)
	}},
	{name: "unique: leftovers", run: func(w *world) {
		w.clean(fixedTime)
		for i := range 30 {
			w.do("zadd", w.seen, w.now-int64(i), fmt.Sprint(i))
		}
		w.do("zadd", w.seen, w.now+1, "lasts")
		for _, left := range []int{21, 11, 2, 2} {
			w.sendAll(protocol.SendUnique, true, 0, message{content: "x", score: w.now + 5, unique: 100})
			n := len(w.slot().seen)
			w.must(n == left, "%d are left, not %d", n, left)
			if left == 21 {
				w.do("zrem", w.seen, "x")
				w.do("zadd", w.seen, w.now-50, "x") // begins anew, and stays
			}
		}
	}},
	{name: "unique: parts of a ms", run: func(w *world) {
		w.clean(rangeMerge)
		w.do("set", w.clock, fmt.Sprint(w.now, ".25"))
		w.clockSet = 0
		cmd := redis.NewIntSliceCmd(ctx, append(w.s.SendArgs(w.k.Store, protocol.SendUnique, false, 0), w.now, "x", 100)...)
		w.s.Exec(ctx, cmd)
		until := w.do("zscore", w.seen, "x")
		w.must(cmd.Err() == nil && until == float64(w.now+101), "%v, until %v", cmd, until)
	}},
	{name: "wrong type: unique", run: func(w *world) {
		w.clean(rangeMerge)
		w.do("set", w.seen, "of another program")
		cmd := redis.NewIntSliceCmd(ctx, append(w.s.SendArgs(w.k.Store, protocol.SendUnique, false, 0), w.now, "x", "", w.now, "y", 50)...)
		w.s.Exec(ctx, cmd)
		n := w.do("exists", w.k.Store)
		w.must(cmd.Err() != nil && n == int64(0), "%v: %v stored", cmd, n)
	}},
}
