package inspector

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/inspector/internal/ask"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/definition"
	"github.com/slotmq/go-rmq/internal/protocol/score"
	"github.com/slotmq/go-rmq/internal/protocol/script"
	"github.com/slotmq/go-rmq/internal/sharing/share"
)

// Worker is one that shares the slots of topics with others.
type Worker struct {
	ID       string
	Host     string // with ZooKeeper only, like PID and Version
	PID      int
	Version  string
	Leaving  bool
	Unlisted bool             // no list of workers has it: Running is all that is known of it, and Assigned has their topics, and no slots
	Taker    bool             // a process that takes batches by package poll; Assigned has the topics, and no slots
	Until    time.Time        // until when it counts unless it shows itself again; zero with ZooKeeper
	Assigned map[string][]int // topic → slots that are assigned to it
	Held     map[string][]int // topic → slots it says it has; nil with Redis

	// Probing is since when the worker only tries a message of a topic now and then, because all
	// of them fail there. nil: nowhere.
	Probing map[string]time.Time

	// Running are its handlers that have run for long, the longest first. Where one hangs, its slot goes on under another
	// id, such as w1+1, and so do its handlers.
	Running []Running
}

// Workers are those of all topics of the namespace, by id, and who takes from them. Workers of topics in Unseen are not
// among them, nor those of topics that a [PartialError] names, but for those whose handlers have run for long: they are
// Unlisted, like one that was closed while a handler hung, or killed a moment ago.
func (i *Inspector) Workers(ctx context.Context) ([]Worker, error) {
	if err := ask.Given(ctx, "list workers"); err != nil {
		return nil, err
	}
	failed := i.w.Failing()
	topics, err := i.Topics(ctx)
	if err := failed.Merge(err); err != nil {
		return nil, err
	}
	known := map[string]*Worker{}
	if err := failed.Merge(workersByRedis(ctx, i, topics, known)); err != nil {
		return nil, err
	}
	if err := workersByZooKeeper(ctx, i, topics, known); err != nil {
		return nil, err
	}
	probing, err := i.w.Probing(ctx, topics)
	if err := failed.Merge(err); err != nil {
		return nil, err
	}
	for topic, workers := range probing {
		for id, since := range workers {
			known[id].probes(topic, since)
		}
	}
	running, err := i.w.Running(ctx, topics)
	if err := failed.Merge(err); err != nil {
		return nil, err
	}
	attach(running, known)
	all := make([]Worker, 0, len(known))
	for _, w := range known {
		slices.SortFunc(w.Running, func(a, b Running) int {
			return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Slot, b.Slot))
		})
		all = append(all, *w)
	}
	slices.SortFunc(all, func(a, b Worker) int { return cmp.Compare(a.ID, b.ID) })
	return all, failed.Err()
}

// workerIn is the worker with an id, which is as said if it was not known.
func workerIn(known map[string]*Worker, id string, as Worker) *Worker {
	if known[id] == nil {
		as.ID, as.Assigned = id, map[string][]int{}
		known[id] = &as
	}
	return known[id]
}

func workersByRedis(ctx context.Context, i *Inspector, topics []Topic, known map[string]*Worker) error {
	topics = slices.DeleteFunc(slices.Clone(topics), func(t Topic) bool { return t.Sharing != definition.SharingRedis || t.Slots == 0 })
	failed := i.w.Failing()
	listed, err := i.w.Members(ctx, topics)
	if err := failed.Merge(err); err != nil {
		return err
	}
	for _, t := range topics {
		until := listed[t.Name]
		shares := share.Of(slices.Collect(maps.Keys(until)), t.Slots)
		for id, end := range until {
			w := workerIn(known, id, Worker{})
			w.Assigned[t.Name], w.Until = append([]int{}, shares[id]...), ask.Later(w.Until, end)
		}
	}
	takers, err := i.w.Takers(ctx, topics)
	if err := failed.Merge(err); err != nil {
		return err
	}
	for _, t := range topics {
		for id, end := range takers[t.Name] {
			w := workerIn(known, id, Worker{Taker: true})
			w.Assigned[t.Name], w.Until = []int{}, ask.Later(w.Until, end)
		}
	}
	return failed.Err()
}

