package consumer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/cluster"
	"github.com/slotmq/go-rmq/internal/wait"
)

// The safety look. A wake-up may get lost, and whoever fills a topic by plain
// ZADD sends none. So now and then Redis is asked how many contents of each idle
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

// early is how much less than a slot sleeps it is asked for: what is due about when it
// wakes, it sleeps to.
const early = 10 * time.Millisecond

// sight is a slot to be looked at on a server. When a slot moves, it may be looked at on
// both at the same time, since the old one may hang.
type sight struct {
	*slot
	addr string
}

// resting is a slot that sleeps until at, or until it is woken if that is zero.
type resting struct {
	*slot
	at     time.Time
	gained bool // and was never looked at since
}

// planLooks tells when each topic's slots are looked at.
func (c *Consumer) planLooks() *timetable {
	shortest := c.topics[0].opts.SafetyLook
	for _, t := range c.topics {
		shortest = min(shortest, t.opts.SafetyLook)
	}
	gap := gapOf(shortest)
	return newTimetable(c.topics, gap, func(t *topic) time.Duration { return t.opts.SafetyLook - gap })
}

// lookAfter looks at each topic's idle slots every SafetyLook, and when told to.
func (c *Consumer) lookAfter() {
	for topics := c.looks.next(c.background); topics != nil; topics = c.looks.next(c.background) {
		c.seek(c.schedule.ours(topics))
	}
}

// seek has slots looked at on the servers they are on.
func (c *Consumer) seek(slots []*slot) {
	groups := map[string][]sight{}
	for _, x := range slots {
		_, addr, err := cluster.MasterFor(c.background, c.rdb, x.turn.Keys.Store)
		if err != nil {
			c.schedule.unseen(x)
			continue
		}
		groups[addr] = append(groups[addr], sight{x, addr})
	}
	for addr, sights := range groups {
		c.sights.add(addr, sights...)
	}
}

// look wakes those of some slots of one server that have something to do.
func (c *Consumer) look(addr string, sights []sight) {
	if c.background.Err() != nil {
		return
	}
	var node redis.UniversalClient
	var here, elsewhere []*slot
	for _, x := range sights { // they may have moved since they were sought
		if n, at, err := cluster.MasterFor(c.background, c.rdb, x.turn.Keys.Store); err == nil && at == addr {
			node, here = n, append(here, x.slot)
		} else {
			elsewhere = append(elsewhere, x.slot)
		}
	}
	c.seek(elsewhere)
	slots := c.schedule.idle(here)
	if len(slots) == 0 {
		return
	}
	full, clock, err := c.lookEmpty(node, slots)
	for told := false; cluster.NotReady(err); full, clock, err = c.lookEmpty(node, slots) {
		if !told {
			c.log.Warn("safety look waits until the server is ready", zap.String("server", addr), zap.Error(err))
			told = true
		}
		if !wait.Sleep(c.listening, readyAgain) {
			return
		}
	}
	silent := err != nil
	for some := range slices.Chunk(full, lookSlots) {
		if silent {
			c.schedule.lookFailed(some)
			continue
		}
		wrong := c.lookFull(node, some, clock)
		err = cmp.Or(err, wrong)
		silent = cluster.Unanswered(wrong) // and would be so again
	}
	if err != nil && c.background.Err() == nil {
		cluster.NoteError(c.background, c.rdb, err)
		c.log.Warn("safety look failed", zap.Error(err))
	}
}

