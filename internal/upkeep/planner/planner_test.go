package planner

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/luascripts"
	"github.com/slotmq/go-rmq/message"
)

var reports = message.Topic{Name: "reports", Kind: message.KindFixedTime, Slots: 4}

func hourly(name, content string) message.Recurring {
	return message.Recurring{Name: name, Content: content, Period: time.Hour}
}

const hour = int64(time.Hour / time.Millisecond)

// What is due is sent with its time, and the plan moves on to the next. While it waits, the next
// one merges into it. Each is an event, like any other send.
func TestSendsWhatIsDue(t *testing.T) {
	t.Parallel()
	w := newWorld(t, reports)
	x := newWorker(w, zap.NewNop(), time.Hour, 2)
	w.set(2, hourly("p", "report"))
	w.later(time.Hour - time.Millisecond)
	x.looks(2)
	if n := len(w.stored(2)); n > 0 {
		t.Errorf("%d are early", n)
	}
	if at, set := x.planned(2); !set || time.Until(at) > time.Millisecond {
		t.Errorf("the next look is in %v", time.Until(at))
	}
	for i := range int64(3) {
		w.at(start.Add(time.Duration(1+i) * time.Hour))
		x.looks(2)
		if got := w.stored(2); !maps.Equal(got, map[string]int64{"report": start.UnixMilli() + hour}) || w.next(2, "p") != (2+i)*hour {
			t.Errorf("hour %d: %v, next %d", i, got, w.next(2, "p"))
		}
	}
	want := []string{
		fmt.Sprintf(`sent report %d, 0 merged, worker ""`, start.UnixMilli()+hour),
		`merged report 0, 1 merged, worker ""`, `merged report 0, 1 merged, worker ""`,
	}
	if !slices.Equal(x.events, want) {
		t.Errorf("%q\nwant %q", x.events, want)
	}
}

// Of several plans in a slot, the one that occurs first decides when the slot is looked at next.
func TestTheEarliestIsLookedAtFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(t, reports)
	x := newWorker(w, zap.NewNop(), 24*time.Hour, 0)
	w.set(0, message.Recurring{Name: "slow", Content: "slow", Delay: 10 * time.Minute, Period: 350 * time.Minute}) // due first, and again in 350 minutes
	w.set(0, hourly("fast", "fast"))
	w.set(0, message.Recurring{Name: "last", Content: "last", Period: 2 * time.Hour})
	w.later(6 * time.Hour)
	x.looks(0)
	if at, set := x.planned(0); !set || time.Until(at) > time.Hour || time.Until(at) < time.Hour/2 {
		t.Errorf("the next look is in %v", time.Until(at))
	}
	x.lookAt(place{x.topic, 0}, time.Now().Add(2*time.Hour))
	if at, _ := x.planned(0); time.Until(at) > time.Hour {
		t.Errorf("a later look has put it off by %v", time.Until(at))
	}
}

// In a topic of priorities an occurrence has the priority of its rule, and a rule without one is
// left alone. So is a rule without anything, which RMQ never writes.
func TestSendsWithItsPriority(t *testing.T) {
	t.Parallel()
	w := newWorld(t, message.Topic{Name: "jobs", Kind: message.KindPriority, Literal: true, Slots: 1})
	x := newWorker(w, zap.NewNop(), time.Hour, 0)
	r := hourly("p", "job")
	r.Priority = 70
	w.set(0, r)
	must.Do(t, w.ZAdd(ctx, w.keys(0).Plan, redis.Z{Member: "none", Score: 1}, redis.Z{Member: "no priority", Score: 1}).Err())
	must.Do(t, w.HSet(ctx, w.keys(0).Rule, "no priority", `1 {"content":"x","period":3600000}`).Err())
	must.Do(t, w.ZAdd(ctx, w.keys(0).Store, redis.Z{Member: "job", Score: 16}).Err()) // it has failed
	w.later(time.Hour)
	x.looks(0)
	if got := w.stored(0); !maps.Equal(got, map[string]int64{"job": 70}) {
		t.Errorf("%v", got)
	}
}

