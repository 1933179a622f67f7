package producer

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/slots"
)

// One master hangs: sends to its slots wait, and those to the others do not, nor
// the wake-ups for them, nor the comparison of definitions.
func TestHungMasterHoldsUpItsOwnSlotsOnly(t *testing.T) {
	t.Parallel()
	cluster := servertest.Cluster(t, 2, 0)
	rdb := cluster.Client(t, patient)
	p := newProducer(t, rdb, Config{})
	topic := message.Topic{Name: "wide", Kind: message.KindFixedTime, Slots: 32}
	at := time.Now().Add(time.Hour)
	send := func(i int) error {
		_, err := p.Send(ctx, topic, message.FixedTime{Content: fmt.Sprint(i), At: at})
		return err
	}
	hung := cluster.MasterOf(t, protocol.DefinitionKey(topic.Name))
	var there, elsewhere []int
	for i := range 100 {
		if err := send(i); err != nil {
			t.Fatal(err)
		}
		slot := slotOf(topic, i)
		if cluster.MasterOf(t, protocol.StoreKey(topic.Name, slot)) == hung {
			there = append(there, i)
		} else {
			elsewhere = append(elsewhere, i)
		}
	}
	p.idle.Wait()
	healthy := cluster.MasterOf(t, protocol.StoreKey(topic.Name, slotOf(topic, elsewhere[0])))
	sub := healthy.Client(t).Subscribe(ctx, protocol.WakeChannel(topic.Name))
	defer sub.Close()
	if _, err := sub.Receive(ctx); err != nil {
		t.Fatal(err)
	}

	hung.Pause()
	stuck := make(chan error, 1)
	go func() { stuck <- send(there[0]) }()
	(*p.topics.known.Load())[topic].agreed.Store(1) // it is time to compare the definition, which cannot be had
	for _, i := range elsewhere {
		if err := send(i); err != nil {
			t.Error(err)
		}
		if _, err := sub.ReceiveMessage(ctx); err != nil { // one after the other, so each has a wake-up of its own
			t.Error(err)
		}
	}
	var ms []message.Message
	for _, i := range elsewhere {
		ms = append(ms, message.FixedTime{Content: fmt.Sprint(i), At: at})
	}
	if _, err := p.SendBatch(ctx, topic, ms); err != nil {
		t.Error(err)
	}
	select {
	case err := <-stuck:
		t.Errorf("the send to the hung master returned early: %v", err)
	default:
	}
	hung.Resume()
	if err := <-stuck; err != nil && !errors.Is(err, ErrUncertain) {
		t.Errorf("afterwards: %v", err)
	}
}

func slotOf(t message.Topic, content int) int { return slots.Of(fmt.Sprint(content), t.Slots) }

// While a hash slot moves to another master, its contents are on both, and a
// content that is new is taken by the new one. Sends follow, also those that wait
// for replicas and those that need a script.
func TestSendsFollowAMovingSlot(t *testing.T) {
	t.Parallel()
	cluster := servertest.Cluster(t, 3, 1, "--cluster-node-timeout", "60000") // no master is replaced because the machine stalls it
	rdb := cluster.Client(t, patient)
	for name, c := range map[string]struct {
		cfg   Config
		topic message.Topic
	}{
		"plain":   {Config{}, message.Topic{Kind: message.KindPriority, Slots: 1}},
		"durable": {Config{Durability: Durability{Replicas: 1, Timeout: await.Patience}}, message.Topic{Kind: message.KindPriority, Slots: 1}},
		"script":  {Config{MaxWaiting: 1000, Durability: Durability{Replicas: 1, Timeout: await.Patience}}, message.Topic{Kind: message.KindPriority, Slots: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			c.topic.Name = "moving " + name
			p := newProducer(t, rdb, c.cfg)
			n := 0
			sends := func(when string) {
				t.Helper()
				for range 20 {
					if _, err := p.Send(ctx, c.topic, message.Priority{Content: fmt.Sprint(n), Priority: 17}); err != nil {
						t.Errorf("%s: %v", when, err)
					}
					n++
				}
			}
			key := protocol.StoreKey(c.topic.Name, 0)
			for round := range 3 {
				if round > 0 { // the key goes away, so that a new one is refused with ASK
					rdb.Del(ctx, key)
					n = 0
				}
				move := cluster.Migrate(t, key)
				sends("before the key has moved")
				for _, s := range cluster.Nodes() {
					if err := s.Client(t).ScriptFlush(ctx).Err(); err != nil && !redis.HasErrorPrefix(err, "READONLY") {
						t.Fatal(err)
					}
				}
				move.MoveKeys(t, 100)
				sends("after it has")
				move.Finish(t)
				sends("after the slot has")
			}
			if got := rdb.ZCard(ctx, key).Val(); got != int64(n) {
				t.Errorf("%d of %d are there", got, n)
			}
		})
	}
}

// A master is killed, and its replica goes on: so do the sends, long before the
// Cluster's client would ask anew by itself, which takes it a minute.
func TestSendsSurviveAFailover(t *testing.T) {
	t.Parallel()
	cluster := servertest.Cluster(t, 3, 1)
	rdb := cluster.Client(t)
	p, topic := newProducer(t, rdb, Config{Durability: Durability{Replicas: 1}}), message.Topic{Name: "failing", Kind: message.KindPriority, Slots: 1}
	await.Nil(t, "the replica has it", func() error {
		_, err := p.Send(ctx, topic, message.Priority{Content: "first", Priority: 17})
		if err != nil && !errors.Is(err, ErrNotReplicated) {
			t.Fatal(err)
		}
		return err
	})
	cluster.MasterOf(t, "failing_0").Kill()
	begun := time.Now()
	n := 0
	await.Nil(t, "the sends find the new master", func() error {
		_, err := p.Send(ctx, topic, message.Priority{Content: "x", Priority: 17})
		switch {
		case errors.Is(err, ErrNotReplicated): // the only replica has become the master
			return nil
		case err == nil:
			t.Fatal("there is no replica, and it says there is")
		}
		n++
		return err
	})
	t.Logf("%d sends failed in %v", n, time.Since(begun).Round(time.Millisecond))
	if rdb.ZCard(ctx, "failing_0").Val() != 2 {
		t.Error("a message is missing")
	}
}
