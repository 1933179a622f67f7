package consumer

import (
	"context"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
)

// shortTrial is how long a newcomer that finds others has no slots, if its lease is not
// shorter.
const shortTrial = 2 * time.Second

// members are those that count in the topic's list now, with how long they do.
func members(t *testing.T, rdb *redis.Client, topic message.Topic) map[string]time.Duration {
	t.Helper()
	now := serverTime(t, rdb).UnixMilli()
	list, err := rdb.ZRangeByScoreWithScores(ctx, protocol.WorkersKey(topic.Name),
		&redis.ZRangeBy{Min: strconv.FormatInt(now, 10), Max: "+inf"}).Result()
	must.Do(t, err)
	count := map[string]time.Duration{}
	for _, z := range list {
		count[z.Member.(string)] = time.Duration(int64(z.Score)-now) * time.Millisecond
	}
	return count
}

// standing are the workers, of some that are dead, because of which slots stand still:
// they count in the topic's list, or a batch is theirs, and its lease is not over.
func standing(t *testing.T, rdb *redis.Client, topic message.Topic, dead []string) (ids []string) {
	t.Helper()
	for id := range members(t, rdb, topic) {
		ids = append(ids, id)
	}
	now := serverTime(t, rdb).UnixMilli()
	for slot := range topic.Slots {
		meta := rdb.HMGet(ctx, keysOf(topic, slot).Meta, "holder", "until").Val()
		until, _ := meta[1].(string)
		if ms, _ := strconv.ParseInt(until, 10, 64); ms >= now {
			holder, _ := meta[0].(string)
			ids = append(ids, holder)
		}
	}
	slices.Sort(ids)
	return slices.DeleteFunc(slices.Compact(ids), func(id string) bool { return !slices.Contains(dead, id) })
}

// A worker crashes soon after each start, in one case while it is on trial, in the other
// when it has a share and a batch in each slot of it. Slots stand still because of one
// that is dead at most, and all others go on.
func TestWorkerThatCrashesAgainAndAgain(t *testing.T) {
	t.Parallel()
	const lease = 4 * time.Second
	for name, lasts := range map[string]time.Duration{"on trial": 300 * time.Millisecond, "with slots": 2400 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rdb, topic := shared(t), topicOf(t, message.KindPriority, 16)
			n, s := newNotes(), newSender(t, rdb, topic)
			for range 3 {
				work(t, rdb, Config{Lease: lease}, topic, n.done())
			}
			await.True(t, "the three are members", func() bool { return len(members(t, rdb, topic)) == 3 })
			proxy := servertest.NewProxy(t, servertest.SharedRedis(t).Addr())
			var dead []string
			worst, had := 0, 0
			for range 3 {
				c, err := New(proxy.Client(t, func(o *redis.Options) { o.MaxRetries = -1 }), Config{Lease: lease, SafetyLook: time.Hour})
				must.Do(t, err)
				must.Do(t, c.Listen(topic, ListenerFunc(func(ctx context.Context, _ *Delivery) error {
					<-ctx.Done() // it dies with all it has in hand
					return ctx.Err()
				}), ListenOptions{}))
				start(t, c)
				for born := time.Now(); time.Since(born) < lasts || lasts > shortTrial && had == 0; {
					oneForEachSlot(t, s)
					had = max(had, owned(c))
					worst = max(worst, len(standing(t, rdb, topic, dead)))
					await.Pass(20 * time.Millisecond)
				}
				proxy.Cut()
				proxy = servertest.NewProxy(t, servertest.SharedRedis(t).Addr())
				dead = append(dead, c.Worker())
				t.Cleanup(func() {
					over, cancel := context.WithCancel(ctx)
					cancel()
					_ = c.Close(over) // says that Redis does not answer
				})
			}
			if worst > 1 {
				t.Errorf("slots stood still because of %d that are dead", worst)
			}
			contents := numbered("m", 60)
			s.send(t, contents...)
			n.await(t, "all are handled, when the lease of the last one is over", func() bool {
				for _, content := range contents {
					if len(n.attempts[content]) == 0 {
						return false
					}
				}
				return true
			})
		})
	}
}

// turn takes a turn, and wants an answer.
func turn(t *testing.T, rdb *redis.Client, x *protocol.Turn, want protocol.Code) {
	t.Helper()
	answer := takeTurn(t, rdb, x)
	if answer.Code != want {
		t.Fatalf("%s is told %v", x.Worker, answer.Code)
	}
	x.Fence = answer.Fence
}

