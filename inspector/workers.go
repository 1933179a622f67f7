package inspector

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/cluster"
	"github.com/slotmq/go-rmq/internal/script"
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
// not among them, nor those of topics that a [PartialError] is about.
func (i *Inspector) Workers(ctx context.Context) ([]Worker, error) {
	if err := given(ctx, "list workers"); err != nil {
		return nil, err
	}
	failed := failures{i: i}
	topics, err := i.Topics(ctx)
	if err := failed.merge(err); err != nil {
		return nil, err
	}
	known := map[string]*Worker{}
	if err := failed.merge(i.workersByRedis(ctx, topics, known)); err != nil {
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
	return all, failed.err()
}

func (i *Inspector) workersByRedis(ctx context.Context, topics []Topic, known map[string]*Worker) error {
	topics = slices.DeleteFunc(slices.Clone(topics), func(t Topic) bool { return t.Sharing != "redis" || t.Slots == 0 })
	failed := failures{i: i}
	listed, err := i.members(ctx, topics)
	if err := failed.merge(err); err != nil {
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
	return failed.err()
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
		byZooKeeper[t.Name] = t.Sharing == "zookeeper" && !t.Foreign
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
// Config.Slots is nil or they are Foreign. A [PartialError] names those of which it is not known.
func (i *Inspector) Unseen(ctx context.Context) ([]Topic, error) {
	if err := given(ctx, "list topics whose workers are not seen"); err != nil {
		return nil, err
	}
	failed := failures{i: i}
	topics, err := i.Topics(ctx)
	if err := failed.merge(err); err != nil {
		return nil, err
	}
	unseen := slices.DeleteFunc(topics, func(t Topic) bool {
		return t.Sharing != "zookeeper" || i.cfg.Slots != nil && !t.Foreign
	})
	return unseen, failed.err()
}

// members are the workers in the lists of topics that are shared by Redis, and until when
// each counts, by the clock of the server that has the list. Topics that a [PartialError] is
// about have none.
func (i *Inspector) members(ctx context.Context, topics []Topic) (map[string]map[string]time.Time, error) {
	const page = 500
	listed := map[string]map[string]time.Time{}
	clocks := map[string]time.Time{} // by the server's address
	failed := failures{i: i}
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
		keys := make([]string, len(some))
		for n, t := range some {
			keys[n] = luascripts.WorkersKey(i.qualified(t.Name))
		}
		var sent []redis.Cmder
		cmds, errs := make([]*redis.ZSliceCmd, len(some)), i.silent(ctx, keys)
		for n, t := range some {
			if errs[n] == nil {
				cmds[n], errs[n] = ask(t, 0)
			}
			if errs[n] == nil {
				listed[t.Name] = map[string]time.Time{}
				sent = append(sent, cmds[n])
			}
		}
		script.ExecOnce(ctx, i.rdb, sent...)
		for n, t := range some {
			cmd, err := cmds[n], errs[n]
			for offset := page; ; offset += page {
				if err == nil {
					err = cmd.Err()
				}
				if err != nil {
					delete(listed, t.Name)
					err = fmt.Errorf("read the workers in %s: %w", keys[n], i.explain(err))
					if err := failed.add(ctx, t.Name, -1, keys[n], err); err != nil {
						return nil, err
					}
					break
				}
				keep(t, cmd.Val())
				if len(cmd.Val()) < page {
					break
				}
				cmd, _ = ask(t, offset)
				script.ExecOnce(ctx, i.rdb, cmd)
			}
		}
	}
	return listed, failed.err()
}

// clock is the time of the server that holds a key. Each server is asked once for all that
// shares known.
func (i *Inspector) clock(ctx context.Context, key string, known map[string]time.Time) (time.Time, error) {
	server, addr, err := cluster.MasterFor(ctx, i.rdb, key)
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