// What was missed is made up for by one, or left out.
func TestMissed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, reports)
	x := newWorker(w, zap.NewNop(), time.Hour, 0)
	skip := hourly("skip", "skipped")
	skip.Missed = message.MissedSkip
	w.set(0, skip)
	w.set(0, hourly("once", "made up for"))
	last := hourly("last", "over")
	last.Missed, last.Until = message.MissedSkip, start.Add(5*time.Hour)
	w.set(0, last)
	w.later(10*time.Hour + 30*time.Minute)
	x.looks(0)
	if got := w.stored(0); !maps.Equal(got, map[string]int64{"made up for": start.UnixMilli() + hour}) {
		t.Errorf("%v", got)
	}
	if w.next(0, "skip") != 11*hour || w.next(0, "once") != 11*hour || w.next(0, "last") != -1 {
		t.Errorf("next: %d, %d, %d", w.next(0, "skip"), w.next(0, "once"), w.next(0, "last"))
	}
	if len(x.events) != 1 {
		t.Errorf("%q", x.events)
	}
}

// A rule that this worker cannot read is logged once, and keeps nothing else waiting, however many
// there are.
func TestUnreadableRules(t *testing.T) {
	t.Parallel()
	core, lines := observer.New(zap.InfoLevel)
	w := newWorld(t, reports)
	x := newWorker(w, zap.New(core), time.Hour, 1)
	w.set(1, hourly("p", "report"))
	const many = dueAtOnce + 5
	unknown := func(name, zone string) {
		must.Do(t, w.HSet(ctx, w.keys(1).Rule, name, `1 {"content":"x","cron":"0 3 * * *","zone":"`+zone+`"}`).Err())
		must.Do(t, w.ZAdd(ctx, w.keys(1).Plan, redis.Z{Member: name, Score: 1e12}).Err())
	}
	for i := range many {
		unknown(fmt.Sprint("u", i), "Mars/Olympus")
	}
	w.later(time.Hour)
	for range 4 {
		x.looks(1)
	}
	if got := w.stored(1); len(got) != 1 || w.next(1, "p") != 2*hour {
		t.Errorf("%v, next %d", got, w.next(1, "p"))
	}
	errors := func() (names []string) {
		for _, l := range lines.TakeAll() {
			if l.Level == zapcore.ErrorLevel && strings.Contains(fmt.Sprint(l.ContextMap()["error"]), "Zone") {
				names = append(names, fmt.Sprint(l.ContextMap()["plan"]))
			}
		}
		slices.Sort(names)
		return names
	}
	if got := errors(); len(slices.Compact(got)) != many || len(got) != many {
		t.Errorf("%d lines", len(got))
	}
	unknown("u3", "Mars/Elysium") // another rule
	x.looks(1)
	if got := errors(); !slices.Equal(got, []string{"u3"}) {
		t.Errorf("%q", got)
	}
	must.Do(t, w.Del(ctx, w.keys(1).Plan).Err())
	x.looks(1)
	if len(x.topic.unread) > 0 {
		t.Errorf("%v is remembered", x.topic.unread)
	}
}

// An answer gets lost. The next look tells that the occurrence was sent, and it is not sent again.
func TestLostAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, reports)
	x := newWorker(w, zap.NewNop(), time.Hour, 0)
	w.set(0, hourly("p", "report"))
	w.later(time.Hour)
	for _, which := range []func(redis.Cmder) bool{func(redis.Cmder) bool { return true }, fires} {
		w.answersGetLost(which)
		x.looks(0)
		if at, set := x.planned(0); !set || time.Until(at) > again {
			t.Errorf("the next look is in %v", time.Until(at))
		}
	}
	w.answersGetLost(nil)
	must.Do(t, w.ZRem(ctx, w.keys(0).Store, "report").Err()) // it is handled
	x.looks(0)
	if got := w.stored(0); len(got) > 0 || w.next(0, "p") != 2*hour {
		t.Errorf("%v, next %d", got, w.next(0, "p"))
	}
}

