package rmq_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/night"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/rmq"
	"github.com/slotmq/go-rmq/slots"
)

var laterTopics = []rmq.Topic{
	{Name: "prices", Kind: rmq.KindRangeMerge, Slots: 2},
	{Name: "mails", Kind: rmq.KindFixedTime, Slots: 2},
	{Name: "orders", Kind: rmq.KindPriority, Slots: 2},
}

// messageOf is a message of any kind, due now.
func messageOf(t rmq.Topic, content string, priority int64) rmq.Message {
	switch t.Kind {
	case rmq.KindPriority:
		return rmq.Priority{Content: content, Priority: priority}
	case rmq.KindFixedTime:
		return rmq.FixedTime{Content: content, In: time.Millisecond}
	}
	return rmq.RangeMerge{Content: content, Range: time.Millisecond}
}

// One message of each kind is put back a thousand times, ten thousand by night: each time it is its first delivery,
// with its priority. A retry is put back a tenth of that and stays the same retry.
func TestLaterTenThousandTimes(t *testing.T) {
	t.Parallel()
	onOneAndMany(t, func(t *testing.T, rdb redis.UniversalClient) {
		ctx := context.Background()
		client := opened(t, rmq.Config{Redis: rdb, Backoff: rmq.Schedule(time.Millisecond)})
		many, retried := night.Times(1000, 10_000), night.Times(100, 1000)
		var all sync.WaitGroup
		for _, topic := range laterTopics {
			times, again := 0, 0
			all.Add(1)
			if err := client.Listen(topic, rmq.ListenerFunc(func(_ context.Context, d *rmq.Delivery) error {
				if want := map[rmq.Kind]int64{rmq.KindPriority: 900}[topic.Kind]; d.Priority != want {
					t.Errorf("%s: priority %d, delivery %d, put back %d times", topic.Name, d.Priority, d.Attempt, times)
				}
				if times < many {
					if times++; d.Attempt != 1 || d.LastError != "" {
						t.Errorf("%s: delivery %d, after it was put back %d times: %q", topic.Name, d.Attempt, times, d.LastError)
					}
					return fmt.Errorf("the shop is closed: %w", rmq.Later(time.Millisecond))
				}
				if again++; d.Attempt == 1 {
					return fmt.Errorf("it failed")
				}
				if d.Attempt != 2 || d.LastError != "it failed" {
					t.Errorf("%s: delivery %d: %q", topic.Name, d.Attempt, d.LastError)
				}
				if again < retried {
					return rmq.Later(time.Millisecond)
				}
				all.Done()
				return nil
			}), rmq.ListenOptions{MaxAttempts: 2}); err != nil {
				t.Fatal(err)
			}
			if _, err := client.Send(ctx, topic, messageOf(topic, "m", 900)); err != nil {
				t.Fatal(err)
			}
		}
		began := time.Now()
		if err := client.Start(ctx); err != nil {
			t.Fatal(err)
		}
		all.Wait()
		t.Logf("%d times each of %d kinds in %v", many, len(laterTopics), time.Since(began).Round(time.Millisecond))
	})
}

// A thousand messages of each kind, ten thousand by night, are put back once, by a worker that leaves then. The next
// one has each as a first delivery; those with a priority in the order of priorities, among
// others that were sent meanwhile. In between, explain finds them.
func TestLaterTenThousandMessages(t *testing.T) {
	t.Parallel()
	t.Run("one Redis", func(t *testing.T) { t.Parallel(); laterMany(t, servertest.Redis(t).Client(t), nil) })
	t.Run("Cluster", func(t *testing.T) { t.Parallel(); laterMany(t, servertest.Cluster(t, 3, 0).Client(t), nil) })
	t.Run("ZooKeeper", func(t *testing.T) {
		t.Parallel()
		zoo := servertest.SharedZooKeeper(t)
		laterMany(t, servertest.Redis(t).Client(t), slots.ZooKeeper(slots.ZooKeeperConfig{Servers: zoo.Servers(), Root: zoo.Chroot(t)}))
	})
}

