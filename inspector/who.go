package inspector

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/definition"
	"github.com/slotmq/go-rmq/internal/protocol/score"
	"github.com/slotmq/go-rmq/internal/protocol/script"
	"github.com/slotmq/go-rmq/internal/servers/cluster"
	"github.com/slotmq/go-rmq/internal/sharing/share"
)

// shares is how the slots of one topic are shared out.
type shares struct {
	workers int                  // -1: not known
	owners  []string             // of each slot; empty if none is known
	takers  []string             // names of the processes that take from the topic
	probing map[string]time.Time // workers that only try a message now and then, since all fail; only Explain asks for them
}

// owner is the worker that a slot is assigned to, or empty.
func (s shares) owner(slot int) string {
	if slot < len(s.owners) {
		return s.owners[slot]
	}
	return ""
}

// shares asks who works at a topic. If ZooKeeper does not answer, what Redis has must still be
// seen.
func (i *Inspector) shares(ctx context.Context, t Topic) (shares, error) {
	switch t.Sharing {
	case definition.SharingRedis:
		listed, err := i.members(ctx, []Topic{t})
		if err != nil { // also if only a part is missing: it is this topic
			return shares{workers: -1}, err
		}
		takers, err := i.takers(ctx, []Topic{t})
		if err != nil {
			return shares{workers: -1}, err
		}
		s := shares{workers: len(listed[t.Name]), owners: make([]string, t.Slots)}
		for id := range takers[t.Name] {
			name, _ := protocol.TakerName(id)
			s.takers = append(s.takers, name)
		}
		slices.Sort(s.takers)
		for id, own := range share.Of(slices.Collect(maps.Keys(listed[t.Name])), t.Slots) {
			for _, slot := range own {
				s.owners[slot] = id
			}
		}
		return s, nil
	case definition.SharingZooKeeper:
		if i.cfg.Slots == nil || t.Foreign {
			return shares{workers: -1}, nil
		}
		view, err := i.zookeeper.look(ctx, i.cfg.Slots, i.cfg.Namespace)
		if err != nil {
			return shares{workers: -1}, ctx.Err()
		}
		var s shares
		for _, w := range view.Workers {
			if _, works := w.Topics[t.Name]; works && !w.Leaving {
				s.workers++
			}
		}
		for _, seen := range view.Topics {
			if seen.Name == t.Name {
				s.owners = seen.Owners
			}
		}
		return s, nil
	}
	return shares{}, nil
}

// HolderName is who holds a batch, as people read it: of one who takes batches by package poll the name
// of the process, and that it is one.
func HolderName(id string) string {
	if name, taker := protocol.TakerName(id); taker {
		return name + " (taker)"
	}
	return id
}

// members are the workers in the lists of topics that are shared by Redis, and until when
// each counts, by the clock of the server that has the list. Topics that a [PartialError]
// names have none.
func (i *Inspector) members(ctx context.Context, topics []Topic) (map[string]map[string]time.Time, error) {
	return i.listed(ctx, topics, "workers", protocol.WorkersKey)
}

// takers are the processes that take from topics, like members.
func (i *Inspector) takers(ctx context.Context, topics []Topic) (map[string]map[string]time.Time, error) {
	return i.listed(ctx, topics, "takers", protocol.TakersKey)
}

// listed are those in the lists of topics that still count.
func (i *Inspector) listed(ctx context.Context, topics []Topic, who string, list func(topic string) string) (map[string]map[string]time.Time, error) {
	const page = 500
	listed := map[string]map[string]time.Time{}
	clocks := map[string]time.Time{} // by the server's address
	failed := failures{i: i}
	keep := func(t Topic, members []redis.Z) {
		for _, z := range members {
			id, _ := z.Member.(string)
			listed[t.Name][id] = time.UnixMilli(score.Whole(z.Score))
		}
	}
	for some := range slices.Chunk(topics, perPipeline) {
		ask := func(t Topic, offset int) (*redis.ZSliceCmd, error) {
			key := list(i.qualified(t.Name))
			now, err := i.clock(ctx, key, clocks)
			return redis.NewZSliceCmd(ctx, "zrange", key, now.UnixMilli(), "+inf", "byscore", "limit", offset, page, "withscores"), err
		}
		keys := make([]string, len(some))
		for n, t := range some {
			keys[n] = list(i.qualified(t.Name))
		}
		var sent []redis.Cmder
		cmds, errs := make([]*redis.ZSliceCmd, len(some)), i.masters.silent(ctx, i.rdb, keys)
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
					err = fmt.Errorf("read the %s in %s: %w", who, keys[n], i.explain(err))
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