// Another worker was first: what this one read is stale. It looks again.
func TestStale(t *testing.T) {
	t.Parallel()
	w := newWorld(t, reports)
	x := newWorker(w, zap.NewNop(), time.Hour, 0)
	w.set(0, hourly("p", "report"))
	w.later(time.Hour)
	cmd := x.Scripts.DuePlansCmd(ctx, w.keys(0), 1)
	x.Scripts.Exec(ctx, cmd)
	due, err := protocol.DuePlansAnswer(w.keys(0), cmd)
	must.Do(t, err)
	x.looks(0)
	must.Do(t, w.ZRem(ctx, w.keys(0).Store, "report").Err())
	all, _ := x.decide(place{x.topic, 0}, due)
	x.fire(ctx, all)
	if got := w.stored(0); len(all) != 1 || len(got) > 0 || len(x.events) != 1 {
		t.Errorf("%d firings, %v, %q", len(all), got, x.events)
	}
	if at, set := x.planned(0); !set || time.Until(at) > again {
		t.Errorf("the next look is in %v", time.Until(at))
	}
}

// A full Redis refuses, and the plan stays. The next safety look sends it.
func TestFullRedis(t *testing.T) {
	t.Parallel()
	w := newWorld(t, reports)
	x := newWorker(w, zap.NewNop(), time.Hour, 0)
	w.set(0, hourly("p", "report"))
	w.later(time.Hour)
	must.Do(t, w.plain.ConfigSet(ctx, "maxmemory", "1").Err())
	x.looks(0)
	must.Do(t, w.plain.ConfigSet(ctx, "maxmemory", "0").Err())
	if got := w.stored(0); len(got) > 0 || w.next(0, "p") != hour {
		t.Errorf("%v, next %d", got, w.next(0, "p"))
	}
	if at, set := x.planned(0); set && time.Until(at) < time.Minute {
		t.Errorf("it is tried again in %v", time.Until(at))
	}
	x.looks(0)
	if got := w.stored(0); len(got) != 1 {
		t.Errorf("%v", got)
	}
}

// A Redis that refuses is not asked again and again, also where more is due than is asked for at once,
// and the log says it once a look.
func TestFullRedisIsNotPressed(t *testing.T) {
	t.Parallel()
	core, lines := observer.New(zap.WarnLevel)
	w := newWorld(t, reports)
	x := newWorker(w, zap.New(core), time.Hour, 0)
	for i := range dueAtOnce + 1 {
		w.set(0, hourly(fmt.Sprint("p", i), fmt.Sprint("report", i)))
	}
	w.later(time.Hour)
	must.Do(t, w.plain.ConfigSet(ctx, "maxmemory", "1").Err())
	before := time.Now()
	x.looks(0)
	if at, set := x.planned(0); !set || at.Before(before.Add(again)) {
		t.Errorf("it is tried again in %v", at.Sub(before))
	}
	if lines.Len() != 1 {
		t.Errorf("%d lines", lines.Len())
	}
	if err := x.Settle(ctx); err == nil || !strings.Contains(err.Error(), "OOM") {
		t.Errorf("%v", err)
	}
	must.Do(t, w.plain.ConfigSet(ctx, "maxmemory", "0").Err())
	x.looks(0)
	x.looks(0)
	if got := w.stored(0); len(got) != dueAtOnce+1 {
		t.Errorf("%d are sent", len(got))
	}
}

// Only slots of this worker are looked at, whatever is noted, heard, or was planned before they moved.
func TestOnlyItsOwnSlots(t *testing.T) {
	t.Parallel()
	w := newWorld(t, reports)
	x := newWorker(w, zap.NewNop(), time.Hour, 1)
	for slot := range 4 {
		w.set(slot, hourly("p", "report"))
	}
	must.Do(t, w.SAdd(ctx, protocol.PlansKey("reports"), "x", "-3", "4").Err()) // by a person
	w.later(time.Hour)
	for slot := range 5 {
		x.Look(x.scheduled, slot)
	}
	if _, set := x.planned(2); set {
		t.Error("another's slot is to be looked at")
	}
	must.Do(t, x.Settle(ctx))
	x.looks(0, 2, 3)
	for slot := range 4 {
		if got := len(w.stored(slot)); got != map[bool]int{true: 1}[slot == 1] {
			t.Errorf("slot %d: %d", slot, got)
		}
	}
	x.has(3)
	w.later(time.Hour)
	x.looks(1)
	if w.next(1, "p") != 2*hour {
		t.Error("it was sent by who has lost the slot")
	}
}