// A newcomer that finds others has its share after its trial, and counts for no longer
// than that in their list. Its batches are its own for a whole lease, as theirs are.
func TestNewcomersCountBriefly(t *testing.T) {
	t.Parallel()
	rdb, topic := shared(t), topicOf(t, message.KindPriority, 2)
	leases := make(chan string, 2)
	listener := ListenerFunc(func(ctx context.Context, d *Delivery) error {
		leases <- rdb.HGet(ctx, keysOf(topic, d.Slot).Meta, "lease").Val()
		return nil
	})
	// One that has gone and has nothing in flight is no reason to wait.
	ghost := protocol.Turn{Keys: keysOf(topic, 1), Priority: true, Worker: "ghost", Lease: time.Hour, Count: 1}
	must.Do(t, rdb.ZAdd(ctx, ghost.Keys.Store, redis.Z{Member: "x", Score: 500}).Err())
	turn(t, rdb, &ghost, protocol.Batch)
	turn(t, rdb, &ghost, protocol.Empty)
	if holder := rdb.HGet(ctx, ghost.Keys.Meta, "holder").Val(); holder != "ghost" {
		t.Errorf("slot 1 names %q", holder)
	}
	a := work(t, rdb, Config{Lease: 5 * time.Minute}, topic, listener)
	born := time.Now()
	b := work(t, rdb, Config{Lease: 5 * time.Minute}, topic, listener)
	if n, m := owned(a), owned(b); (n != 2 || m != 0) && time.Since(born) < shortTrial {
		t.Errorf("at first they have %d and %d slots", n, m)
	}
	await.True(t, "both have a slot", func() bool { return owned(a) == 1 && owned(b) == 1 })
	if took := time.Since(born); took < shortTrial {
		t.Errorf("it had a slot after %v", took)
	}
	if count := members(t, rdb, topic); count[a.Worker()] < time.Minute || count[b.Worker()] > shortTrial {
		t.Errorf("the first one counts for %v, the newcomer for %v", count[a.Worker()], count[b.Worker()])
	}
	oneForEachSlot(t, newSender(t, rdb, topic))
	for range 2 {
		if ms := await.Signal(t, "it has a lease", leases); ms != "300000" {
			t.Errorf("the lease of a batch is %s ms", ms)
		}
	}
}

// While a slot is in the hands of somebody who is not in the list, a newcomer stays out
// of it; for one lease at most, however long the other's is.
func TestNewcomerWaitsForWhatTheDeadHold(t *testing.T) {
	t.Parallel()
	const lease = 3 * time.Second
	rdb, topic := shared(t), topicOf(t, message.KindPriority, 16)
	newSender(t, rdb, topic).send(t, numbered("m", 100)...)
	ghost := protocol.Turn{Keys: keysOf(topic, 7), Priority: true, Worker: "ghost", Lease: time.Hour, Count: 1}
	turn(t, rdb, &ghost, protocol.Batch)
	n := newNotes()
	work(t, rdb, Config{Lease: lease}, topic, n.done())
	born := time.Now()
	b := work(t, rdb, Config{Lease: lease}, topic, n.done())
	await.True(t, "the newcomer has its share", func() bool { return owned(b) > 0 })
	if took := time.Since(born); took < lease {
		t.Errorf("it had its share after %v", took)
	}
}

// A worker whose handler hangs goes on in that slot under its id and a number. It lives.
func TestNewcomerBesideOneWhoseHandlerHung(t *testing.T) {
	t.Parallel()
	rdb, topic := shared(t), topicOf(t, message.KindPriority, 2)
	n := newNotes()
	a := work(t, rdb, Config{Lease: time.Hour}, topic, n.done())
	second := protocol.Turn{Keys: keysOf(topic, 1), Priority: true, Worker: a.Worker() + "+1", Lease: time.Hour, Count: 1}
	await.True(t, "the second id holds a batch", func() bool { // unless the first one was quicker
		must.Do(t, rdb.ZAdd(ctx, second.Keys.Store, redis.Z{Member: "x", Score: 500}).Err())
		answer := takeTurn(t, rdb, &second)
		second.Fence = answer.Fence
		return answer.Code == protocol.Batch
	})
	b := work(t, rdb, Config{Lease: time.Hour}, topic, n.done())
	await.True(t, "the newcomer has its share", func() bool { return owned(b) == 1 })
}
