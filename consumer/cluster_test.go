package consumer

import (
	"fmt"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/servertest"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/slots"
)

// One master hangs, and then the other, so each of them is once the one with the
// subscription to wake-ups, the list of members and the definition. What is on
// the other one is handled meanwhile, and all of it afterwards.
func TestHungMasterHoldsUpItsOwnSlotsOnly(t *testing.T) {
	t.Parallel()
	cluster := servertest.Cluster(t, 2, 0, "--cluster-node-timeout", "60000")
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
				must(t, master.Client(t).ZAdd(ctx, store, redisZ(17, content)).Err())
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
