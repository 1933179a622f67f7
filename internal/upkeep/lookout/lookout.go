package lookout

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/limits"
	"github.com/slotmq/go-rmq/internal/servers/cluster"
	"github.com/slotmq/go-rmq/internal/servers/wait"
	"github.com/slotmq/go-rmq/internal/upkeep/periodic"
	"github.com/slotmq/go-rmq/internal/worker/schedule"
)

const (
	// fullAtOnce is how many slots are asked for in one round trip for what is due.
	fullAtOnce = 128

	// emptyAtOnce is how many slots are looked at together, and asked for in one round trip
	// for whether they are empty.
	emptyAtOnce = 512
)

// early is the end of a slot's sleep for which nothing is asked: what is due then is the
// message for which it will wake.
const early = 10 * time.Millisecond

// Slot is what the Value of each slot of the schedule must be.
type Slot interface {
	Keys() *protocol.SlotKeys
	Timed() bool // its store is in the order of times
}

func keysOf(x *schedule.Slot) *protocol.SlotKeys { return x.Value.(Slot).Keys() }

// lookup is a slot to be looked at on a server. When a slot moves, it may be looked at on
// both at the same time, since the old one may hang.
type lookup struct {
	*schedule.Slot
	addr string
}

// Lookout looks at idle slots.
type Lookout struct {
	Config
	plan    *periodic.Timetable[*schedule.Topic] // when each topic's slots are looked at
	lookups *periodic.Lines[lookup]              // slots to be looked at
}

// Config of a lookout.
type Config struct {
	periodic.Needs

	// BeforeTakeover is called before slots of a topic are woken that have a batch in
	// flight, perhaps of a worker that died. It may wait for a second.
	BeforeTakeover func(t *schedule.Topic)
}

// New returns a lookout over some topics' slots. Each is looked at at least every period.
func New(c Config, topics []*schedule.Topic, period func(*schedule.Topic) time.Duration) *Lookout {
	o := &Lookout{Config: c, plan: periodic.NewRegular(topics, period)}
	o.lookups = periodic.NewLines(emptyAtOnce, c.Life.Go, o.look)
	return o
}

// Hurry has a topic's slots looked at now.
func (o *Lookout) Hurry(t *schedule.Topic) { o.plan.Hurry(t) }

// Run looks at each topic's idle slots every period, and when one is in a hurry.
func (o *Lookout) Run() {
	for topics := o.plan.Next(o.Life.Background); topics != nil; topics = o.plan.Next(o.Life.Background) {
		slots := o.Schedule.Assigned(topics...)
		if len(slots) == 0 { // there is nothing to look at
			o.Life.Idle(time.Now())
		}
		o.seek(slots)
	}
}

// seek has slots looked at on the servers they are on.
func (o *Lookout) seek(slots []*schedule.Slot) {
	groups := map[string][]lookup{}
	for _, x := range slots {
		_, addr, err := cluster.MasterFor(o.Life.Background, o.Redis, keysOf(x).Store)
		if err != nil { // it is not known which server has it
			o.lookFailed(o.Schedule.Sleeping([]*schedule.Slot{x}))
			continue
		}
		groups[addr] = append(groups[addr], lookup{x, addr})
	}
	for addr, lookups := range groups {
		o.lookups.Add(addr, lookups...)
	}
}