// Times by the clock of this machine: the worker wakes by itself when something is due, finds what
// it has not heard of at its safety look, and hears of a plan at once.
func TestWakesInTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t, reports)
	w.hash = redis.NewScript(luascripts.Source("plan.lua")).Hash()
	must.Do(t, w.plain.ScriptLoad(ctx, luascripts.Source("plan.lua")).Err())
	x := newWorker(w, zap.NewNop(), 50*time.Millisecond, 0, 1)
	x.Life.Go(x.Run)
	now, err := w.plain.Time(ctx).Result()
	must.Do(t, err)
	w.now = now
	w.set(0, message.Recurring{Name: "unheard", Content: "a", Delay: 100 * time.Millisecond, Period: 100 * time.Millisecond, Repeat: 4})
	await.True(t, "the plan unheard ends", func() bool { return w.ended(0, "unheard") }) // by safety looks alone
	x.Life.EndBackground()
	x.Life.Wait()
	x = newWorker(w, zap.NewNop(), time.Hour, 0, 1) // which has no safety look
	x.Life.Go(x.Run)
	w.now, err = w.plain.Time(ctx).Result()
	must.Do(t, err)
	w.set(1, message.Recurring{Name: "heard", Content: "b", Delay: 100 * time.Millisecond, Period: 100 * time.Millisecond, Repeat: 4})
	x.Look(x.scheduled, 1)
	await.True(t, "the plan heard ends", func() bool { return w.ended(1, "heard") }) // by its times
	w.set(0, message.Recurring{Name: "gained", Content: "c", Delay: time.Millisecond})
	x.Hurry(x.scheduled)
	await.True(t, "the plan gained ends", func() bool { return w.ended(0, "gained") })
	for slot, content := range []string{"a", "b"} {
		if _, sent := w.stored(slot)[content]; !sent {
			t.Errorf("%s is not sent", content)
		}
	}
}

// ended reports whether a plan has come to its end.
func (w *world) ended(slot int, name string) bool {
	return w.plain.ZScore(ctx, w.keys(slot).Plan, name).Err() == redis.Nil
}

// A topic without plans costs one command at each safety look, and one that has none any more one
// more for each slot that had some.
func TestTopicsWithoutPlansCostLittle(t *testing.T) {
	t.Parallel()
	w := newWorld(t, reports)
	x := newWorker(w, zap.NewNop(), 20*time.Millisecond, 0, 1, 2, 3)
	must.Do(t, w.plain.ConfigResetStat(ctx).Err())
	x.Life.Go(x.Run)
	await.True(t, "five looks", func() bool { return calls(t, w, "smembers") >= 5 })
	if n := calls(t, w, "evalsha"); n > 0 {
		t.Errorf("%d scripts", n)
	}
	before := calls(t, w, "smembers")
	must.Do(t, w.SAdd(ctx, protocol.PlansKey("reports"), 2).Err())
	await.True(t, "five looks", func() bool { return calls(t, w, "smembers") >= before+5 })
	x.Life.EndBackground()
	if n := calls(t, w, "evalsha"); n == 0 || n > calls(t, w, "smembers")-before+1 {
		t.Errorf("%d scripts", n)
	}
}

// calls is how often a command was called.
func calls(t *testing.T, w *world, command string) (n int) {
	t.Helper()
	info, err := w.plain.Info(ctx, "commandstats").Result()
	must.Do(t, err)
	_, rest, _ := strings.Cut(info, "cmdstat_"+command+":calls=")
	_, _ = fmt.Sscanf(rest, "%d,", &n)
	return n
}
