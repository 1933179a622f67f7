package consumer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/definition"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/internal/worker/verdict"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/slots"
)

// Redis forgets its last writes: it is restarted from an older snapshot, or a replica
// that lags behind takes its place.

// snapshot is what Redis holds of the slots of a topic, at one moment.
type snapshot struct {
	keys  []string
	dumps map[string]string
}

func snapshotOf(t testing.TB, rdb *redis.Client, topic message.Topic) snapshot {
	t.Helper()
	s := snapshot{dumps: map[string]string{}}
	for slot := range definition.Full(topic).Slots {
		s.keys = append(s.keys, protocol.OfSlot(topic.Name, slot)...)
	}
	cmds, err := rdb.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
		for _, key := range s.keys {
			pipe.Dump(ctx, key)
		}
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		t.Fatal(err)
	}
	for i, cmd := range cmds {
		if dump, err := cmd.(*redis.StringCmd).Result(); err == nil {
			s.dumps[s.keys[i]] = dump
		}
	}
	return s
}

// only is the part of one slot.
func (s snapshot) only(topic message.Topic, slot int) snapshot {
	part := snapshot{keys: protocol.OfSlot(topic.Name, slot), dumps: map[string]string{}}
	for _, key := range part.keys {
		if dump, ok := s.dumps[key]; ok {
			part.dumps[key] = dump
		}
	}
	return part
}

// restore makes Redis forget what came after the snapshot.
func (s snapshot) restore(t testing.TB, rdb *redis.Client) {
	t.Helper()
	_, err := rdb.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
		pipe.Del(ctx, s.keys...)
		for key, dump := range s.dumps {
			pipe.Restore(ctx, key, 0, dump)
		}
		return nil
	})
	must.Do(t, err)
}

// Redis forgets the turn that reported a failure. The worker holds nothing, but the
// number it knows is still the present one: a turn that did not say so would look like
// one that finishes the batch with all of it done, and the message would be lost.
func TestRedisForgetsThatAMessageFailed(t *testing.T) {
	t.Parallel()
	rdb, topic := shared(t), topicOf(t, message.KindPriority, 1)
	n := newNotes()
	begun, fail := make(chan struct{}), make(chan struct{})
	var first sync.Once
	c := work(t, rdb, Config{Backoff: verdict.Schedule(time.Hour)}, topic, n.around(func(context.Context, *Delivery) error {
		err := error(nil)
		first.Do(func() {
			close(begun)
			<-fail
			err = errors.New("out of paper")
		})
		return err
	}))
	s := newSender(t, rdb, topic)
	s.send(t, "m")
	await.Signal(t, "the message is in its handler", begun)
	inFlight := snapshotOf(t, rdb, topic)
	close(fail)
	await.True(t, "it has failed", func() bool { return rdb.ZCard(ctx, keysOf(topic, 0).Retry).Val() == 1 })
	must.Do(t, c.settle(ctx))
	inFlight.restore(t, rdb)
	must.Do(t, c.settle(ctx)) // it looks at the slot
	n.mu.Lock()
	defer n.mu.Unlock()
	if got := n.attempts["m"]; len(got) != 2 || got[1] != 1 {
		t.Errorf("attempts %v of a message whose failure Redis has forgotten; want 1 and 1 again", got)
	}
}

// ways are both ways to share slots out.
func ways(t *testing.T, test func(t *testing.T, cfg Config)) {
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		test(t, Config{Lease: 5 * time.Minute}) // so that no lease mends anything
	})
	t.Run("zookeeper", func(t *testing.T) {
		t.Parallel()
		test(t, Config{Slots: slots.ZooKeeper(sharedBy(t, servertest.SharedZooKeeper(t), lasting))})
	})
}

// gated is a listener whose first deliveries wait for the gate.
func gated(n *notes, gate <-chan struct{}) ListenerFunc {
	return n.around(func(context.Context, *Delivery) error {
		<-gate
		return nil
	})
}

// oneForEachSlot sends a message to each slot of a topic.
func oneForEachSlot(t *testing.T, s sender) (contents []string) {
	t.Helper()
	for slot, basis := range basisOf(s.topic) {
		content := fmt.Sprint("m-", slot)
		_, err := s.Send(ctx, s.topic, soon(s.topic, content, basis))
		must.Do(t, err)
		contents = append(contents, content)
	}
	return contents
}