func laterMany(t *testing.T, rdb redis.UniversalClient, sharing slots.Sharing) {
	ctx := context.Background()
	const pause = 10 * time.Second // long enough to see all once: what is due again comes before what has a lower priority
	many, others := night.Times(1000, 10_000), night.Times(50, 500)
	client := func() *rmq.Client { return opened(t, rmq.Config{Redis: rdb, Slots: sharing, Concurrency: 8}) }
	sender := opened(t, rmq.Config{Redis: rdb})
	for _, topic := range laterTopics {
		var batch []rmq.Message
		for i := range many {
			batch = append(batch, messageOf(topic, fmt.Sprint("m", i), int64(1000+i*7919%many)))
		}
		for part := range slices.Chunk(batch, 1000) {
			if _, err := sender.SendBatch(ctx, topic, part); err != nil {
				t.Fatal(err)
			}
		}
	}

	first := client()
	var all sync.WaitGroup
	for _, topic := range laterTopics {
		all.Add(many)
		var seen sync.Map // on a busy machine some are due again before the last one comes
		if err := first.Listen(topic, rmq.ListenerFunc(func(_ context.Context, d *rmq.Delivery) error {
			if _, again := seen.LoadOrStore(d.Content, true); !again {
				all.Done()
			}
			if d.Attempt != 1 {
				t.Errorf("%s: delivery %d", topic.Name, d.Attempt)
			}
			return fmt.Errorf("the shop is closed: %w", rmq.Later(pause))
		}), rmq.ListenOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := first.Start(ctx); err != nil {
		t.Fatal(err)
	}
	all.Wait()
	if err := first.Close(ctx); err != nil {
		t.Fatal(err)
	}
	for _, topic := range laterTopics {
		explained(t, sender, topic, "m17")
	}
	orders := laterTopics[2]
	for i := range others { // between those that were put back
		if _, err := sender.Send(ctx, orders, messageOf(orders, fmt.Sprint("o", i), int64(1000+i*many/others))); err != nil {
			t.Fatal(err)
		}
	}
	awaitDue(t, rdb)

	second := client()
	var mu sync.Mutex
	got := map[string][]*rmq.Delivery{}
	all.Add(len(laterTopics)*many + others)
	for _, topic := range laterTopics {
		if err := second.Listen(topic, rmq.ListenerFunc(func(_ context.Context, d *rmq.Delivery) error {
			mu.Lock()
			defer mu.Unlock()
			key := fmt.Sprint(topic.Name, " ", d.Slot)
			got[key] = append(got[key], d)
			all.Done()
			return nil
		}), rmq.ListenOptions{Due: true}); err != nil {
			t.Fatal(err)
		}
	}
	if err := second.Start(ctx); err != nil {
		t.Fatal(err)
	}
	all.Wait()
	if err := second.Close(ctx); err != nil {
		t.Fatal(err)
	}
	for key, deliveries := range got {
		for _, d := range deliveries {
			if d.Attempt != 1 || d.LastError != "" {
				t.Errorf("%s: delivery %d of %s", key, d.Attempt, d.Content)
			}
		}
		inOrder := slices.IsSortedFunc(deliveries, func(a, b *rmq.Delivery) int {
			return cmp.Or(-cmp.Compare(a.Priority, b.Priority), a.Due.Compare(b.Due))
		})
		if !inOrder {
			t.Errorf("%s: not in order", key)
		}
		if known := deliveries[0].Priority > 0; known != strings.HasPrefix(key, orders.Name) {
			t.Errorf("%s: priority %d", key, deliveries[0].Priority)
		}
	}
	nothingLeft(t, rdb)
}

// explained: a person finds a message that was put back, and why.
func explained(t *testing.T, client *rmq.Client, topic rmq.Topic, content string) {
	t.Helper()
	found, err := client.Explain(context.Background(), topic, content, "")
	if err != nil || len(found) != 1 {
		t.Fatalf("%s: %+v, %v", topic.Name, found, err)
	}
	e := found[0]
	at := e.Waiting
	if topic.Kind == rmq.KindPriority {
		if at = e.Retry; at == nil || at.Priority == 0 {
			t.Fatalf("%+v", e)
		}
	}
	if at == nil || at.Attempt != 1 || at.Due.IsZero() || e.Failure != nil || len(e.WaitsFor) == 0 {
		t.Errorf("%s: %+v", topic.Name, e)
	}
	if p := e.PutBack; p == nil || !strings.HasPrefix(p.Reason, "the shop is closed: ") || p.Worker == "" || p.Last.Before(p.First) || e.Now.Sub(p.Last) < 0 {
		t.Errorf("%s: put back %+v", topic.Name, e.PutBack)
	}
}

// awaitDue waits until all that was put back is due, by the clock of each slot's server.
func awaitDue(t *testing.T, rdb redis.UniversalClient) {
	t.Helper()
	ctx := context.Background()
	for _, topic := range laterTopics {
		for slot := range topic.Slots {
			k := protocol.KeysOf(topic.Name, slot)
			due := func() bool {
				key, last := k.Store, int64(0)
				if topic.Kind == rmq.KindPriority {
					key = k.Retry
				}
				for _, z := range rdb.ZRevRangeWithScores(ctx, key, 0, 0).Val() {
					last = int64(z.Score)
				}
				if topic.Kind == rmq.KindPriority {
					last /= 100
				}
				now, err := rdb.Eval(ctx, "return redis.call('TIME')", []string{k.Store}).StringSlice()
				var ms int64
				if err == nil {
					_, err = fmt.Sscan(now[0], &ms)
				}
				if err != nil || last == 0 {
					t.Fatalf("%s: %v, the last at %d", key, err, last)
				}
				return ms*1000 > last
			}
			await.True(t, "what is in "+k.Store+" is due", due)
		}
	}
}

// nothingLeft: no key of a slot is left but meta, and no rule is broken.
func nothingLeft(t *testing.T, rdb redis.UniversalClient) {
	t.Helper()
	ctx := context.Background()
	look, err := inspector.New(rdb, inspector.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if broken, err := look.Verify(ctx, nil, nil); err != nil || len(broken) > 0 {
		t.Errorf("%v, %v", broken, err)
	}
	for _, topic := range laterTopics {
		for slot := range topic.Slots {
			k := protocol.KeysOf(topic.Name, slot)
			if n := rdb.Exists(ctx, k.Store, k.Prepare, k.Retry, k.Dead, k.Why).Val(); n > 0 {
				t.Errorf("%d keys of %s are left", n, k.Store)
			}
			if later := rdb.HGet(ctx, k.Meta, "later").Val(); later != "" {
				t.Errorf("%s: later %s is left", k.Meta, later)
			}
		}
	}
}
