package planner

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/lifetime"
	"github.com/slotmq/go-rmq/internal/observers"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/servers/away"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/internal/upkeep/periodic"
	"github.com/slotmq/go-rmq/internal/upkeep/plan"
	"github.com/slotmq/go-rmq/internal/worker/schedule"
	"github.com/slotmq/go-rmq/luascripts"
	"github.com/slotmq/go-rmq/message"
)

func TestMain(m *testing.M) { servertest.Main(m) }

var ctx = context.Background()

// start is where the clock of a test begins that moves it by itself.
var start = time.UnixMilli(1_700_000_000_000).UTC()

// world is a Redis whose clock, as plan.lua sees it, is moved by the test.
type world struct {
	*redis.Client
	t      testing.TB
	topic  message.Topic
	plain  *redis.Client
	clock  string // key
	source string // of plan.lua, with that clock
	hash   string
	now    time.Time

	mu   sync.Mutex
	lose func(cmd redis.Cmder) bool // whether the answer to a command gets lost
}

func newWorld(t testing.TB, topic message.Topic) *world {
	t.Helper()
	server := servertest.Redis(t)
	w := &world{Client: server.Client(t), plain: server.Client(t), t: t, topic: topic, clock: "clock"}
	const read = "(function() local ms = tonumber(redis.call('GET', 'clock')) return {tostring(math.floor(ms / 1000)), tostring(ms % 1000 * 1000)} end)()"
	w.source = strings.ReplaceAll(luascripts.Source("plan.lua"), "call('TIME')", read)
	w.hash = redis.NewScript(w.source).Hash()
	must.Do(t, w.ScriptLoad(ctx, w.source).Err())
	w.AddHook(w)
	w.at(start)
	return w
}

func (w *world) at(now time.Time) {
	w.now = now
	must.Do(w.t, w.plain.Set(ctx, w.clock, now.UnixMilli(), 0).Err())
}

func (w *world) later(d time.Duration) { w.at(w.now.Add(d)) }

// answersGetLost has those of some commands get lost, after Redis has executed them.
func (w *world) answersGetLost(which func(cmd redis.Cmder) bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lose = which
}

type lost struct{}

func (lost) Error() string   { return "the answer got lost" }
func (lost) Timeout() bool   { return true }
func (lost) Temporary() bool { return true }

func (w *world) DialHook(next redis.DialHook) redis.DialHook { return next }

func (w *world) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		back := w.swap(cmd)
		err := next(ctx, cmd)
		back()
		if w.loses(cmd) {
			return lost{}
		}
		return err
	}
}

func (w *world) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		for _, cmd := range cmds {
			defer w.loses(cmd)
			defer w.swap(cmd)()
		}
		return next(ctx, cmds)
	}
}

// swap has Redis run plan.lua with the clock of the test.
func (w *world) swap(cmd redis.Cmder) (back func()) {
	args := cmd.Args()
	if args[0] != "evalsha" {
		return func() {}
	}
	shipped := args[1]
	args[1] = w.hash
	return func() { args[1] = shipped }
}

func (w *world) loses(cmd redis.Cmder) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.lose != nil && w.lose(cmd) {
		cmd.SetErr(lost{})
		return true
	}
	return false
}

// fires reports whether a command is to send an occurrence.
func fires(cmd redis.Cmder) bool {
	for _, arg := range cmd.Args() {
		if arg == "FIRE" {
			return true
		}
	}
	return false
}

func (w *world) keys(slot int) protocol.PlanKeys {
	return protocol.KeysOf(w.topic.Name, slot).Plans(w.topic.Notes)
}

