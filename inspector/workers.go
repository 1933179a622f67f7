package inspector

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/nodes"
	"github.com/slotmq/go-rmq/luascripts"
	"github.com/slotmq/go-rmq/slots"
)

// Worker is one that takes part in sharing the slots out.
type Worker struct {
	ID       string
	Host     string // with ZooKeeper only, like PID and Version
	PID      int
	Version  string
	Leaving  bool
	Until    time.Time        // until when it counts unless it shows itself again; zero with ZooKeeper
	Assigned map[string][]int // topic → slots it shall have
	Held     map[string][]int // topic → slots it says it has; nil with Redis
}

// Workers are those of all topics of the namespace, by id. Those of topics in Unseen are
// not among them.
func (i *Inspector) Workers(ctx context.Context) ([]Worker, error) {
	if err := given(ctx, "list workers"); err != nil {
		return nil, err
	}
	topics, err := i.Topics(ctx)
	if err != nil {
		return nil, err
	}
	known := map[string]*Worker{}
	if err := i.workersByRedis(ctx, topics, known); err != nil {
		return nil, err
	}
	if err := i.workersByZooKeeper(ctx, topics, known); err != nil {
		return nil, err
	}
	all := make([]Worker, 0, len(known))
	for _, w := range known {
		all = append(all, *w)
	}
	slices.SortFunc(all, func(a, b Worker) int { return cmp.Compare(a.ID, b.ID) })
	return all, nil
}

func (i *Inspector) workersByRedis(ctx context.Context, topics []Topic, known map[string]*Worker) error {
	topics = slices.DeleteFunc(slices.Clone(topics), func(t Topic) bool { return t.Sharing != "redis" || t.Slots == 0 })
	listed, err := i.members(ctx, topics)
	if err != nil {
		return err
	}
	for _, t := range topics {
		until := listed[t.Name]
		shares := slots.Share(slices.Collect(maps.Keys(until)), t.Slots)
		for id, end := range until {
			w := known[id]
			if w == nil {
				w = &Worker{ID: id, Assigned: map[string][]int{}}
				known[id] = w
			}
			w.Assigned[t.Name] = append([]int{}, shares[id]...)
			if end.After(w.Until) {
				w.Until = end
			}
		}
	}
	return nil
}

func (i *Inspector) workersByZooKeeper(ctx context.Context, topics []Topic, known map[string]*Worker) error {
	if i.cfg.Slots == nil {
		return nil
	}
	view, err := i.view(ctx)
	if err != nil {
		return err
	}
	for _, v := range view.Workers {
		w := &Worker{
			ID: v.ID, Host: v.Host, PID: v.PID, Version: v.Version, Leaving: v.Leaving,
			Assigned: map[string][]int{}, Held: maps.Clone(v.Held), // which others see, too
		}
		for topic, slots := range w.Held {
			if slots == nil {
				w.Held[topic] = []int{}
			}
		}
		for topic := range v.Topics {
			w.Assigned[topic] = []int{}
		}
		known[v.ID] = w
	}
	byZooKeeper := map[string]bool{} // others may have left something there
	for _, t := range topics {
		byZooKeeper[t.Name] = t.Sharing == "zookeeper"
	}
	for _, t := range view.Topics {
		for slot, owner := range t.Owners {
			if w := known[owner]; w != nil && byZooKeeper[t.Name] {
				w.Assigned[t.Name] = append(w.Assigned[t.Name], slot)
			}
		}
	}
	return nil
}

// Unseen are the topics whose workers cannot be told: they are shared by ZooKeeper, and
// Config.Slots is nil.
func (i *Inspector) Unseen(ctx context.Context) ([]string, error) {
	if err := given(ctx, "list topics whose workers are not seen"); err != nil {
		return nil, err
	}
	if i.cfg.Slots != nil {
		return nil, nil
	}
	topics, err := i.Topics(ctx)
	if err != nil {
		return nil, err
	}
	var unseen []string
	for _, t := range topics {
		if t.Sharing == "zookeeper" {
			unseen = append(unseen, t.Name)
		}
	}
	return unseen, nil
}

// members are the workers in the lists of topics that are shared by Redis, and until when
// each counts, by the clock of the server that has the list.
func (i *Inspector) members(ctx context.Context, topics []Topic) (map[string]map[string]time.Time, error) {
	const page = 500
	listed := map[string]map[string]time.Time{}
	clocks := map[string]time.Time{} // by the server's address
	keep := func(t Topic, members []redis.Z) {
		for _, z := range members {
			id, _ := z.Member.(string)
			listed[t.Name][id] = time.UnixMilli(whole(z.Score))
		}
	}
	for some := range slices.Chunk(topics, perPipeline) {
		ask := func(t Topic, offset int) (*redis.ZSliceCmd, error) {
			key := luascripts.WorkersKey(i.qualified(t.Name))
			now, err := i.clock(ctx, key, clocks)
			return redis.NewZSliceCmd(ctx, "zrange", key, now.UnixMilli(), "+inf", "byscore", "limit", offset, page, "withscores"), err
		}
		cmds := make([]redis.Cmder, len(some))
		for n, t := range some {
			cmd, err := ask(t, 0)
			if err != nil {
				return nil, err
			}
			listed[t.Name] = map[string]time.Time{}
			cmds[n] = cmd
		}
		i.scripts.ExecOnce(ctx, cmds...)
		for n, t := range some {
			cmd := cmds[n].(*redis.ZSliceCmd)
			for offset := page; ; offset += page {
				if err := cmd.Err(); err != nil {
					return nil, fmt.Errorf("read the workers in %s: %w", luascripts.WorkersKey(i.qualified(t.Name)), i.explain(err))
				}
				keep(t, cmd.Val())
				if len(cmd.Val()) < page {
					break
				}
				cmd, _ = ask(t, offset)
				i.scripts.ExecOnce(ctx, cmd)
			}
		}
	}
	return listed, nil
}

// clock is the time of the server that holds a key. Each server is asked once for all that
// shares known.
func (i *Inspector) clock(ctx context.Context, key string, known map[string]time.Time) (time.Time, error) {
	server, addr, err := nodes.MasterFor(ctx, i.rdb, key)
	if err != nil {
		return time.Time{}, err
	}
	if now, ok := known[addr]; ok {
		return now, nil
	}
	now, err := server.Time(ctx).Result()
	if err != nil {
		return time.Time{}, fmt.Errorf("ask the server of %s for its time: %w", key, i.explain(err))
	}
	known[addr] = now
	return now, nil
}
