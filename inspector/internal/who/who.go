package who

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/inspector/internal/ask"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/byhand"
	"github.com/slotmq/go-rmq/internal/protocol/definition"
	"github.com/slotmq/go-rmq/internal/protocol/score"
	"github.com/slotmq/go-rmq/internal/protocol/script"
	"github.com/slotmq/go-rmq/internal/servers/cluster"
	"github.com/slotmq/go-rmq/internal/sharing/keeper"
	"github.com/slotmq/go-rmq/internal/sharing/share"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/slots"
)

// Shares is how the slots of one topic are shared out.
type Shares struct {
	Workers int                  // -1: not known
	Owners  []string             // of each slot; empty if none is known
	Takers  []string             // names of the processes that take from the topic
	Probing map[string]time.Time // workers that only try a message now and then, since all fail; only Explain asks for them
}

// Owner is the worker that a slot is assigned to, or empty.
func (s Shares) Owner(slot int) string {
	if slot < len(s.Owners) {
		return s.Owners[slot]
	}
	return ""
}

// Shares asks who works at a topic. If ZooKeeper does not answer, what Redis has must still be
// seen.
func (w *Who) Shares(ctx context.Context, t ask.Topic) (Shares, error) {
	switch t.Sharing {
	case definition.SharingRedis:
		listed, err := w.Members(ctx, []ask.Topic{t})
		if err != nil { // also if only a part is missing: it is this topic
			return Shares{Workers: -1}, err
		}
		takers, err := w.Takers(ctx, []ask.Topic{t})
		if err != nil {
			return Shares{Workers: -1}, err
		}
		s := Shares{Workers: len(listed[t.Name]), Owners: make([]string, t.Slots)}
		for id := range takers[t.Name] {
			name, _ := protocol.TakerName(id)
			s.Takers = append(s.Takers, name)
		}
		slices.Sort(s.Takers)
		for id, own := range share.Of(slices.Collect(maps.Keys(listed[t.Name])), t.Slots) {
			for _, slot := range own {
				s.Owners[slot] = id
			}
		}
		return s, nil
	case definition.SharingZooKeeper:
		return w.sharesByZooKeeper(ctx, t)
	}
	return Shares{}, nil
}

func (w *Who) sharesByZooKeeper(ctx context.Context, t ask.Topic) (Shares, error) {
	if w.Slots == nil || t.Foreign {
		return Shares{Workers: -1}, nil
	}
	view, err := w.ZooKeeper(ctx)
	if err != nil {
		return Shares{Workers: -1}, ctx.Err()
	}
	var s Shares
	for _, w := range view.Workers {
		if _, works := w.Topics[t.Name]; works && !w.Leaving {
			s.Workers++
		}
	}
	for _, seen := range view.Topics {
		if seen.Name == t.Name {
			s.Owners = seen.Owners
		}
	}
	return s, nil
}

// Members are the workers in the lists of topics that are shared by Redis, and until when
// each counts, by the clock of the server that has the list. Topics that a [PartialError]
// names have none.
func (w *Who) Members(ctx context.Context, topics []ask.Topic) (map[string]map[string]time.Time, error) {
	return w.listed(ctx, topics, "workers", protocol.WorkersKey)
}

// Takers are the processes that take from topics, like members.
func (w *Who) Takers(ctx context.Context, topics []ask.Topic) (map[string]map[string]time.Time, error) {
	return w.listed(ctx, topics, "takers", protocol.TakersKey)
}

// listed are those in the lists of topics that still count.
func (w *Who) listed(ctx context.Context, topics []ask.Topic, who string, list func(topic string) string) (map[string]map[string]time.Time, error) {
	const page = 500
	listed := map[string]map[string]time.Time{}
	clocks := map[string]time.Time{} // by the server's address
	failed := w.Failing()
	keep := func(t ask.Topic, members []redis.Z) {
		for _, z := range members {
			id, _ := z.Member.(string)
			listed[t.Name][id] = time.UnixMilli(score.Whole(z.Score))
		}
	}
	for some := range slices.Chunk(topics, ask.PerPipeline) {
		ask := func(t ask.Topic, offset int) (*redis.ZSliceCmd, error) {
			key := list(w.Qualified(t.Name))
			now, err := w.Clock(ctx, key, clocks)
			return redis.NewZSliceCmd(ctx, "zrange", key, now.UnixMilli(), "+inf", "byscore", "limit", offset, page, "withscores"), err
		}
		keys := make([]string, len(some))
		for n, t := range some {
			keys[n] = list(w.Qualified(t.Name))
		}
		var sent []redis.Cmder
		cmds, errs := make([]*redis.ZSliceCmd, len(some)), w.Masters.Silent(ctx, w.Redis, keys)
		for n, t := range some {
			if errs[n] == nil {
				cmds[n], errs[n] = ask(t, 0)
			}
			if errs[n] == nil {
				listed[t.Name] = map[string]time.Time{}
				sent = append(sent, cmds[n])
			}
		}
		script.ExecOnce(ctx, w.Redis, sent...)
		for n, t := range some {
			cmd, err := cmds[n], errs[n]
			for offset := page; ; offset += page {
				if err == nil {
					err = cmd.Err()
				}
				if err != nil {
					delete(listed, t.Name)
					err = fmt.Errorf("read the %s in %s: %w", who, keys[n], w.Explain(err))
					if err := failed.Add(ctx, t.Name, -1, keys[n], err); err != nil {
						return nil, err
					}
					break
				}
				keep(t, cmd.Val())
				if len(cmd.Val()) < page {
					break
				}
				cmd, _ = ask(t, offset)
				script.ExecOnce(ctx, w.Redis, cmd)
			}
		}
	}
	return listed, failed.Err()
}

