package declaration

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/internal/upkeep/plan"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/slots"
)

// declares sets a plan, and returns what its program knows of it.
func (w *world) declares(m message.Recurring) *Declared {
	w.t.Helper()
	rule, err := plan.New(w.Topic, m, 1000)
	must.Do(w.t, err)
	d, _, err := w.Plans.Set(ctx, rule)
	must.Do(w.t, err)
	return d
}

// keeps lets a program look, checks that it sets so many plans again, and returns the rule of the
// name p.
func (w *world) keeps(want int, all ...*Declared) held {
	w.t.Helper()
	again, err := w.Keep(ctx, all)
	if err != nil || len(again) != want {
		w.t.Fatalf("%d plans are set again, %v; not %d", len(again), err, want)
	}
	return w.sees(min(1, len(all)))
}

// sees returns the rule of the name p, if there must be one.
func (w *world) sees(want int) (x held) {
	w.t.Helper()
	there, err := w.named(ctx, "p")
	must.Do(w.t, err)
	if len(there) != want {
		w.t.Fatalf("%+v", there)
	}
	if want > 0 {
		x = there[0]
		must.Do(w.t, w.stands(ctx, "p", &x))
	}
	return x
}

// forgets is a Redis that has lost all that it had.
func (w *world) forgets() {
	w.t.Helper()
	w.clears("a", "b")
	must.Do(w.t, w.Del(ctx, protocol.PlansKey("orders"), protocol.EndedKey("orders")).Err())
}

var (
	planA = message.Recurring{Name: "p", Content: "a", Period: time.Hour}
	planB = message.Recurring{Name: "p", Content: "b", Period: 2 * time.Hour}
)

// A plan that Redis has lost is set again as it was, and stands where it stood.
func TestKeep(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		a := w.declares(planA)
		was := w.keeps(0, a)
		w.forgets()
		if x := w.keeps(1, a); x.Stored != was.Stored || !x.Next.Equal(was.Next) {
			t.Errorf("%+v, not %+v", x, was)
		}
		w.keeps(0, a)
		owed := time.Now().Add(-time.Minute).Truncate(time.Millisecond)
		w.moves("a", owed)
		w.keeps(0, a)
		w.forgets()
		if x := w.keeps(1, a); !x.Next.Equal(owed) {
			t.Errorf("it stands at %v, and owes %v", x.Next, owed)
		}
		must.Do(t, w.Del(ctx, protocol.PlansKey("orders")).Err()) // no worker would look for it
		w.keeps(1, a)
		w.keeps(0, a)
		if set := w.declares(planA); set.since.Compare(a.since) != 0 || !set.next.Equal(owed) { // of another instance
			t.Errorf("%+v, not %+v", set, a)
		}
		must.Do(t, w.ZRem(ctx, w.of("a").Plan, "p").Err()) // it is at its end
		if w.keeps(0, a); !a.Gone() {
			t.Error("a plan at its end is looked for")
		}
		w.forgets()
		if again, err := w.Keep(ctx, []*Declared{a}); err != nil || len(again) > 0 {
			t.Errorf("a plan at its end: %v, %v", again, err)
		}
		w.sees(0)
	})
}

// A hundred plans and more of one program are looked at in pages.
func TestKeepMany(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		var all []*Declared
		for i := range 120 {
			m := planA
			m.Name = strings.Repeat("p", i+1)
			all = append(all, w.declares(m))
		}
		w.keeps(0, all...)
		w.forgets()
		w.keeps(120, all...)
		w.keeps(0, all...)
	})
}

// Two programs know two rules. The one that was set last comes back, whoever looks first, and the program
// of the other one looks for it no more.
func TestKeepTheLaterOne(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		for _, first := range []int{0, 1} {
			w.forgets()
			both := []*Declared{w.declares(planA), w.declares(planB)}
			want := w.sees(1).Stored
			w.forgets()
			for _, n := range []int{first, 1 - first, first, 1 - first} {
				_, err := w.Keep(ctx, both[n:n+1])
				must.Do(t, err)
			}
			if x := w.sees(1); x.Stored != want || !both[0].Gone() || both[1].Gone() {
				t.Errorf("%d looks first: %s, not %s", first, x.Stored, want)
			}
		}

		w.forgets() // an instance has set the first one again, after the other
		a, b := w.declares(planA), w.declares(planB)
		want := w.declares(planA).stored()
		w.keeps(0, a)
		w.forgets()
		w.keeps(1, a)
		if x := w.keeps(0, b); x.Stored != want || !b.Gone() {
			t.Errorf("%s, not %s", x.Stored, want)
		}

		b = w.declares(planB)
		want = w.sees(1).Stored
		w.forgets() // and Redis has an older state, in the slot of the other rule
		w.puts("a", a.since.String(), a.rule.Text(), time.Now().Add(time.Hour))
		if x := w.keeps(1, b); x.Stored != want {
			t.Errorf("%s, not %s", x.Stored, want)
		}
		w.forgets() // or in its own
		w.puts("b", plan.Since{Base: time.UnixMilli(1700000000000)}.String(), a.rule.Text(), time.Now().Add(time.Hour))
		if x := w.keeps(1, b); x.Stored != want {
			t.Errorf("%s, not %s", x.Stored, want)
		}
	})
}