// Redis is restarted from a snapshot of a time when all slots were in flight at a worker
// that has given half of them away since. It does not carry them any more, and lives, so
// nothing proves it dead. All messages come again soon, and no delivery is spent.
func TestRedisForgetsThatSlotsMoved(t *testing.T) {
	t.Parallel()
	for _, kind := range []message.Kind{message.KindFixedTime, message.KindPriority} {
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			ways(t, func(t *testing.T, cfg Config) {
				server := servertest.Redis(t)
				rdb, topic := server.Client(t), topicOf(t, kind, 8)
				n, gate := newNotes(), make(chan struct{})
				a := work(t, rdb, cfg, topic, gated(n, gate))
				await.True(t, "it has all slots", func() bool { return owned(a) == 8 })
				contents := oneForEachSlot(t, newSender(t, rdb, topic))
				n.await(t, "all are in their handlers", func() bool { return n.running == 8 })
				must.Do(t, rdb.Save(ctx).Err())
				close(gate)
				n.awaitAll(t, contents)
				wantEmpty(t, rdb, topic)
				b := work(t, rdb, cfg, topic, n.done())
				await.True(t, "both have half of them", func() bool { return owned(a) == 4 && owned(b) == 4 })
				server.Kill()
				server.Restart(t)
				n.await(t, "all come again", func() bool { return n.total == 16 && n.running == 0 })
				wantEmpty(t, rdb, topic)
				n.mu.Lock()
				defer n.mu.Unlock()
				for _, c := range contents {
					if !slices.Equal(n.attempts[c], []int{1, 1}) {
						t.Errorf("%s: attempts %v", c, n.attempts[c])
					}
				}
				if n.overlaps > 0 {
					t.Errorf("%d overlaps", n.overlaps)
				}
			})
		})
	}
}

// Both masters of a Cluster die, and replicas that lag behind take their places: they know of
// all slots as of the time before half of them were given away.
func TestLaggingReplicasTakeOver(t *testing.T) {
	t.Parallel()
	ways(t, func(t *testing.T, cfg Config) {
		cluster := servertest.Cluster(t, 2, 1, "--cluster-node-timeout", "600000") // nothing is voted on
		topic := topicOf(t, message.KindPriority, 8)
		cfg.SafetyLook = 100 * time.Millisecond
		client := func() redis.UniversalClient {
			return cluster.Client(t, func(o *redis.ClusterOptions) { o.ReadTimeout = time.Second })
		}
		rdb, n, gate := client(), newNotes(), make(chan struct{})
		a := work(t, client(), cfg, topic, gated(n, gate))
		await.True(t, "it has all slots", func() bool { return owned(a) == 8 })
		contents := oneForEachSlot(t, newSender(t, rdb, topic))
		n.await(t, "all are in their handlers", func() bool { return n.running == 8 })
		masters := cluster.Nodes()[:2]
		var replicas []*servertest.Server
		for _, master := range masters {
			replicas = append(replicas, cluster.CutOff(t, master))
		}
		close(gate)
		n.awaitAll(t, contents)
		wantEmpty(t, rdb, topic)
		b := work(t, client(), cfg, topic, n.done())
		await.True(t, "both have half of them", func() bool { return owned(a) == 4 && owned(b) == 4 })
		for _, master := range masters {
			master.Kill()
		}
		begun := time.Now()
		for _, replica := range replicas {
			cluster.TakeOver(t, replica)
		}
		n.await(t, "all come again", func() bool { return n.total == 16 && n.running == 0 })
		t.Logf("all have come again after %v", time.Since(begun))
		wantEmpty(t, client(), topic) // the other one asks the dead for a while
		n.mu.Lock()
		defer n.mu.Unlock()
		for _, c := range contents {
			if !slices.Equal(n.attempts[c], []int{1, 1}) {
				t.Errorf("%s: attempts %v", c, n.attempts[c])
			}
		}
		if n.overlaps > 0 {
			t.Errorf("%d overlaps", n.overlaps)
		}
	})
}