func workersByZooKeeper(ctx context.Context, i *Inspector, topics []Topic, known map[string]*Worker) error {
	if i.w.Slots == nil {
		return nil
	}
	view, err := i.w.ZooKeeper(ctx)
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
		byZooKeeper[t.Name] = t.Sharing == definition.SharingZooKeeper && !t.Foreign
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

// Unseen are the topics whose workers cannot be seen: they are shared by ZooKeeper, and
// Config.Slots is nil or they are Foreign. A [PartialError] names topics of which it is not
// known.
func (i *Inspector) Unseen(ctx context.Context) ([]Topic, error) {
	if err := ask.Given(ctx, "list topics whose workers are not seen"); err != nil {
		return nil, err
	}
	failed := i.w.Failing()
	topics, err := i.Topics(ctx)
	if err := failed.Merge(err); err != nil {
		return nil, err
	}
	unseen := slices.DeleteFunc(topics, func(t Topic) bool {
		return t.Sharing != definition.SharingZooKeeper || i.w.Slots != nil && !t.Foreign
	})
	return unseen, failed.Err()
}

// attach gives what runs to its workers. One that is not listed is added: what runs there matters all the same.
func attach(running map[string][]Running, known map[string]*Worker) {
	for _, all := range running {
		for _, r := range all {
			w := known[r.Worker]
			if w == nil {
				w = workerIn(known, firstID(r.Worker), Worker{Unlisted: true})
			}
			if w.Unlisted {
				w.Assigned[r.Topic] = []int{}
			}
			w.Running = append(w.Running, r)
		}
	}
}

// firstID is the id by which a worker is listed. In a slot whose handler hangs, which still has a batch under that id, the
// worker goes on as a stranger: as w1+1, then as w1+2.
func firstID(id string) string {
	at := strings.LastIndexByte(id, '+')
	if at < 1 {
		return id
	}
	if _, err := strconv.ParseUint(id[at+1:], 10, 64); err != nil {
		return id
	}
	return id[:at]
}

// probes notes that a worker probes at a topic since a time.
func (w *Worker) probes(topic string, since time.Time) {
	if w == nil { // it is gone
		return
	}
	if w.Probing == nil {
		w.Probing = map[string]time.Time{}
	}
	w.Probing[topic] = since
}

// Vanished is a worker that ceased to share a topic without a word: it was killed, froze, or was cut off. One that was closed is
// not among them.
type Vanished struct {
	Worker string
	Topics []string
	Until  time.Time // when its time ran out: it was last seen up to a Lease before
}

// Vanished are the workers of topics shared by Redis that vanished within a day, and have not come back; the latest first. Of each
// topic these are the last 100, and those that no worker has missed yet.
func (i *Inspector) Vanished(ctx context.Context) ([]Vanished, error) {
	if err := ask.Given(ctx, "list workers that vanished"); err != nil {
		return nil, err
	}
	failed := i.w.Failing()
	topics, err := i.Topics(ctx)
	if err := failed.Merge(err); err != nil {
		return nil, err
	}
	topics = slices.DeleteFunc(topics, func(t Topic) bool { return t.Sharing != definition.SharingRedis })
	known := map[string]*Vanished{}
	for some := range slices.Chunk(topics, ask.PerPipeline) {
		if err := failed.Merge(vanished(ctx, i, some, known)); err != nil {
			return nil, err
		}
	}
	all := make([]Vanished, 0, len(known))
	for _, id := range slices.Sorted(maps.Keys(known)) {
		all = append(all, *known[id])
	}
	slices.SortStableFunc(all, func(a, b Vanished) int { return cmp.Compare(b.Until.UnixMilli(), a.Until.UnixMilli()) })
	return all, failed.Err()
}

// named is how long a worker is named that has vanished.
const named = 24 * time.Hour

// vanished adds the workers that vanished from some topics.
func vanished(ctx context.Context, i *Inspector, topics []Topic, known map[string]*Vanished) error {
	const most = 100
	failed, clocks := i.w.Failing(), map[string]time.Time{}
	keys := make([]string, len(topics))
	for n, t := range topics {
		keys[n] = protocol.WorkersKey(i.w.Qualified(t.Name))
	}
	errs := i.w.Masters.Silent(ctx, i.w.Redis, keys)
	cmds := make([][]redis.Cmder, len(topics))
	var sent []redis.Cmder
	for n, t := range topics {
		if errs[n] != nil {
			continue
		}
		var now time.Time
		if now, errs[n] = i.w.Clock(ctx, keys[n], clocks); errs[n] != nil {
			continue
		}
		from, to := now.Add(-named).UnixMilli(), fmt.Sprintf("(%d", now.UnixMilli())
		for _, key := range []string{keys[n], protocol.GoneKey(i.w.Qualified(t.Name))} {
			cmds[n] = append(cmds[n], redis.NewZSliceCmd(ctx, "zrange", key, to, from, "byscore", "rev", "limit", 0, most, "withscores"))
		}
		sent = append(sent, cmds[n]...)
	}
	script.ExecOnce(ctx, i.w.Redis, sent...)
	for n, t := range topics {
		for _, cmd := range cmds[n] {
			members, err := cmd.(*redis.ZSliceCmd).Result()
			errs[n] = cmp.Or(errs[n], err)
			for _, z := range members {
				id, _ := z.Member.(string)
				if known[id] == nil {
					known[id] = &Vanished{Worker: id}
				}
				known[id].add(t.Name, time.UnixMilli(score.Whole(z.Score)))
			}
		}
		if err := errs[n]; err != nil {
			err = fmt.Errorf("read which workers vanished from topic %s: %w", t.Name, i.w.Explain(err))
			if err := failed.Add(ctx, t.Name, -1, keys[n], err); err != nil {
				return err
			}
		}
	}
	return failed.Err()
}

// add notes that it vanished from a topic, too.
func (v *Vanished) add(topic string, until time.Time) {
	if !slices.Contains(v.Topics, topic) {
		v.Topics = append(v.Topics, topic)
		slices.Sort(v.Topics)
	}
	v.Until = ask.Later(v.Until, until)
}