// If two rules are set in the same moment, the one in the larger slot stays. Its program does not set the
// other one again.
func TestKeepOfOneMoment(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		lower, higher := planA, planB
		if slots.Of("a", 8) > slots.Of("b", 8) {
			lower, higher = planB, planA
		}
		a := w.declares(lower)
		b := w.declares(higher)
		a.since = b.since
		w.forgets()
		w.keeps(1, b)
		w.keeps(0, a)
		w.keeps(0, b)
		if !a.Gone() || b.Gone() {
			t.Errorf("%+v, %+v", a, b)
		}
	})
}

// What a clock that was far ahead has set is not set again.
func TestKeepNothingThatStrays(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		a := w.declares(planA)
		a.since.Base = time.Now().AddDate(1, 0, 0)
		a.next = a.since.Base.Add(time.Hour)
		w.forgets()
		if again, err := w.Keep(ctx, []*Declared{a}); err != nil || len(again) > 0 {
			t.Errorf("%v, %v", again, err)
		}
		w.sees(0)
		w.sets(Added, planA)
	})
}

// What somebody has ended is not taken for lost, and is set again only by a program that declares it anew.
func TestKeepNothingThatWasEnded(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		sets := 0
		w.AddHook(beforeSet{func() { sets++ }})
		for what, end := range map[string]func(){
			"it is there":     func() {},
			"it is lost":      func() { w.forgets() },
			"after an hour's": func() { must.Do(t, w.ZAdd(ctx, protocol.EndedKey("orders"), redis.Z{Member: "q", Score: 1}).Err()) },
		} {
			a := w.declares(planA)
			end()
			sets = 0
			if stopped, err := w.Stop(ctx, "p"); err != nil || stopped == (what == "it is lost") {
				t.Errorf("%s: stopped: %v, %v", what, stopped, err)
			}
			if again, err := w.Keep(ctx, []*Declared{a}); err != nil || len(again) > 0 || !a.Gone() {
				t.Errorf("%s: %v, %v", what, again, err)
			}
			w.sees(0)
			if sets > 0 { // a worker could have sent it
				t.Errorf("%s: it was set for a moment", what)
			}
		}
		key := protocol.EndedKey("orders")
		if names := w.ZRange(ctx, key, 0, -1).Val(); len(names) != 1 {
			t.Errorf("%q are noted", names)
		}
		if ttl := w.PTTL(ctx, key).Val(); ttl <= 0 || ttl > time.Hour {
			t.Errorf("they are noted for %v", ttl)
		}
		a := w.declares(planA)
		w.clears("a")
		w.keeps(1, a)
	})
}

// Somebody ends a plan while a program sets it again.
func TestEndedWhileItIsSetAgain(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		a := w.declares(planA)
		w.forgets()
		other := w.Plans
		other.Redis = beside(t, w.UniversalClient)
		other.Scripts = protocol.New(other.Redis)
		w.AddHook(beforeSet{func() {
			_, err := other.Stop(ctx, "p")
			must.Do(t, err)
		}})
		if again, err := w.Keep(ctx, []*Declared{a}); err != nil || len(again) > 0 || !a.Gone() {
			t.Errorf("%v, %v", again, err)
		}
		w.sees(0)
	})
}

// A key of a wrong type is named, and all other plans are looked at.
func TestKeepBesideAWrongKey(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		all := []*Declared{w.declares(planA)}
		for i := range 2 * atOnce {
			all = append(all, w.declares(message.Recurring{Name: fmt.Sprint("q", i), Content: "b", Period: time.Hour}))
		}
		w.forgets()
		must.Do(t, w.UniversalClient.Set(ctx, w.of("b").Rule, "of another program", 0).Err())
		again, err := w.Keep(ctx, all)
		if len(again) != 1 || err == nil || !strings.Contains(err.Error(), "read "+w.of("b").Rule+": WRONGTYPE") {
			t.Errorf("%v, %v", again, err)
		}
	})
}

// The worker of the slot is notified when a plan is set, and when it is set again.
func TestTheWorkerIsTold(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		listens := w.Subscribe(ctx, protocol.WakeChannel("orders"))
		t.Cleanup(func() { must.Do(t, listens.Close()) })
		_, err := listens.Receive(await.Context(t))
		must.Do(t, err)
		told := func() {
			t.Helper()
			want := string(protocol.AppendPlan(nil, slots.Of("a", w.Topic.Slots)))
			if m := await.Signal(t, "a wake-up", listens.Channel()); m.Payload != want {
				t.Errorf("%q, not %q", m.Payload, want)
			}
		}
		a := w.declares(planA)
		told()
		w.forgets()
		w.keeps(1, a)
		told()
	})
}

// On a full server a plan can be ended, and it is said that this could not be noted.
func TestStopOnAFullServer(t *testing.T) {
	t.Parallel()
	rdb := servertest.Redis(t).Client(t)
	w := &world{t: t, UniversalClient: rdb, Plans: Plans{Redis: rdb, Scripts: protocol.New(rdb), Topic: message.Topic{Name: "orders", Kind: message.KindFixedTime, Slots: 8}}}
	w.declares(planA)
	must.Do(t, rdb.ConfigSet(ctx, "maxmemory", "1").Err())
	stopped, err := w.Stop(ctx, "p")
	if !stopped || err == nil || !strings.Contains(err.Error(), "it has ended, but programs that have declared it may set it again: end it once more when there is room: OOM") {
		t.Errorf("%v, %v", stopped, err)
	}
	if stopped, err := w.Stop(ctx, "p"); stopped || err != nil {
		t.Errorf("again: %v, %v", stopped, err)
	}
	must.Do(t, rdb.ConfigSet(ctx, "maxmemory", "0").Err())
	w.sees(0)
}