// set sets a rule in a slot, at the present time of the world.
func (w *world) set(slot int, r message.Recurring) {
	w.t.Helper()
	rule, err := plan.New(w.topic, r, 1000)
	must.Do(w.t, err)
	first, err := rule.First(w.now)
	must.Do(w.t, err)
	must.Do(w.t, w.SAdd(ctx, protocol.PlansKey(w.topic.Name), slot).Err())
	k, before := w.keys(slot), protocol.PlanStand{Stored: w.plain.HGet(ctx, w.keys(slot).Rule, r.Name).Val()}
	if before.Stored != "" {
		before.At = fmt.Sprint(w.plain.ZScore(ctx, k.Plan, r.Name).Val())
	}
	_, err = protocol.New(w).SetPlan(ctx, k, r.Name, rule.Text(), strconv.FormatInt(w.now.UnixMilli(), 10), first.UnixMilli(), before)
	must.Do(w.t, err)
}

// stored is what is in the store of a slot.
func (w *world) stored(slot int) map[string]int64 {
	w.t.Helper()
	all := map[string]int64{}
	list, err := w.plain.ZRangeWithScores(ctx, protocol.StoreKey(w.topic.Name, slot), 0, -1).Result()
	must.Do(w.t, err)
	for _, z := range list {
		all[z.Member.(string)] = int64(z.Score)
	}
	return all
}

// next is when a plan occurs next, in ms since the start; -1: it has ended.
func (w *world) next(slot int, name string) int64 {
	at, err := w.plain.ZScore(ctx, w.keys(slot).Plan, name).Result()
	if err != nil {
		return -1
	}
	return int64(at) - start.UnixMilli()
}

// term is that of a worker.
type term struct{ id string }

func (x *term) ID(int) string { return x.id }

// worker is one that has some slots of the world's topic.
type worker struct {
	*Planner
	schedule  *schedule.Schedule
	scheduled *schedule.Topic
	topic     *Topic
	mu        sync.Mutex
	events    []string
}

var present = &term{"w"}

// newWorker makes one, which does nothing by itself.
func newWorker(w *world, log *zap.Logger, look time.Duration, slots ...int) *worker {
	x := &worker{}
	x.scheduled = &schedule.Topic{Name: w.topic.Name, Slots: w.topic.Slots, Most: 1, NewSlot: func(int) *schedule.Slot { return &schedule.Slot{} }}
	x.schedule = schedule.New(1, []*schedule.Topic{x.scheduled}, time.Now, func(*schedule.Slot, time.Time) {})
	x.schedule.Terms.Begin(present)
	x.has(slots...)
	s := lifetime.New()
	x.topic = &Topic{Topic: w.topic, Qualified: w.topic.Name, Scheduled: x.scheduled, Look: look}
	x.Planner = New(Config{
		Needs: periodic.Needs{
			Life: s, Redis: w.Client, Scripts: protocol.New(w.Client), Schedule: x.schedule, Log: log,
			Away: &away.Watch{Log: away.In(log), Redis: w.Client, Ctx: s.Background, Go: func(look func()) bool {
				s.Go(look)
				return true
			}},
		},
		Observers: observers.New([]message.Observer{message.ObserverFunc(x.observe)}, log),
	}, []*Topic{x.topic})
	w.t.Cleanup(func() {
		s.EndBackground()
		x.schedule.Close()
		s.Wait()
		s.End(nil)
	})
	return x
}

// has gives the worker these slots and no others.
func (x *worker) has(slots ...int) {
	x.scheduled.Assign(present, slots)
}

func (x *worker) observe(e *message.Event) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, item := range e.Items {
		x.events = append(x.events, fmt.Sprintf("%s %s %d, %d merged, worker %q", item.What, item.Content, item.Score, e.Merged, e.Worker))
	}
}

// looks has the worker look at some slots now, in this goroutine.
func (x *worker) looks(slots ...int) {
	places := make([]place, len(slots))
	for i, slot := range slots {
		places[i] = place{x.topic, slot}
	}
	x.look(places)
}

// planned is when the worker means to look at a slot again; not at all: false.
func (x *worker) planned(slot int) (time.Time, bool) {
	x.Planner.mu.Lock()
	defer x.Planner.mu.Unlock()
	at, set := x.topic.next[slot]
	return at, set
}
