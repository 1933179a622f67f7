package consumer

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/cluster"
	"github.com/slotmq/go-rmq/internal/limits"
	"github.com/slotmq/go-rmq/internal/schedule"
	"github.com/slotmq/go-rmq/internal/wait"
)

// The safety look. A wake-up may get lost, and a program that fills a topic by
// plain ZADD sends none. So now and then Redis is asked how many contents of each idle
// slot are due before the slot wakes by itself, and whether something of it is in
// flight. Where there is something, the slot is woken. The answers are numbers,
// however large the contents are.
//
// Slots that are new to this worker are looked at in the same way before they are
// asked for a turn, which costs ten times as much: most of them are empty.
//
// Of a slot that sleeps until it is woken, anything at all is a reason to wake it. So
// first it is only asked whether any of its keys exists, of many slots by one command
// where one server has all keys. Nearly always the answer is no for all of them.

const (
	// lookSlots is how many slots are asked for in one round trip for what is due.
	lookSlots = 128

	// lookTaken is how many slots are looked at together, and asked for in one round trip
	// for whether they are empty; lookTogether is how many of them one command names, with
	// three keys each.
	lookTaken, lookTogether = 512, 32
)

// early is the end of a slot's sleep that is not asked about: the message it sleeps to
// is due about then.
const early = 10 * time.Millisecond

// lookup is a slot to be looked at on a server. When a slot moves, it may be looked at on
// both at the same time, since the old one may hang.
type lookup struct {
	*slot
	addr string
}

// lookout looks at idle slots.
type lookout struct {
	shift     *shift
	rdb       redis.UniversalClient
	schedule  *schedule.Schedule
	takeovers *takeovers
	log       *zap.Logger
	plan      *timetable       // when each topic's slots are looked at
	lookups   *errands[lookup] // slots to be looked at
}

func newLookout(s *shift, rdb redis.UniversalClient, sched *schedule.Schedule, t *takeovers, plan *timetable, log *zap.Logger) *lookout {
	c := &lookout{shift: s, rdb: rdb, schedule: sched, takeovers: t, plan: plan, log: log}
	c.lookups = newErrands(lookTaken, &s.running, c.look)
	return c
}

// planLooks returns when each topic's slots are looked at. A timetable may be a gap late,
// so its period is a gap shorter: slots are looked at at least every SafetyLook.
func planLooks(topics []*topic) *timetable {
	shortest := topics[0].opts.SafetyLook
	for _, t := range topics {
		shortest = min(shortest, t.opts.SafetyLook)
	}
	gap := gapOf(shortest)
	return newTimetable(topics, gap, func(t *topic) time.Duration { return t.opts.SafetyLook - gap })
}

// run looks at each topic's idle slots every SafetyLook, and when one is in a hurry.
func (c *lookout) run() {
	for topics := c.plan.next(c.shift.background); topics != nil; topics = c.plan.next(c.shift.background) {
		scheduled := make([]*schedule.Topic, len(topics))
		for i, t := range topics {
			scheduled[i] = t.scheduled
		}
		c.seek(c.schedule.Assigned(scheduled...))
	}
}

// seek has slots looked at on the servers they are on.
func (c *lookout) seek(slots []*schedule.Slot) {
	groups := map[string][]lookup{}
	for _, x := range slots {
		_, addr, err := cluster.MasterFor(c.shift.background, c.rdb, asSlot(x).turn.Keys.Store)
		if err != nil { // it is not known which server has it
			c.lookFailed(c.schedule.Sleeping([]*schedule.Slot{x}))
			continue
		}
		groups[addr] = append(groups[addr], lookup{asSlot(x), addr})
	}
	for addr, lookups := range groups {
		c.lookups.add(addr, lookups...)
	}
}

// look wakes those of some slots of one server that have something to do.
func (c *lookout) look(addr string, lookups []lookup) {
	if c.shift.background.Err() != nil {
		return
	}
	var node redis.UniversalClient
	var here, elsewhere []*schedule.Slot
	for _, x := range lookups { // they may have moved since they were sought
		if n, at, err := cluster.MasterFor(c.shift.background, c.rdb, x.turn.Keys.Store); err == nil && at == addr {
			node, here = n, append(here, &x.Slot)
		} else {
			elsewhere = append(elsewhere, &x.Slot)
		}
	}
	c.seek(elsewhere)
	slots := c.schedule.Sleeping(here)
	if len(slots) == 0 {
		return
	}
	full, clock, err := c.lookEmpty(node, slots)
	for said := false; cluster.NotReady(err); full, clock, err = c.lookEmpty(node, slots) {
		if !said {
			c.log.Warn("safety look waits until the server is ready", zap.String("server", addr), zap.Error(err))
			said = true
		}
		if !wait.Sleep(c.shift.listening, readyAgain) {
			return
		}
	}
	silent := err != nil
	for some := range slices.Chunk(full, lookSlots) {
		if silent {
			c.lookFailed(some)
			continue
		}
		wrong := c.lookFull(node, some, clock)
		err = cmp.Or(err, wrong)
		silent = cluster.Unanswered(wrong) // and would be so again
	}
	if err != nil && c.shift.background.Err() == nil {
		cluster.NoteError(c.shift.background, c.rdb, err)
		c.log.Warn("safety look failed", zap.Error(err))
	}
}

