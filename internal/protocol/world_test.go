package protocol_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
)

var ctx = context.Background()

// The clock of every test starts here, and is moved by the test alone.
const startOfTime = 1_700_000_000_000

// judge is the part of testing.TB a check needs. The damage test brings its own.
type judge interface {
	Helper()
	Fatalf(format string, args ...any)
}

// thrower is a judge whose verdict can be caught: a panic with a broken rule.
type thrower struct{}

func (thrower) Helper() {}

func (thrower) Fatalf(format string, args ...any) {
	panic(broken{"a check", fmt.Sprintf(format, args...)})
}

// caught runs f and returns the broken rule it threw, or nil.
func caught(f func()) (b *broken) {
	defer func() {
		switch thrown := recover().(type) {
		case nil:
		case broken:
			b = &thrown
		default:
			panic(thrown)
		}
	}()
	f()
	return nil
}

// world is one slot of one topic on some server, under a clock of the test's own.
type world struct {
	judge
	t       testing.TB // for what is awaited
	rdb     *redis.Client
	k       protocol.SlotKeys
	first   string // key of since when contents wait
	plans   protocol.PlanKeys
	noteKey string // of their notes
	seen    string // key of until when contents are unique
	number  int    // of the slot
	s       *scripts
	sources map[string]string // as edited
	most    int               // bytes of a batch, if not 1 MiB

	clock    string
	now      int64 // ms
	clockSet int64 // what the clock key holds

	// what the short calls of the directed tests send
	topic kind
	lease time.Duration
	crash time.Duration
}

// kind of a topic.
type kind int

const (
	rangeMerge kind = iota
	priorityKind
	fixedTime
)

var kinds = []kind{rangeMerge, priorityKind, fixedTime}

func (k kind) String() string { return [...]string{"range-merge", "priority", "fixed-time"}[k] }

// edit changes the source of a script: the damage test's way in.
type edit func(name, source string) string

func newWorld(t testing.TB, rdb *redis.Client, number int, change edit) *world {
	w := &world{judge: t, t: t, rdb: rdb, number: number, k: protocol.KeysOf("world", number), first: protocol.FirstKey("world", number), noteKey: protocol.NoteKey("world", number), seen: protocol.SeenKey("world", number), plans: protocol.KeysOf("world", number).Plans(false), sources: map[string]string{}}
	w.clock = "clock{" + w.k.Store + "}"
	w.s = edited(rdb, func(name, source string) string {
		if change != nil {
			source = change(name, source)
		}
		w.sources[name] = withClock(source, w.clock)
		return w.sources[name]
	})
	for name, source := range w.sources {
		if err := rdb.ScriptLoad(ctx, source).Err(); err != nil {
			t.Fatalf("load %s: %v", name, err)
		}
	}
	w.at(startOfTime)
	return w
}

// telling is the world's scripts with another limit for the bytes of a batch.
func (w *world) telling(most int) *scripts {
	return edited(w.rdb, func(name, _ string) string {
		source := w.sources[name]
		if name == "turn" {
			source = strings.Replace(source, ", 1048576, redis.call", fmt.Sprintf(", %d, redis.call", most), 1)
			if err := w.rdb.ScriptLoad(ctx, source).Err(); err != nil {
				w.Fatalf("load: %v", err)
			}
		}
		return source
	})
}

// at sets the clock.
func (w *world) at(ms int64) {
	w.now, w.clockSet = ms, ms
	w.do("set", w.clock, ms)
}

// later moves the clock.
func (w *world) later(ms int64) { w.at(w.now + ms) }

// do sends one command that must succeed.
func (w *world) do(args ...any) any {
	w.Helper()
	reply, err := w.rdb.Do(ctx, args...).Result()
	if err != nil && err != redis.Nil {
		w.Fatalf("%v: %v", args, err)
	}
	return reply
}

// clean forgets everything but the scripts, and starts the time anew, with
// workers without leases at a topic of kind k.
func (w *world) clean(k kind) {
	w.Helper()
	w.do("flushall")
	w.at(startOfTime)
	w.topic, w.lease, w.crash = k, 0, time.Second
}

// reading is the commands that read a whole slot.
type reading struct {
	sets  [7]*redis.ZSliceCmd
	meta  *redis.MapStringStringCmd
	why   *redis.MapStringStringCmd
	rules *redis.MapStringStringCmd
	note  *redis.MapStringStringCmd
}