// lookEmpty returns the slots that are not empty, or were not before: of those there is
// more to ask. It also tells the server's clock, which may have been set: messages are
// due by it, and slots sleep by that of this process.
func (c *Consumer) lookEmpty(node redis.UniversalClient, slots []resting) (full []resting, clock func(time.Time) time.Time, err error) {
	var empty []resting
	for _, x := range slots {
		if x.at.IsZero() {
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
			keys = append(keys, x.turn.Keys.Store, x.turn.Keys.Retry, x.turn.Keys.Prepare)
		}
		exist = append(exist, pipe.Exists(c.background, keys...))
	}
	var now *redis.TimeCmd
	if len(full) > 0 {
		now = pipe.Time(c.background)
	}
	_, err = pipe.Exec(c.background)
	answered := time.Now()
	for i := range exist {
		if exist[i].Err() != nil || exist[i].Val() > 0 {
			full = append(full, empty[i*together:min((i+1)*together, len(empty))]...)
		}
	}
	if reply := (redis.Error)(nil); errors.As(err, &reply) && !cluster.NotReady(err) {
		err = nil // each slot will tell its own
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

// lookFull looks for what is due or in flight in some slots. by tells a time by the
// server's clock.
func (c *Consumer) lookFull(node redis.UniversalClient, slots []resting, by func(time.Time) time.Time) error {
	const never = 1<<53 - 1 // as a score: nothing is due so late
	pipe := node.Pipeline()
	asked := make([][3]*redis.IntCmd, len(slots))
	now := by(time.Now()).UnixMilli()
	for i, x := range slots {
		due, retry := int64(never), int64(never)
		if !x.at.IsZero() {
			due = max(now, by(x.at.Add(-early)).UnixMilli())
			retry = due*100 + 99
		}
		k, ctx := x.turn.Keys, c.background
		if !x.topic.Kind.Timed() {
			asked[i][0] = pipe.ZCard(ctx, k.Store)
		} else {
			asked[i][0] = pipe.ZCount(ctx, k.Store, "-inf", strconv.FormatInt(due, 10))
		}
		asked[i][1] = pipe.ZCount(ctx, k.Retry, "-inf", strconv.FormatInt(retry, 10))
		asked[i][2] = pipe.ZCard(ctx, k.Prepare)
	}
	_, _ = pipe.Exec(c.background) // each tells its own error
	var wrong error
	inFlight := map[*topic][]*slot{}
	for i, x := range slots {
		if asked[i][2].Val() > 0 { // it may be another's, and to be taken over
			inFlight[x.topic] = append(inFlight[x.topic], x.slot)
			continue
		}
		failed := error(nil)
		for _, cmd := range asked[i] {
			// A slot that is on its way to another server: its turn will find it.
			if cmd.Val() > 0 || cluster.Moved(cmd.Err()) {
				c.schedule.wake(x.topic, x.index, 0)
				failed = nil
				break
			}
			failed = cmp.Or(failed, cmd.Err())
		}
		if failed != nil {
			c.schedule.lookFailed(slots[i : i+1])
			wrong = cmp.Or(wrong, fmt.Errorf("topic %s, slot %d: %w", x.topic.Name, x.index, failed))
		}
	}
	for t, some := range inFlight {
		c.running.Go(func() { // aside, for Backoff is the user's and may take its time
			c.reckoned(t)
			for _, x := range some {
				c.schedule.wake(t, x.index, 0)
			}
		})
	}
	return wrong
}

// ours returns the slots of some topics that are this worker's.
func (s *schedule) ours(topics []*topic) (slots []*slot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range topics {
		for _, x := range t.slots {
			if x.owned {
				slots = append(slots, x)
			}
		}
	}
	return slots
}

// idle returns those of some slots that sleep and are this worker's, but for those that
// are paused or another's: they look by themselves. One whose turn is under way is to
// turn again: the turn may have been executed before a message came whose wake-up got
// lost, and its answer would send the slot to sleep after this look.
func (s *schedule) idle(slots []*slot) (sleep []resting) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range slots {
		switch {
		case !x.owned:
		case x.state == idle:
			if x.gained || !x.refused {
				sleep = append(sleep, resting{x, x.at, x.gained})
				x.gained = false
			}
		case x.state == turning:
			x.woken = true
		}
	}
	return sleep
}

// lookFailed has those of some slots that were gained take a turn, which is repeated
// until it is answered.
func (s *schedule) lookFailed(slots []resting) {
	for _, x := range slots {
		if x.gained {
			s.wake(x.topic, x.index, 0)
		}
	}
}

// unseen is lookFailed for a slot of which nobody knows the server.
func (s *schedule) unseen(x *slot) { s.lookFailed(s.idle([]*slot{x})) }

// Settle looks at every slot of this worker now and returns when nothing is
// due and no handler runs. It is meant for tests that move the clock of an
// in-memory Redis.
func (c *Consumer) Settle(ctx context.Context) error {
	if ctx == nil {
		return fmt.Errorf("settle: %w", errNilContext)
	}
	c.mu.Lock()
	running := c.phase == started
	c.mu.Unlock()
	if !running {
		return nil
	}
	s := c.schedule
	for _, t := range c.topics {
		for i := range t.Slots {
			s.wake(t, i, 0)
		}
	}
	select {
	case <-s.watch():
		return nil
	case <-ctx.Done():
		return fmt.Errorf("settle: %w", ctx.Err())
	}
}
