package consumer

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/slots"
)

// One master hangs, and then the other, so each of them is once the one with the
// subscription to wake-ups, the list of members and the definition. What is on
// the other one is handled meanwhile, and all of it afterwards.
func TestHungMasterHoldsUpItsOwnSlotsOnly(t *testing.T) {
	t.Parallel()
	cluster := servertest.Cluster(t, 2, 0)
	topic := topicOf(t, message.KindPriority, 32)
	sender := newSender(t, cluster.Client(t), topic)
	n := newNotes()
	work(t, cluster.Client(t), Config{}, topic, n.done())
	plain := topicOf(t, message.KindPriority, 32) // filled by ZADD, so that only the safety look finds it
	work(t, cluster.Client(t), Config{}, plain, n.done(), ListenOptions{SafetyLook: 50 * time.Millisecond})
	all := numbered("first", 200)
	sender.send(t, all...)
	n.awaitAll(t, all)
	masterOf := map[string]*servertest.Server{} // asked before one of them hangs
	for i := range topic.Slots {
		for _, each := range []message.Topic{topic, plain} {
			masterOf[keysOf(each, i).Store] = cluster.MasterOf(t, keysOf(each, i).Store)
		}
	}
	for round, hung := range cluster.Nodes() {
		var elsewhere, there []string
		for _, content := range numbered(fmt.Sprint("hung", round), 200) {
			if masterOf[keysOf(topic, slots.Of(content, topic.Slots)).Store] == hung {
				there = append(there, content)
			} else {
				elsewhere = append(elsewhere, content)
			}
		}
		hung.Pause()
		sent := make(chan error, 1)
		go func() {
			var ms []message.Message
			for _, content := range there {
				ms = append(ms, soon(topic, content, ""))
			}
			_, err := sender.SendBatch(ctx, topic, ms)
			sent <- err
		}()
		for len(elsewhere) > 0 { // several times: the first wake-ups may be lost with the subscription
			some := elsewhere[:min(20, len(elsewhere))]
			elsewhere = elsewhere[len(some):]
			sender.send(t, some...)
			n.awaitAll(t, some)
		}
		for i := range plain.Slots {
			store := keysOf(plain, i).Store
			if master := masterOf[store]; master != hung {
				content := fmt.Sprint("plain", round, "/", i)
				must.Do(t, master.Client(t).ZAdd(ctx, store, redisZ(17, content)).Err())
				n.awaitAll(t, []string{content})
			}
		}
		hung.Resume()
		if err := <-sent; err != nil {
			t.Log("sent to the hung master:", err) // perhaps in doubt; sent again below
			sender.send(t, there...)
		}
		n.awaitAll(t, there)
	}
}

// afterwards is called with each command, and each pipeline, when it has been answered.
type afterwards func(cmds []redis.Cmder)

func (afterwards) DialHook(next redis.DialHook) redis.DialHook { return next }

func (f afterwards) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		f([]redis.Cmder{cmd})
		return err
	}
}

func (f afterwards) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		f(cmds)
		return err
	}
}

// A newcomer asks about the slots of a topic before it comes in, and one of the masters
// hangs. In the lists of other topics it is shown as before.
func TestNewcomerThatWaitsForAHungMaster(t *testing.T) {
	t.Parallel()
	cluster := servertest.Cluster(t, 2, 0)
	rdb, hung := cluster.Client(t), cluster.Nodes()[1]
	there := func() message.Topic { // with its list on the one that does not hang
		for {
			topic := topicOf(t, message.KindPriority, 16)
			if cluster.MasterOf(t, protocol.WorkersKey(topic.Name)) != hung {
				return topic
			}
		}
	}
	in, out := there(), there()
	n := newNotes()
	client := cluster.Client(t, func(o *redis.ClusterOptions) { o.ReadTimeout, o.MaxRetries = 10*await.Patience, -1 })
	c := newConsumer(t, client, Config{Lease: 5 * time.Minute})
	for _, topic := range []message.Topic{in, out} {
		enter(t, rdb, topic, "other", time.Hour)
		must.Do(t, c.Listen(topic, n.done(), ListenOptions{}))
	}
	for i := range out.Slots { // somebody who is not in the list has a batch
		if k := keysOf(out, i); cluster.MasterOf(t, k.Store) != hung {
			must.Do(t, rdb.ZAdd(ctx, k.Store, redisZ(100, "x")).Err())
			ghost := protocol.Turn{Keys: k, Priority: true, Worker: "ghost", Lease: time.Hour, Count: 1}
			takeTurn(t, rdb, &ghost)
		}
	}
	shown := func() float64 {
		return rdb.ZScore(ctx, protocol.WorkersKey(in.Name), c.Worker()).Val()
	}
	cameIn, goOn := make(chan struct{}), make(chan struct{})
	var once sync.Once
	client.AddHook(afterwards(func(cmds []redis.Cmder) {
		if asks := fmt.Sprint(cmds); strings.Contains(asks, protocol.WorkersKey(in.Name)) && shown() > 0 {
			once.Do(func() {
				close(cameIn)
				<-goOn
			})
		}
	}))
	start(t, c)
	await.Signal(t, "it has come in where nothing holds it up", cameIn)
	came := time.Now()
	await.True(t, "it is to show itself again before it knows that", func() bool { return time.Since(came) > 2*time.Second })
	hung.Pause()
	defer hung.Resume()
	close(goOn)
	for range 4 {
		last := shown()
		await.True(t, "it is shown again", func() bool { return shown() > last })
	}
	if err := rdb.ZScore(ctx, protocol.WorkersKey(out.Name), c.Worker()).Err(); err != redis.Nil {
		t.Errorf("it has come in where a batch is in flight (%v)", err)
	}
}
