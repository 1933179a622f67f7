package producer

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
)

// topicAway is a topic whose definition and slot are on other masters than key.
func topicAway(t *testing.T, cluster *servertest.RedisCluster, kind message.Kind, keys ...string) message.Topic {
	t.Helper()
	for c := 'a'; c <= 'z'; c++ {
		topic := message.Topic{Name: "away" + string(c), Kind: kind, Slots: 1}
		fits := true
		for _, key := range keys {
			at := cluster.MasterOf(t, key)
			fits = fits && cluster.MasterOf(t, protocol.DefinitionKey(topic.Name)) != at && cluster.MasterOf(t, protocol.StoreKey(topic.Name, 0)) != at
		}
		if fits {
			return topic
		}
	}
	t.Fatal("no such topic")
	panic(0)
}

// The master of the list of all topics hangs, and has nothing else of the topic.
func TestFirstSendDoesNotNeedTheListOfTopics(t *testing.T) {
	t.Parallel()
	cluster := servertest.Cluster(t, 2, 0)
	rdb := cluster.Client(t, patient)
	topic := topicAway(t, cluster, message.KindPriority, protocol.TopicsKey)
	mustSend(t, newProducer(t, rdb, Config{}), topic, message.Priority{Content: "before", Priority: 17})
	hung := cluster.MasterOf(t, protocol.TopicsKey)
	hung.Pause()
	defer hung.Resume()
	promptly(t, "the first send", func() error {
		_, err := newProducer(t, rdb, Config{}).Send(ctx, topic, message.Priority{Content: "x", Priority: 17})
		return err
	})
}

// A FixedTime send ends with its context while the clock of a hung server is asked.
func TestContextWhileTheClockIsAsked(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	p, topic := newProducer(t, server.Client(t, func(o *redis.Options) { o.ReadTimeout = time.Hour }), Config{}), topicOf(t, message.KindFixedTime)
	p.retryFor = 100 * time.Millisecond
	m := message.FixedTime{Content: "x", At: time.Now().Add(time.Hour)}
	mustSend(t, p, topic, m)
	p.idle.Wait()
	for _, writer := range p.writers.all {
		writer.clock.expire() // 30 s later
	}
	server.Pause()
	defer server.Resume()
	within, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	defer cancel()
	promptly(t, "a send whose context ends", func() error {
		if _, err := p.Send(within, topic, m); !errors.Is(err, context.DeadlineExceeded) {
			return fmt.Errorf("sent to a server that hangs: %w", err)
		}
		return nil
	})
}

// Everything is written, and the master of the definition hangs while that is compared.
func TestCloseDoesNotWaitForAComparison(t *testing.T) {
	t.Parallel()
	cluster := servertest.Cluster(t, 2, 0)
	rdb := cluster.Client(t, patient)
	p, err := New(rdb, Config{})
	if err != nil {
		t.Fatal(err)
	}
	topic := topicAway(t, cluster, message.KindPriority, protocol.TopicsKey)
	mustSend(t, p, topic, message.Priority{Content: "before", Priority: 17})
	p.idle.Wait()
	hung := cluster.MasterOf(t, protocol.TopicsKey)
	hung.Pause()
	defer hung.Resume()
	(*p.topics.known.Load())[topic].agreed.Store(1) // it is time to compare
	mustSend(t, p, topic, message.Priority{Content: "x", Priority: 17})
	if err := p.Close(await.Context(t)); errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("all was answered, and Close says: %v", err)
	}
}