func (w *world) reading(cmds []redis.Cmder) (*reading, []redis.Cmder) {
	r := &reading{}
	for i, key := range []string{w.k.Store, w.k.Prepare, w.k.Retry, w.k.Dead, w.first, w.seen, w.plans.Plan} {
		r.sets[i] = redis.NewZSliceCmd(ctx, "zrange", key, 0, -1, "withscores")
		cmds = append(cmds, r.sets[i])
	}
	r.meta = redis.NewMapStringStringCmd(ctx, "hgetall", w.k.Meta)
	r.why = redis.NewMapStringStringCmd(ctx, "hgetall", w.k.Why)
	r.rules = redis.NewMapStringStringCmd(ctx, "hgetall", w.plans.Rule)
	r.note = redis.NewMapStringStringCmd(ctx, "hgetall", w.noteKey)
	return r, append(cmds, r.meta, r.why, r.rules, r.note)
}

func (r *reading) slot() (*slot, error) {
	s := &slot{}
	for i, set := range []*map[string]int64{&s.store, &s.prepare, &s.retry, &s.dead, &s.firsts, &s.seen, &s.plans} {
		members, err := r.sets[i].Result()
		if err != nil {
			return nil, err
		}
		*set = make(map[string]int64, len(members))
		for _, z := range members {
			(*set)[z.Member.(string)] = int64(z.Score)
		}
	}
	m, err := r.meta.Result()
	if err != nil {
		return nil, err
	}
	if s.why, err = r.why.Result(); err != nil {
		return nil, err
	}
	if s.rules, err = r.rules.Result(); err != nil {
		return nil, err
	}
	if s.notes, err = r.note.Result(); err != nil {
		return nil, err
	}
	s.holder = m["holder"]
	for field, to := range map[string]*int64{"batch": &s.number, "until": &s.until, "lease": &s.lease} {
		if text, ok := m[field]; ok {
			if *to, err = strconv.ParseInt(text, 10, 64); err != nil {
				return nil, fmt.Errorf("meta field %s: %w", field, err)
			}
		}
	}
	_, s.paused = m["paused"]
	s.since, _ = strconv.ParseInt(m["paused"], 10, 64)
	_, s.explains = m["why"]
	s.passed, _ = strconv.Atoi(m["passed"])
	s.later, _ = strconv.ParseInt(m["later"], 10, 64)
	return s, nil
}

// step sends the clock if it moved, one command, and reads the slot
// afterwards, all in one round trip.
func (w *world) step(cmd redis.Cmder) *slot {
	w.Helper()
	cmds := make([]redis.Cmder, 0, 12)
	if w.clockSet != w.now {
		cmds = append(cmds, redis.NewStatusCmd(ctx, "set", w.clock, w.now))
		w.clockSet = w.now
	}
	if cmd != nil {
		cmds = append(cmds, cmd)
	}
	r, cmds := w.reading(cmds)
	w.s.Exec(ctx, cmds...)
	s, err := r.slot()
	if err != nil {
		w.Fatalf("read the slot: %v", err)
	}
	return s
}

// raw calls turn.lua past its Go method, which would not send such arguments.
func (w *world) raw(args ...any) error {
	k := w.k
	return w.rdb.Eval(ctx, w.sources["turn"], []string{k.Store, k.Prepare, k.Retry, k.Dead, k.Meta, k.Why}, args...).Err()
}

// slot reads the slot.
func (w *world) slot() *slot { w.Helper(); return w.step(nil) }

// restore writes a slot back as it was read.
func (w *world) restore(s *slot) {
	w.Helper()
	k := w.k
	pipe := w.rdb.Pipeline()
	pipe.Del(ctx, k.Store, k.Prepare, k.Retry, k.Dead, k.Meta, k.Why)
	for key, set := range map[string]map[string]int64{k.Store: s.store, k.Prepare: s.prepare, k.Retry: s.retry, k.Dead: s.dead} {
		for x, score := range set {
			pipe.ZAdd(ctx, key, redis.Z{Member: x, Score: float64(score)})
		}
	}
	for x, record := range s.why {
		pipe.HSet(ctx, k.Why, x, record)
	}
	pipe.HSet(ctx, k.Meta, "holder", s.holder, "batch", s.number, "until", s.until, "lease", s.lease)
	if s.paused {
		pipe.HSet(ctx, k.Meta, "paused", s.since)
	}
	if s.passed > 0 {
		pipe.HSet(ctx, w.k.Meta, "passed", s.passed)
	}
	if s.later > 0 {
		pipe.HSet(ctx, k.Meta, "later", s.later)
	}
	if s.explains {
		pipe.HSet(ctx, k.Meta, "why", 1)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		w.Fatalf("restore: %v", err)
	}
}

