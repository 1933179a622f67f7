package protocol_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/byhand"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
)

// How the scripts reach Redis, and the clock they read there. These tests run
// the shipped scripts unchanged.

func TestServerClock(t *testing.T) {
	onEachServer(t, []trial{{name: "of the server", run: func(w *world) {
		w.clean(fixedTime)
		s := scriptsOn(w.rdb)
		started, err := w.rdb.Time(ctx).Result()
		w.must(err == nil, "%v", err)
		from := started.UnixMilli()
		w.do("zadd", w.k.Store, from, "m", from+1e9, "later")
		turn := w.as("a", 0)
		turn.Lease = time.Minute
		a, err := s.Turn(ctx, turn)
		w.must(err == nil && len(a.Contents) == 1, "%+v, %v", a, err)
		held, err := s.Touch(ctx, w.k, "a", a.Fence)
		w.must(held && err == nil, "%v, %v", held, err)
		definition := protocol.Definition{Kind: "fixed-time", Slots: 1, Layout: 1}
		_, err = s.Define(ctx, "world", definition)
		w.must(err == nil, "%v", err)
		ended, err := w.rdb.Time(ctx).Result()
		w.must(err == nil, "%v", err)
		to := ended.UnixMilli()
		during := func(ms int64) bool { return from <= ms && ms <= to }
		after := w.slot()
		created, _ := w.do("hget", protocol.DefinitionKey("world"), "created").(string)
		ms, _ := strconv.ParseInt(created, 10, 64)
		w.must(during(a.Fence/1000) && during(after.until-60_000) && during(ms), "number %d, lease until %d, created %s; it is %d to %d", a.Fence, after.until, created, from, to)
		mark := after.prepare["m"]
		w.must(mark%1000 == 16 && from/1000 <= mark/1000 && mark/1000 <= to/1000, "prepare score %d", mark)
	}}})
}

func TestUnknownScripts(t *testing.T) {
	onEachServer(t, []trial{
		{name: "in the middle of a pipeline", run: func(w *world) {
			w.clean(priorityKind)
			s := scriptsOn(w.rdb)
			var turns []*protocol.Turn
			var takes []redis.Cmder
			for slot := range 5 {
				k := protocol.KeysOf("flush", slot)
				w.do("zadd", k.Store, 50+slot, "m")
				turn := w.as("a", 0)
				turn.Keys = k
				turns, takes = append(turns, turn), append(takes, s.TurnCmd(ctx, turn))
			}
			_, err := s.Turn(ctx, with(turns[0], func(t *protocol.Turn) { t.Keys = protocol.KeysOf("flush", 5) })) // Redis knows the script
			w.must(err == nil, "%v", err)
			counted, again := redis.NewIntCmd(ctx, "incr", "counter"), redis.NewIntCmd(ctx, "incr", "counter")
			sent := redis.NewIntSliceCmd(ctx, append(s.AddArgs("flush_6", false, 0), 9000, "m")...)
			refused := redis.NewIntCmd(ctx, "incr", turns[0].Keys.Prepare)
			s.Exec(ctx, takes[0], counted, takes[1], redis.NewStatusCmd(ctx, "script", "flush"), takes[2], refused, sent, again, takes[3], takes[4])
			for i, take := range takes {
				// A turn that was sent twice would be told again, without a priority.
				a, err := protocol.TurnAnswer(turns[i], take)
				w.must(err == nil && a.Code == protocol.Batch && a.Priority(0) == int64(50+i), "turn %d: %+v, %v", i, a, err)
			}
			w.must(len(sent.Val()) == 1 && sent.Val()[0] == 1 && counted.Val() == 1 && again.Val() == 2, "%v, %v, %v", sent, counted, again)
			w.must(refused.Err() != nil && strings.HasPrefix(refused.Err().Error(), "WRONGTYPE"), "%v", refused)
		}},
		{name: "by every method", run: func(w *world) {
			w.clean(rangeMerge)
			s := scriptsOn(w.rdb)
			w.do("zadd", w.k.Store, 1000, "m")
			forget := func() { w.must(w.rdb.ScriptFlush(ctx).Err() == nil, "flush") }
			forget()
			a, err := s.Turn(ctx, w.as("a", 0))
			w.must(err == nil && a.Code == protocol.Batch, "%+v, %v", a, err)
			forget()
			held, err := s.Touch(ctx, w.k, "a", a.Fence)
			w.must(held && err == nil, "%v, %v", held, err)
			forget()
			_, inFlight, err := s.Cancel(ctx, w.k, false, "m")
			w.must(inFlight && err == nil, "%v, %v", inFlight, err)
			forget()
			_, err = s.Define(ctx, "world", protocol.Definition{Kind: "range-merge", Slots: 1, Layout: 1})
			w.must(err == nil, "%v", err)
			for _, call := range planCalls {
				forget()
				w.must(call(s, ctx, w.plans) == nil, "%v", call(s, ctx, w.plans))
			}
			for _, c := range byHandCalls {
				forget()
				w.s = s
				w.must(c.call(w) == nil, "%s: %v", c.name, err)
			}
			forget()
			_, err = s.Audit(ctx, w.k, byhand.PartStore, "0", 1)
			w.must(err == nil, "%v", err)
		}},
		{name: "an empty pipeline", run: func(w *world) { w.s.Exec(ctx) }},
	})
}