// Redis forgets without a connection breaking, as when a replica takes over behind an
// address: a safety look of whoever has the slot finds the batch.
func TestSafetyLookFindsWhatIsInFlight(t *testing.T) {
	t.Parallel()
	ways(t, func(t *testing.T, cfg Config) {
		rdb, topic := shared(t), topicOf(t, message.KindFixedTime, 4)
		cfg.SafetyLook = 50 * time.Millisecond
		n, gate := newNotes(), make(chan struct{})
		a := work(t, rdb, cfg, topic, gated(n, gate))
		await.True(t, "it has all slots", func() bool { return owned(a) == 4 })
		contents := oneForEachSlot(t, newSender(t, rdb, topic))
		n.await(t, "all are in their handlers", func() bool { return n.running == 4 })
		inFlight := snapshotOf(t, rdb, topic)
		close(gate)
		n.awaitAll(t, contents)
		wantEmpty(t, rdb, topic)
		b := work(t, rdb, cfg, topic, n.done())
		await.True(t, "both have half of them", func() bool { return owned(a) == 2 && owned(b) == 2 })
		inFlight.restore(t, rdb)
		n.await(t, "all come again", func() bool { return n.total == 8 && n.running == 0 })
		wantEmpty(t, rdb, topic)
	})
}

// The holder is closing, and still waits for another handler: it answers all the same.
func TestHolderIsAskedWhileItCloses(t *testing.T) {
	t.Parallel()
	ways(t, func(t *testing.T, cfg Config) {
		rdb, topic := shared(t), topicOf(t, message.KindFixedTime, 2)
		cfg.SafetyLook = 50 * time.Millisecond
		n, long, short := newNotes(), make(chan struct{}), make(chan struct{})
		a := work(t, rdb, cfg, topic, n.around(func(_ context.Context, d *Delivery) error {
			if d.Slot == 0 {
				<-long
			} else {
				<-short
			}
			return nil
		}))
		open := sync.OnceFunc(func() { close(long) })
		t.Cleanup(open)
		await.True(t, "it has all slots", func() bool { return owned(a) == 2 })
		oneForEachSlot(t, newSender(t, rdb, topic))
		n.await(t, "both are in their handlers", func() bool { return n.running == 2 })
		inFlight := snapshotOf(t, rdb, topic)
		close(short)
		n.await(t, "one is done", func() bool { return n.running == 1 })
		await.True(t, "it is reported", func() bool { return rdb.ZCard(ctx, keysOf(topic, 1).Prepare).Val() == 0 })
		b := work(t, rdb, cfg, topic, n.done())
		closed := make(chan error, 1)
		go func() { closed <- closeIn(a, await.Patience) }()
		await.True(t, "the other one has all slots", func() bool { return owned(b) == 2 })
		await.True(t, "one of them is left", func() bool { return rdb.HGet(ctx, keysOf(topic, 1).Meta, "holder").Val() != a.Worker() })
		inFlight.only(topic, 1).restore(t, rdb)
		n.await(t, "it comes again", func() bool { return len(n.attempts["m-1"]) == 2 && n.running == 1 })
		open()
		must.Do(t, await.Signal(t, "Close returns", closed))
		wantEmpty(t, rdb, topic)
		n.mu.Lock()
		defer n.mu.Unlock()
		if !slices.Equal(n.attempts["m-1"], []int{1, 1}) || !slices.Equal(n.attempts["m-0"], []int{1}) {
			t.Errorf("attempts %v", n.attempts)
		}
	})
}

// Redis takes long to load its snapshot. The worker is connected meanwhile, and looks as
// soon as it gets an answer: its next regular look comes too late.
func TestLookWhileRedisLoads(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t, "--key-load-delay", "5000", "--loading-process-events-interval-bytes", "1024")
	rdb, topic, n := server.Client(t), topicOf(t, message.KindPriority, 2), newNotes()
	work(t, server.Client(t), Config{SafetyLook: time.Hour}, topic, n.done())
	newSender(t, rdb, topic).send(t, "first")
	n.awaitAll(t, []string{"first"})
	pipe := rdb.Pipeline()
	for i := range 400 {
		pipe.Set(ctx, fmt.Sprint("filler", i), make([]byte, 2048), 0)
	}
	pipe.ZAdd(ctx, keysOf(topic, 1).Store, redis.Z{Score: 500, Member: "sent without a wake-up"})
	_, err := pipe.Exec(ctx)
	must.Do(t, err)
	must.Do(t, rdb.Save(ctx).Err())
	server.Restart(t)
	n.awaitAll(t, []string{"sent without a wake-up"})
}
