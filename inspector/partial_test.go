package inspector

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
)

// wantFailed checks that err says of which slots nothing is known, and returns what failed.
func wantFailed(t testing.TB, what string, err error, slots []int) []Failed {
	t.Helper()
	var partial *PartialError
	if !errors.As(err, &partial) {
		t.Errorf("%s: %v, want a PartialError of %v", what, err, slots)
		return nil
	}
	var got []int
	for _, f := range partial.Failures {
		got = append(got, f.Slot)
	}
	if slices.Sort(got); !slices.Equal(got, slots) {
		t.Errorf("%s: failed of %v, want %v: %v", what, got, slots, err)
	}
	return partial.Failures
}

// look asks all questions about a topic whose slots have one waiting and one dead message
// each, and of which some cannot be looked at.
func look(t testing.TB, i *Inspector, topic message.Topic, hidden []int) (all []Failed) {
	t.Helper()
	rest := topic.Slots - len(hidden)
	failed := func(what string, err error) { t.Helper(); all = append(all, wantFailed(t, what, err, hidden)...) }

	stats, err := i.Stats(ctx, topic.Name)
	if failed("stats", err); stats.Read != rest || stats.Waiting != rest || stats.Dead != rest {
		t.Errorf("stats: %+v", stats)
	}
	slots, err := i.Slots(ctx, topic.Name)
	if failed("slots", err); len(slots) != rest || slices.ContainsFunc(slots, func(s Slot) bool { return slices.Contains(hidden, s.Index) || s.Dead != 1 }) {
		t.Errorf("slots: %+v", slots)
	}
	found, err := i.Explain(ctx, topic.Name, "nowhere", "")
	if failed("explain", err); len(found) > 0 {
		t.Errorf("explain: %+v", found)
	}
	for slot := range topic.Slots {
		if content := fmt.Sprint("w", slot); !slices.Contains(hidden, slot) {
			found, err := i.Explain(ctx, topic.Name, content, "")
			if len(found) != 1 || found[0].Slot != slot || found[0].Waiting == nil {
				t.Errorf("explain %s: %+v, %v", content, found, err)
			}
		}
	}
	for _, state := range []State{Waiting, Dead} {
		entries, err := each(i.Peek(ctx, topic.Name, state, nil, 100))
		if failed("peek", err); len(entries) != rest {
			t.Errorf("peek %s: %+v", state, entries)
		}
	}
	for _, limit := range []int{0, 1, rest} {
		n := 0
		for e, err := range i.Dead().List(ctx, topic.Name, DeadQuery{Limit: limit}) {
			if err != nil {
				failed("dead", err)
				n += 1000
			} else if n++; slices.Contains(hidden, e.Slot) {
				t.Errorf("dead: %+v", e)
			}
		}
		if want := min(rest, max(limit, rest*(1-min(limit, 1)))); n != 1000+want {
			t.Errorf("dead with limit %d: %d, want %d and an error", limit, n, want)
		}
	}
	for range i.Dead().List(ctx, topic.Name, DeadQuery{}) {
		break // then it must not yield the error
	}
	n, err := i.Dead().Count(ctx, topic.Name, DeadQuery{})
	if failed("count", err); n != rest {
		t.Errorf("count: %d", n)
	}
	shown, err := i.Dead().Show(ctx, topic.Name, fmt.Sprint("d", slots[0].Index), "")
	if failed("show", err); len(shown) != 1 {
		t.Errorf("show: %+v", shown)
	}

	// What changes something, or must be complete, does not begin.
	for e, err := range i.Dead().List(ctx, topic.Name, DeadQuery{Complete: true}) {
		if err == nil {
			t.Errorf("complete: %+v", e)
		}
	}
	if n, _, err := i.Dead().Delete(ctx, topic.Name, DeadQuery{}, nil); n != 0 || err == nil {
		t.Errorf("delete: %d, %v", n, err)
	}
	return all
}

// stock puts one waiting and one dead message in each slot.
func stock(t testing.TB, rdb redis.UniversalClient, topic message.Topic) {
	t.Helper()
	for slot := range topic.Slots {
		k := protocol.KeysOf(topic.Name, slot)
		must.Do(t, rdb.ZAdd(ctx, k.Store, redis.Z{Member: fmt.Sprint("w", slot), Score: 1_700_000_000_000}).Err())
		must.Do(t, rdb.ZAdd(ctx, k.Dead, redis.Z{Member: fmt.Sprint("d", slot), Score: 1_700_000_000_000}).Err())
	}
	must.Do(t, rdb.SAdd(ctx, protocol.TopicsKey, topic.Name).Err())
}

