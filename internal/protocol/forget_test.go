package protocol_test

import (
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/night"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
)

// Redis forgets: it starts again from a snapshot, or a replica that lags takes over.

func TestForgetting(t *testing.T) { onEachServer(t, forgetTrials) }

var forgetTrials = []trial{
	{name: "numbers outgrow what Redis forgets", run: func(w *world) {
		// 400 batches in less than a ms. All but the first are forgotten, and others are
		// taken within the same ms.
		w.clean(rangeMerge)
		clock := func(us int64) { w.do("set", w.clock, fmt.Sprintf("%d.%03d", startOfTime, us)) }
		var before *slot
		var last int64
		for n := range int64(400) {
			clock(2 * n)
			w.put("m")
			if n == 1 {
				before = w.slot()
			}
			a := w.took(w.as("a", last), "m")
			w.must(a.Fence == startOfTime*1000+2*n, "number %d at %d µs", a.Fence, startOfTime*1000+2*n)
			last = a.Fence
		}
		w.restore(before)
		clock(800)
		a := w.took(w.as("b", w.tells(protocol.Number, knowing("a", w.as("b", 0)))), "m")
		w.must(a.Fence > last, "number %d again, after %d was given", a.Fence, last)
	}},
}

// TestNumbersAfterARestart: a slot that takes all the batches it can is saved, goes on
// for as many again, and Redis starts from what was saved. No number comes twice.
func TestNumbersAfterARestart(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	rdb := server.Client(t)
	s, k := scriptsOn(rdb), protocol.KeysOf("orders", 3)
	given := map[int64]bool{}
	number, batches := int64(0), night.Times(500, 3000)
	take := func(worker string) {
		t.Helper()
		for n := 0; n < batches; {
			turn := &protocol.Turn{Keys: k, Worker: worker, Fence: number, Count: 1, HoldsNothing: number == 0, DeadHolder: "before"}
			a, err := s.Turn(ctx, turn)
			if err != nil {
				t.Fatal(err)
			}
			number = a.Fence
			if a.Code != protocol.Batch {
				continue
			}
			if given[a.Fence] {
				t.Fatalf("%s: number %d was given before, with batch %d of %d", worker, a.Fence, n, batches)
			}
			given[a.Fence] = true
			n++
		}
	}
	var waiting []redis.Z
	for i := range 3*batches + 10 {
		waiting = append(waiting, redis.Z{Score: 1000, Member: fmt.Sprintf("m%d", i)})
	}
	must.Do(t, rdb.ZAdd(ctx, k.Store, waiting...).Err())
	take("before")
	must.Do(t, rdb.Save(ctx).Err())
	take("before")
	server.Kill()
	server.Restart(t)
	number = 0
	take("after")
}