// A script is sent again only where it was unknown: Redis counts the calls.
func TestOnlyUnknownScriptsAreSentAgain(t *testing.T) {
	t.Parallel()
	rdb := servertest.Redis(t).Client(t)
	s := scriptsOn(rdb)
	turn := func(slot int) redis.Cmder {
		return s.TurnCmd(ctx, &protocol.Turn{Keys: protocol.KeysOf("count", slot), Worker: "a", Count: 1})
	}
	s.Exec(ctx, turn(0))
	if err := rdb.ConfigResetStat(ctx).Err(); err != nil {
		t.Fatal(err)
	}
	s.Exec(ctx, turn(1), turn(2), redis.NewStatusCmd(ctx, "script", "flush"), turn(3), turn(4))
	info, err := rdb.Info(ctx, "commandstats").Result()
	if err != nil {
		t.Fatal(err)
	}
	for command, want := range map[string]string{"evalsha": "4", "eval": "2"} {
		_, rest, _ := strings.Cut(info, "cmdstat_"+command+":calls=")
		calls, _, _ := strings.Cut(rest, ",")
		if calls != want {
			t.Errorf("%s was called %s times, not %s\n%s", command, calls, want, info)
		}
	}
}

// Every method tells which slot or topic failed, and keeps the cause.
func TestErrors(t *testing.T) {
	t.Parallel()
	rdb := servertest.SharedRedis(t).Client(t)
	s := scriptsOn(rdb)
	over, cancel := context.WithCancel(ctx)
	cancel()
	k := protocol.KeysOf("errors", 3)
	_, turn := s.Turn(over, &protocol.Turn{Keys: k})
	_, touch := s.Touch(over, k, "a", 1)
	_, _, remove := s.Cancel(over, k, false, "m")
	_, deaths := s.Deaths(over, k, "", 1)
	plans := map[string]error{}
	for what, call := range planCalls {
		plans[what] = call(s, over, protocol.KeysOf("errors", 3).Plans(false))
	}
	_, define := s.Define(over, "errors", protocol.Definition{})
	_, count := s.Count(over, k, false)
	_, find := s.Find(over, k, false, "m")
	_, audit := s.Audit(over, k, byhand.PartStore, "0", 1)
	_, _, pause := s.Pause(over, k, true)
	_, requeue := s.Requeue(over, k, false, 0, nil)
	_, forget := s.Delete(over, k, nil)
	_, _, _, reschedule := s.Reschedule(over, k, "m", byhand.Move{})
	for what, err := range map[string]error{
		"turn": turn, "touch": touch, "cancel": remove, "read the deaths": deaths, "define": define, "count": count, "look for": find, "audit": audit,
		"pause or resume": pause, "requeue": requeue, "requeue or delete": forget, "reschedule": reschedule,
		"set plan p": plans["set"], "read the plans": plans["due"], "send an occurrence of plan p": plans["fire"], "stop plan p": plans["stop"],
	} {
		if !errors.Is(err, context.Canceled) || !strings.HasPrefix(err.Error(), what) || !strings.Contains(err.Error(), "errors") {
			t.Errorf("%s: %v", what, err)
		}
	}
}