// look wakes those of some slots of one server that have something to do.
func (o *Lookout) look(addr string, lookups []lookup) {
	if o.Life.Background.Err() != nil {
		return
	}
	var node redis.UniversalClient
	var here, elsewhere []*schedule.Slot
	for _, x := range lookups { // they may have moved since they were sought
		if n, at, err := cluster.MasterFor(o.Life.Background, o.Redis, keysOf(x.Slot).Store); err == nil && at == addr {
			node, here = n, append(here, x.Slot)
		} else {
			elsewhere = append(elsewhere, x.Slot)
		}
	}
	o.seek(elsewhere)
	slots := o.Schedule.Sleeping(here)
	if len(slots) == 0 { // all are at work, or look by themselves
		if len(here) > 0 && !o.Schedule.Failing(here) {
			o.Life.Idle(time.Now())
		}
		return
	}
	full, clock, err := o.lookEmpty(node, slots)
	for said := false; cluster.NotReady(err); full, clock, err = o.lookEmpty(node, slots) {
		if !said {
			o.Away.DoubtAt(addr, keysOf(here[0]).Store, err)
			o.Log.Debug("safety look waits until the server is ready", zap.String("server", addr), zap.Error(err))
			said = true
		}
		if !wait.Sleep(o.Life.Listening, readyAgain) {
			return
		}
	}
	silent := err != nil
	for some := range slices.Chunk(full, fullAtOnce) {
		if silent {
			o.lookFailed(some)
			continue
		}
		wrong := o.lookFull(node, some, clock)
		err = cmp.Or(err, wrong)
		silent = cluster.Unanswered(wrong) // and would be so again
	}
	if err == nil {
		o.Life.Heard(time.Now())
	} else if o.Life.Background.Err() == nil {
		cluster.NoteError(o.Life.Background, o.Redis, err)
		o.Log.Log(o.Away.Level(keysOf(here[0]).Store, err), "safety look failed", zap.Error(err))
	}
}

// lookEmpty asks whether slots that know of no message are still empty. It returns all
// others, of which there is more to ask. It also returns the server's clock, which may have been set: messages are
// due by it, and slots sleep by that of this process.
func (o *Lookout) lookEmpty(node redis.UniversalClient, slots []schedule.Sleeper) (full []schedule.Sleeper, clock func(time.Time) time.Time, err error) {
	var empty []schedule.Sleeper
	for _, x := range slots {
		if x.Until.IsZero() {
			empty = append(empty, x)
		} else {
			full = append(full, x)
		}
	}
	pipe := node.Pipeline()
	some := periodic.Exists(o.Life.Background, o.Redis, pipe, empty, periodic.InOneExists, func(x schedule.Sleeper) []string {
		k := keysOf(x.Slot)
		return []string{k.Store, k.Retry, k.Prepare}
	})
	var now *redis.TimeCmd
	if len(full) > 0 {
		now = pipe.Time(o.Life.Background)
	}
	_, err = pipe.Exec(o.Life.Background)
	answered := time.Now()
	full = append(full, some()...)
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
func (o *Lookout) lookFull(node redis.UniversalClient, slots []schedule.Sleeper, by func(time.Time) time.Time) error {
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
		k, ctx := keysOf(x.Slot), o.Life.Background
		if !x.Value.(Slot).Timed() {
			asked[i][0] = pipe.ZCard(ctx, k.Store)
		} else {
			asked[i][0] = pipe.ZCount(ctx, k.Store, "-inf", strconv.FormatInt(due, 10))
		}
		asked[i][1] = pipe.ZCount(ctx, k.Retry, "-inf", strconv.FormatInt(retry, 10))
		asked[i][2] = pipe.ZCard(ctx, k.Prepare)
	}
	_, _ = pipe.Exec(o.Life.Background) // each has an error of its own
	var wrong error
	inFlight := map[*schedule.Topic][]*schedule.Slot{}
	for i, x := range slots {
		t := x.Topic()
		if asked[i][2].Val() > 0 { // it may be another's, and to be taken over
			inFlight[t] = append(inFlight[t], x.Slot)
			continue
		}
		failed := error(nil)
		for _, cmd := range asked[i] {
			// A slot that is on its way to another server: its turn will find it.
			if cmd.Val() > 0 || cluster.Moved(cmd.Err()) {
				t.Wake(x.Index, 0)
				failed = nil
				break
			}
			failed = cmp.Or(failed, cmd.Err())
		}
		if failed != nil {
			o.lookFailed(slots[i : i+1])
			wrong = cmp.Or(wrong, fmt.Errorf("topic %s, slot %d: %w", t.Name, x.Index, failed))
		}
	}
	for t, some := range inFlight {
		o.Life.Go(func() { // in the background, since it may wait
			o.BeforeTakeover(t)
			for _, x := range some {
				t.Wake(x.Index, 0)
			}
		})
	}
	return wrong
}

// lookFailed has those of some slots that were gained take a turn, which is repeated
// until it is answered.
func (o *Lookout) lookFailed(slots []schedule.Sleeper) {
	for _, x := range slots {
		if x.Unseen {
			x.Topic().Wake(x.Index, 0)
		}
	}
}