// Clock is the time of the server that holds a key. Each server is asked once for all that
// shares known.
func (w *Who) Clock(ctx context.Context, key string, known map[string]time.Time) (time.Time, error) {
	server, addr, err := cluster.MasterFor(ctx, w.Redis, key)
	if err != nil {
		return time.Time{}, err
	}
	if now, ok := known[addr]; ok {
		return now, nil
	}
	now, err := server.Time(ctx).Result()
	if err != nil {
		return time.Time{}, fmt.Errorf("ask the server of %s for its time: %w", key, w.Explain(err))
	}
	known[addr] = now
	return now, nil
}

// Seen is what the slots of a topic hold, and who works at them.
type Seen struct {
	Slots  []int // that could be looked at
	Counts []byhand.Counts
	Shares
}

// Look looks at all slots of a topic. A [PartialError] comes with those that it could look at.
func (w *Who) Look(ctx context.Context, t ask.Topic) (s Seen, err error) {
	failed := w.Failing()
	s.Counts, s.Slots, err = w.Counts(ctx, t, ask.AllSlots(t))
	if err := failed.Merge(err); err != nil {
		return s, err
	}
	s.Shares, err = w.Shares(ctx, t)
	if err := failed.Merge(err); err != nil {
		return s, err
	}
	return s, failed.Err()
}

// FirstOf is when what comes first in a slot is due, which priority waits, and how long it has been due; zero: none, or it is not known.
func FirstOf(t ask.Topic, c *byhand.Counts) (next time.Time, priority int64, overdue time.Duration) {
	next = c.NextRetry
	switch first := time.UnixMilli(c.Next); {
	case c.Next <= message.MaxRetries: // none, or failed ones only
	case !t.Kind.Timed():
		priority = c.Next
	case next.IsZero() || first.Before(next):
		next = first
	}
	if !next.IsZero() {
		overdue = max(0, c.Now.Sub(next))
	}
	return next, priority, overdue
}

// Sum adds up what is counted in the slots.
func (s Seen) Sum(of func(*byhand.Counts) int) (n int) {
	for k := range s.Counts {
		n += of(&s.Counts[k])
	}
	return n
}

// Who asks who works at topics.
type Who struct {
	*ask.Ground
	view lastView
}

// Of is Who on a ground.
func Of(g *ask.Ground) *Who { return &Who{Ground: g} }

// ZooKeeper is who works at what there, as of a moment ago.
func (w *Who) ZooKeeper(ctx context.Context) (keeper.View, error) {
	return w.view.look(ctx, w.Slots, w.Namespace)
}

// lastView is what was last seen in ZooKeeper. Each look opens a session, so questions about one
// topic after the other share one look.
type lastView struct {
	mu   sync.Mutex
	at   time.Time
	view keeper.View
	err  error
}

// fresh is how long a look serves.
const fresh = time.Second

// look returns who works at what in ZooKeeper. Where no worker has ever been there is
// nothing to see, which is no error.
func (l *lastView) look(ctx context.Context, by slots.Sharing, namespace string) (keeper.View, error) {
	if by == nil {
		return keeper.View{}, errors.New("Config.Slots is not by slots.ZooKeeper")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Since(l.at) < fresh {
		return l.view, l.err
	}
	view, err := by.Keeper().View(ctx, namespace)
	if errors.Is(err, keeper.ErrNoTree) {
		err = nil
	}
	if err != nil {
		err = fmt.Errorf("ask ZooKeeper who works: %w", err)
	}
	if ctx.Err() == nil { // else another caller may have more luck
		l.at, l.view, l.err = time.Now(), view, err
	}
	return view, err
}
