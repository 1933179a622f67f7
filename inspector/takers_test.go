package inspector

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/inspector/doctor"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/poll"
	"github.com/slotmq/go-rmq/producer"
)

// Who takes from a topic is known as that, everywhere: no worker is missed, nothing stands still, and a batch that is out has
// a name that people can read.
func TestTakers(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient, i *Inspector) {
		topic := message.Topic{Name: "orders", Kind: message.KindPriority, Slots: 1}
		send, err := producer.New(rdb, producer.Config{})
		must.Do(t, err)
		for _, content := range []string{"taken", "waits"} {
			_, err := send.Send(ctx, topic, message.Priority{Content: content, Priority: 100})
			must.Do(t, err)
		}
		must.Do(t, send.Close(ctx))
		missed := func() bool {
			for _, c := range i.Doctor(ctx) {
				if c.Name == "workers" {
					return c.Level != doctor.OK
				}
			}
			return false
		}
		if !missed() {
			t.Error("nobody is missed")
		}
		var pollers []*poll.Poller
		for range 2 { // of one name
			p, err := poll.New(poll.Config{Redis: rdb, Worker: "gateway-1"})
			must.Do(t, err)
			pollers = append(pollers, p)
		}
		held, err := pollers[0].Take(ctx, []string{"orders"}, poll.Take{Wait: await.Patience, TTR: time.Hour})
		must.Do(t, err)
		if other, err := pollers[1].Take(ctx, []string{"orders"}, poll.Take{}); other != nil || err != nil {
			t.Fatalf("%v, %v", other, err)
		}

		if missed() {
			t.Error("a worker is missed")
		}
		stats, err := i.Stats(ctx, "orders")
		must.Do(t, err)
		if stats.Workers != 0 || stats.Takers != 2 {
			t.Errorf("%+v", stats)
		}
		workers, err := i.Workers(ctx)
		must.Do(t, err)
		for _, w := range workers {
			if !w.Taker || protocol.HolderName(w.ID) != "gateway-1 (taker)" || len(w.Assigned) != 1 || len(w.Assigned["orders"]) != 0 || !w.Until.After(time.Now()) {
				t.Errorf("%+v", w)
			}
		}
		if len(workers) != 2 {
			t.Errorf("%d workers", len(workers))
		}
		e := explain(t, i, "orders", held.Messages[0].Content)
		if e.Flight == nil || protocol.HolderName(e.Flight.Worker) != "gateway-1 (taker)" || len(e.WaitsFor) != 0 {
			t.Errorf("%+v, waits for %q", e.Flight, e.WaitsFor)
		}
		behind := map[string]string{"taken": "waits", "waits": "taken"}[held.Messages[0].Content]
		if e := explain(t, i, "orders", behind); len(e.WaitsFor) != 1 || !strings.HasPrefix(e.WaitsFor[0], "the batch of gateway-1 (taker), taken ") {
			t.Errorf("waits for %q", e.WaitsFor)
		}
		_, err = pollers[1].Finish(ctx, held.Receipt)
		must.Do(t, err)
		if e := explain(t, i, "orders", behind); !slices.Equal(e.WaitsFor, []string{"a taker to ask for it: by way of gateway-1"}) {
			t.Errorf("waits for %q", e.WaitsFor)
		}
		if violations, err := i.Verify(ctx, nil, nil); err != nil || len(violations) > 0 {
			t.Errorf("%+v, %v", violations, err)
		}
		for _, p := range pollers {
			must.Do(t, p.Close(ctx))
		}
		if e := explain(t, i, "orders", behind); !slices.Equal(e.WaitsFor, []string{"a worker: none listens to this topic"}) || !missed() {
			t.Errorf("waits for %q", e.WaitsFor)
		}
		// One that has died without a word does not count any more. A list of another type is a violation.
		key := protocol.TakersKey("orders")
		must.Do(t, rdb.ZAdd(ctx, key, redis.Z{Score: 1000, Member: protocol.TakerID("dead", protocol.TakerBits{})}).Err())
		if workers, err := i.Workers(ctx); err != nil || len(workers) != 0 || !missed() {
			t.Errorf("%+v, %v", workers, err)
		}
		if violations, err := i.Verify(ctx, nil, nil); err != nil || len(violations) > 0 {
			t.Errorf("%+v, %v", violations, err)
		}
		must.Do(t, rdb.Del(ctx, key).Err())
		must.Do(t, rdb.Set(ctx, key, "x", 0).Err())
		if violations, err := i.Verify(ctx, nil, nil); err != nil || len(violations) != 1 || violations[0].Rule != "TYPES" || violations[0].Key != key {
			t.Errorf("%+v, %v", violations, err)
		}
	})
}