// trial is one directed check of the scripts. The damage test runs it on
// damaged ones.
type trial struct {
	name string
	run  func(w *world)
	live bool // needs a real Redis
}

// onEachServer runs trials on a real Redis and on the in-memory one, in parallel with other tests.
func onEachServer(t *testing.T, trials []trial) {
	t.Helper()
	t.Parallel()
	run := func(t *testing.T, rdb *redis.Client, trial trial) {
		t.Run(trial.name, func(t *testing.T) {
			if b := caught(func() { trial.run(newWorld(t, rdb, 3, nil)) }); b != nil {
				t.Fatalf("%s: %s", b.rule, b.detail)
			}
		})
	}
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		rdb := near(t)
		for _, trial := range trials {
			run(t, rdb, trial)
		}
	})
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		_, rdb := servertest.Memory(t)
		for _, trial := range trials {
			if !trial.live {
				run(t, rdb, trial)
			}
		}
	})
}

// put sends one message of the world's kind: due now, or of priority 50.
func (w *world) put(contents ...string) {
	w.Helper()
	for i, x := range contents {
		if w.topic == priorityKind {
			w.do("zadd", w.k.Store, 50, x)
		} else {
			w.do("zadd", w.k.Store, w.now-int64(len(contents))+int64(i), x)
		}
	}
}

// as is a turn of one worker that asks for up to 8 contents.
func (w *world) as(worker string, number int64, verdicts ...protocol.Verdict) *protocol.Turn {
	return &protocol.Turn{
		Keys: w.k, Priority: w.topic == priorityKind, Merge: w.topic == rangeMerge, Worker: worker, Fence: number, Lease: w.lease,
		Count: 8, Random: 1, TakeoverDelay: w.crash, Verdicts: verdicts,
	}
}

// turn takes a turn that must be answered with code.
func (w *world) turn(t *protocol.Turn, code protocol.Code) protocol.Answer {
	w.Helper()
	a, err := w.s.Turn(ctx, t)
	if err != nil {
		w.Fatalf("%v", err)
	}
	if a.Code != code {
		w.Fatalf("%s (number %d, gone %q) was answered %+v, not %s", t.Worker, t.Fence, t.DeadHolder, a, code)
	}
	return a
}

// took takes a turn that must be answered with a batch of these contents in
// any order.
func (w *world) took(t *protocol.Turn, contents ...string) protocol.Answer {
	w.Helper()
	a := w.turn(t, protocol.Batch)
	got := slices.Sorted(slices.Values(a.Contents))
	if !slices.Equal(got, slices.Sorted(slices.Values(contents))) {
		w.Fatalf("took %q, not %q", a.Contents, contents)
	}
	return a
}

// tells takes a turn that must be answered with code, and returns the number.
func (w *world) tells(code protocol.Code, t *protocol.Turn) int64 {
	w.Helper()
	return w.turn(t, code).Fence
}

// leaving is a turn that leaves the slot.
func leaving(t *protocol.Turn) *protocol.Turn {
	return with(t, func(t *protocol.Turn) { t.Count = 0 })
}

// asking is a turn that asks for count contents.
func asking(count int, t *protocol.Turn) *protocol.Turn {
	return with(t, func(t *protocol.Turn) { t.Count = count })
}

// knowing is a turn that brings the proof that a worker is dead.
func knowing(gone string, t *protocol.Turn) *protocol.Turn {
	return with(t, func(t *protocol.Turn) { t.DeadHolder = gone })
}

// must ends the check unless ok.
func (w *world) must(ok bool, format string, args ...any) {
	w.Helper()
	if !ok {
		w.Fatalf(format, args...)
	}
}

func fail(x string, delay time.Duration) protocol.Verdict {
	return protocol.Verdict{Content: x, Delay: delay, Reason: "it failed"}
}

func giveBack(x string, priority int64) protocol.Verdict {
	return protocol.Verdict{Content: x, Fate: protocol.NotStarted, Priority: priority, Reason: "not started"}
}

// later puts back.
func later(x string, d time.Duration, priority int64) protocol.Verdict {
	return protocol.Verdict{Content: x, Fate: protocol.PutBack, Delay: d, Priority: priority, Reason: "the shop is closed"}
}

func bury(x string) protocol.Verdict {
	return protocol.Verdict{Content: x, Fate: protocol.Dead, Reason: "it cannot be read"}
}

// with changes a copy of a turn.
func with(t *protocol.Turn, change func(*protocol.Turn)) *protocol.Turn {
	c := *t
	change(&c)
	return &c
}

// contains tells if a list of words has a word.
func contains(words, word string) bool {
	return slices.Contains(strings.Fields(words), word)
}
