package journaltest

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/record"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/journal/recovery"
	"github.com/slotmq/go-rmq/message"
)

// A live copy stays as it is, whatever the journal says.
func TestRestoreLeavesLiveCopies(t *testing.T) {
	t.Parallel()
	n := aNight(t)
	k := n.keys()
	n.sent(5, time.Now(), items(later, "waits", "flies", "fails", "dies", "lost", "was dead")...)
	n.ended(message.Died, 6, "x", "dies")
	for key, content := range map[string]string{k.Store: "waits", k.Prepare: "flies", k.Retry: "fails", k.Dead: "dies"} {
		must.Do(t, n.rdb.ZAdd(ctx, key, redis.Z{Score: 4242, Member: content}).Err())
	}
	must.Do(t, n.rdb.ZAdd(ctx, k.Dead, redis.Z{Score: 4243, Member: "was dead"}).Err())
	must.Do(t, n.rdb.HSet(ctx, k.Meta, "batch", 3, "holder", "somebody").Err())
	before := map[string]string{}
	for _, key := range []string{k.Prepare, k.Retry, k.Dead, k.Meta, k.Why} {
		before[key] = n.rdb.Dump(ctx, key).Val()
	}
	n.restores(recovery.Restore{DryRun: true}, recovery.Restored{Waiting: 2, There: 4})
	n.restores(recovery.Restore{}, recovery.Restored{Waiting: 2, There: 4})
	n.holds("waits:4242 lost:4000000000000 was dead:4000000000000", "dies was dead")
	for key, was := range before {
		if n.rdb.Dump(ctx, key).Val() != was {
			t.Errorf("%s has changed", key)
		}
	}
}

// Workers that wait are notified of each page.
func TestRestoreWakesWorkers(t *testing.T) {
	t.Parallel()
	n := aNight(t)
	n.sent(1, time.Now(), items(1_700_000_000_000, "a")...)
	sub := n.rdb.Subscribe(ctx, protocol.WakeChannel(n.topic.Name))
	defer sub.Close()
	_, err := sub.Receive(ctx)
	must.Do(t, err)
	n.restores(recovery.Restore{}, recovery.Restored{Waiting: 1, Twice: 1})
	if heard, err := sub.ReceiveTimeout(ctx, await.Patience); err != nil || heard.(*redis.Message).Payload != "1:0" {
		t.Errorf("%v, %v", heard, err)
	}
}

// The slots of a topic are on all masters.
func TestRestoreOnACluster(t *testing.T) {
	t.Parallel()
	c := servertest.Cluster(t, 3, 0)
	rdb := c.Client(t)
	n := newNight(t, newPlace(t, "SQLite", false), rdb, message.KindPriority, true)
	n.topic.Slots = 16
	for slot := range n.topic.Slots {
		told := make(chan error, 1)
		s := &record.Sends{Topic: n.topic, Slot: slot, Number: 9, At: time.Now(), Items: items(20, fmt.Sprint("a", slot), fmt.Sprint("b", slot))}
		n.j.Sent([]*record.Sends{s}, func(err error) { told <- err })
		must.Do(t, <-told)
	}
	n.restores(recovery.Restore{DryRun: true}, recovery.Restored{Waiting: 32, Twice: 32})
	n.restores(recovery.Restore{}, recovery.Restored{Waiting: 32, Twice: 32})
	n.restores(recovery.Restore{}, recovery.Restored{There: 32})
	for slot := range n.topic.Slots {
		k := protocol.KeysOf(n.topic.Name, slot)
		if waits, number := rdb.ZCard(ctx, k.Store).Val(), rdb.HGet(ctx, k.Meta, "batch").Val(); waits != 2 || number != "9" {
			t.Errorf("slot %d has %d messages and number %s", slot, waits, number)
		}
	}
}

// A page whose answer is lost is written again, and it cannot be known which try has
// stored it.
func TestRestoreWithALostAnswer(t *testing.T) {
	t.Parallel()
	srv := servertest.Redis(t)
	proxy := servertest.NewProxy(t, srv.Addr())
	far := redis.NewClient(&redis.Options{Addr: proxy.Addr()}) // which must not write it again by itself: that both were there says nothing then
	defer far.Close()
	n := newNight(t, newPlace(t, "SQLite", false), far, message.KindFixedTime, false)
	n.sent(1, time.Now(), items(later, "to be found")...)
	n.sent(1, time.Now(), items(later, "another")...)
	n.restores(recovery.Restore{Content: "another"}, recovery.Restored{Waiting: 1}) // from now on the server knows the script
	lost := proxy.LoseNextReply("to be found")
	n.restores(recovery.Restore{}, recovery.Restored{Unsure: 2}) // both are of one page
	<-lost
	n.holds("another:4000000000000 to be found:4000000000000", "")
}