// lookEmpty returns the slots that are not empty, or were not before: of those there is
// more to ask. It also returns the server's clock, which may have been set: messages are
// due by it, and slots sleep by that of this process.
func (c *lookout) lookEmpty(node redis.UniversalClient, slots []schedule.Sleeper) (full []schedule.Sleeper, clock func(time.Time) time.Time, err error) {
	var empty []schedule.Sleeper
	for _, x := range slots {
		if x.Until.IsZero() {
			empty = append(empty, x)
		} else {
			full = append(full, x)
		}
	}
	together := lookTogether
	if cluster.IsCluster(c.rdb) { // which allows no keys of several slots in a command
		together = 1
	}
	pipe := node.Pipeline()
	var exist []*redis.IntCmd
	for some := range slices.Chunk(empty, together) {
		keys := make([]string, 0, 3*len(some))
		for _, x := range some {
			k := asSlot(x.Slot).turn.Keys
			keys = append(keys, k.Store, k.Retry, k.Prepare)
		}
		exist = append(exist, pipe.Exists(c.shift.background, keys...))
	}
	var now *redis.TimeCmd
	if len(full) > 0 {
		now = pipe.Time(c.shift.background)
	}
	_, err = pipe.Exec(c.shift.background)
	answered := time.Now()
	for i := range exist {
		if exist[i].Err() != nil || exist[i].Val() > 0 {
			full = append(full, empty[i*together:min((i+1)*together, len(empty))]...)
		}
	}
	if reply := (redis.Error)(nil); errors.As(err, &reply) && !cluster.NotReady(err) {
		err = nil // each slot will have its own
	}
	if now == nil {
		return full, func(at time.Time) time.Time { return at }, err
	}
	if err == nil {
		err = now.Err()
	}
	return full, func(at time.Time) time.Time { return now.Val().Add(at.Sub(answered)) }, err
}

// readyAgain is how long it takes until a server that is not ready is asked again.
const readyAgain = 500 * time.Millisecond

// lookFull looks for what is due or in flight in some slots. by returns what the
// server's clock shows at a time of this process.
func (c *lookout) lookFull(node redis.UniversalClient, slots []schedule.Sleeper, by func(time.Time) time.Time) error {
	const never = limits.MaxScore // nothing is due so late
	pipe := node.Pipeline()
	asked := make([][3]*redis.IntCmd, len(slots))
	now := by(time.Now()).UnixMilli()
	for i, x := range slots {
		due, retry := int64(never), int64(never)
		if !x.Until.IsZero() {
			due = max(now, by(x.Until.Add(-early)).UnixMilli())
			retry = due*100 + 99
		}
		k, ctx := asSlot(x.Slot).turn.Keys, c.shift.background
		if !asSlot(x.Slot).topic.Kind.Timed() {
			asked[i][0] = pipe.ZCard(ctx, k.Store)
		} else {
			asked[i][0] = pipe.ZCount(ctx, k.Store, "-inf", strconv.FormatInt(due, 10))
		}
		asked[i][1] = pipe.ZCount(ctx, k.Retry, "-inf", strconv.FormatInt(retry, 10))
		asked[i][2] = pipe.ZCard(ctx, k.Prepare)
	}
	_, _ = pipe.Exec(c.shift.background) // each has an error of its own
	var wrong error
	inFlight := map[*topic][]*schedule.Slot{}
	for i, x := range slots {
		t := asSlot(x.Slot).topic
		if asked[i][2].Val() > 0 { // it may be another's, and to be taken over
			inFlight[t] = append(inFlight[t], x.Slot)
			continue
		}
		failed := error(nil)
		for _, cmd := range asked[i] {
			// A slot that is on its way to another server: its turn will find it.
			if cmd.Val() > 0 || cluster.Moved(cmd.Err()) {
				c.schedule.Wake(t.scheduled, x.Index, 0)
				failed = nil
				break
			}
			failed = cmp.Or(failed, cmd.Err())
		}
		if failed != nil {
			c.lookFailed(slots[i : i+1])
			wrong = cmp.Or(wrong, fmt.Errorf("topic %s, slot %d: %w", t.Name, x.Index, failed))
		}
	}
	for t, some := range inFlight {
		c.shift.running.Go(func() { // in the background, for Backoff is the user's and may take its time
			c.takeovers.prepare(t)
			for _, x := range some {
				c.schedule.Wake(t.scheduled, x.Index, 0)
			}
		})
	}
	return wrong
}

// lookFailed has those of some slots that were gained take a turn, which is repeated
// until it is answered.
func (c *lookout) lookFailed(slots []schedule.Sleeper) {
	for _, x := range slots {
		if x.Unseen {
			c.schedule.Wake(asSlot(x.Slot).topic.scheduled, x.Index, 0)
		}
	}
}