// A key of a wrong type hides its slot alone.
func TestWrongTypeHidesNoOtherSlot(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient, i *Inspector) {
		topic := define(t, rdb, message.Topic{Name: "orders", Kind: message.KindFixedTime, Slots: 4})
		stock(t, rdb, topic)
		k := protocol.KeysOf(topic.Name, 3)
		must.Do(t, rdb.Del(ctx, k.Dead).Err())
		must.Do(t, rdb.HSet(ctx, k.Dead, "f", "v").Err())
		for _, f := range look(t, i, topic, []int{3}) {
			if f.Topic != topic.Name || f.Server != "" {
				t.Errorf("%+v", f)
			}
			wantError(t, f.Err, nil, k.Dead, "WRONGTYPE")
		}

		// What is known of the dead is not needed to list them, nor the workers to count.
		must.Do(t, rdb.Del(ctx, k.Dead).Err())
		must.Do(t, rdb.ZAdd(ctx, k.Dead, redis.Z{Member: "d3", Score: 1_700_000_000_000}).Err())
		must.Do(t, rdb.Set(ctx, k.Why, "v", 0).Err())
		n := 0
		for _, err := range i.Dead().List(ctx, topic.Name, DeadQuery{}) {
			if err != nil {
				wantFailed(t, "dead without why", err, []int{3})
				break
			}
			n++
		}
		if n != 4 {
			t.Errorf("%d dead", n)
		}
		must.Do(t, rdb.Del(ctx, k.Why).Err())
		must.Do(t, rdb.HSet(ctx, protocol.DefinitionKey(topic.Name), "sharing", "redis").Err())
		must.Do(t, rdb.HSet(ctx, protocol.WorkersKey(topic.Name), "f", "v").Err())
		stats, err := i.Stats(ctx, topic.Name)
		if wantFailed(t, "stats without workers", err, []int{-1}); stats.Waiting != 4 || stats.Workers != -1 {
			t.Errorf("%+v", stats)
		}
		other := define(t, rdb, message.Topic{Name: "mails", Kind: message.KindFixedTime, Slots: 1})
		must.Do(t, rdb.HSet(ctx, protocol.DefinitionKey(other.Name), "sharing", "redis").Err())
		must.Do(t, rdb.ZAdd(ctx, protocol.WorkersKey(other.Name), redis.Z{Member: "one", Score: 9e15}).Err())
		workers, err := i.Workers(ctx)
		if wantFailed(t, "workers", err, []int{-1}); len(workers) != 1 || len(workers[0].Assigned[other.Name]) != 1 {
			t.Errorf("%+v", workers)
		}
	})
}

// A master that hangs hides only what it has.
func TestHangingMasterHidesNoOther(t *testing.T) {
	t.Parallel()
	c := servertest.Cluster(t, 3, 0)
	rdb := c.Client(t)
	i := newInspector(t, rdb, Config{})
	needed := []string{c.MasterOf(t, protocol.TopicsKey).Addr()}
	hanging := c.Nodes()[0]
	if slices.Contains(needed, hanging.Addr()) {
		hanging = c.Nodes()[1]
	}
	// One topic that it has a part of, and one whose definition it has.
	var topic, away message.Topic
	for n := 0; topic.Name == "" || away.Name == ""; n++ {
		name := fmt.Sprint("orders", n)
		def, workers := c.MasterOf(t, protocol.DefinitionKey(name)) == hanging, c.MasterOf(t, protocol.WorkersKey(name)) == hanging
		switch one := (message.Topic{Name: name, Kind: message.KindFixedTime, Slots: 16}); {
		case !def && !workers && topic.Name == "":
			topic = define(t, rdb, one)
		case def && away.Name == "":
			away = define(t, rdb, one)
		}
	}
	stock(t, rdb, topic)
	var hidden []int
	for slot := range topic.Slots {
		if c.MasterOf(t, protocol.KeysOf(topic.Name, slot).Store) == hanging {
			hidden = append(hidden, slot)
		}
	}
	hanging.Pause()
	defer hanging.Resume()
	for _, f := range look(t, i, topic, hidden) {
		if f.Topic != topic.Name || f.Server != hanging.Addr() {
			t.Errorf("%+v", f)
		}
		wantError(t, f.Err, nil, "server "+hanging.Addr()+" does not answer")
	}
	topics, err := i.Topics(ctx)
	if failed := wantFailed(t, "topics", err, []int{-1}); len(topics) != 2 || len(failed) != 1 || failed[0].Topic != away.Name || failed[0].Server != hanging.Addr() {
		t.Errorf("%+v, %v", topics, failed)
	}
	_, err = i.Stats(ctx, away.Name)
	wantError(t, err, nil, away.Name, hanging.Addr())
	hanging.Resume()
	await.True(t, "all is seen again", func() bool {
		stats, err := i.Stats(ctx, topic.Name)
		return err == nil && stats.Waiting == topic.Slots
	})
}
