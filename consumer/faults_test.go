package consumer

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/night"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/internal/worker/verdict"
	"github.com/slotmq/go-rmq/message"
)

// patient sends until Redis has answered for certain.
func (s sender) patient(t testing.TB, contents ...string) {
	t.Helper()
	await.True(t, "messages are sent", func() bool {
		ms := make([]message.Message, len(contents))
		for i, c := range contents {
			ms[i] = soon(s.topic, c, "")
		}
		_, err := s.SendBatch(ctx, s.topic, ms)
		return err == nil
	})
}

// Redis is killed and started again, with all that it acknowledged: everything
// is delivered.
func TestRedisRestartsWithItsData(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t, "--appendonly", "yes", "--appendfsync", "always")
	rdb, topic := server.Client(t), topicOf(t, message.KindPriority, 16)
	s, n := newSender(t, rdb, topic), newNotes()
	work(t, rdb, Config{Lease: time.Second, Backoff: verdict.Schedule(time.Millisecond)}, topic, n.around(func(context.Context, *Delivery) error {
		await.Pass(time.Millisecond) // so that the server dies in the middle
		return nil
	}))
	var contents []string
	for round := range 2 {
		these := numbered(fmt.Sprint(round), 300)
		contents = append(contents, these...)
		s.patient(t, these...)
		n.await(t, "some are handled", func() bool { return len(n.attempts) > len(contents)-200 })
		server.Kill()
		server.Restart(t)
	}
	n.awaitAll(t, contents)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.overlaps > 0 {
		t.Errorf("%d overlaps", n.overlaps)
	}
	t.Logf("%d deliveries of %d messages", n.total, len(contents))
}

// Redis loses everything: the worker says so, once for all slots, and goes on with what is sent from then on.
func TestRedisRestartsEmpty(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zap.WarnLevel)
	forgotten := func() *observer.ObservedLogs {
		return logs.FilterMessage("Redis has forgotten what it knew: it came back empty, or older")
	}
	server := servertest.Redis(t)
	rdb, topic := server.Client(t), topicOf(t, message.KindPriority, 16)
	s, n := newSender(t, rdb, topic), newNotes()
	c := work(t, rdb, Config{Lease: time.Second, Logger: zap.New(core)}, topic, n.done())
	s.send(t, numbered("before", 100)...)
	n.awaitAll(t, numbered("before", 100))
	if forgotten().Len() > 0 {
		t.Error("it has forgotten what it knows")
	}
	server.Kill()
	server.Restart(t)
	s.patient(t, numbered("after", 100)...)
	n.awaitAll(t, numbered("after", 100))
	rdb.FlushAll(ctx)
	s.patient(t, numbered("flushed", 100)...)
	n.awaitAll(t, numbered("flushed", 100))
	must.Do(t, closeIn(c, await.Patience))
	if said := forgotten().All(); len(said) != 1 || said[0].ContextMap()["server"] != server.Addr() {
		t.Errorf("it was said %d times that Redis has forgotten: %v", len(said), said)
	}
	wantEmpty(t, rdb, topic)
}

// Redis stands still, for less and for more than the lease.
func TestRedisStandsStill(t *testing.T) {
	t.Parallel()
	for _, still := range []time.Duration{200 * time.Millisecond, 1500 * time.Millisecond} {
		t.Run(still.String(), func(t *testing.T) {
			t.Parallel()
			server := servertest.Redis(t)
			rdb, topic := server.Client(t), topicOf(t, message.KindPriority, 8)
			s, n := newSender(t, rdb, topic), newNotes()
			for range 2 {
				work(t, rdb, Config{Lease: time.Second, Backoff: verdict.Schedule(time.Millisecond)}, topic, n.around(func(context.Context, *Delivery) error {
					await.Pass(time.Millisecond)
					return nil
				}))
			}
			contents := numbered("m", 600)
			s.send(t, contents...)
			n.await(t, "some are handled", func() bool { return len(n.attempts) > 100 })
			server.Pause()
			await.Pass(still)
			server.Resume()
			n.awaitAll(t, contents)
			s.send(t, "last")
			n.awaitAll(t, []string{"last"})
			n.mu.Lock()
			defer n.mu.Unlock()
			if n.overlaps > 0 {
				t.Errorf("%d overlaps", n.overlaps)
			}
			t.Logf("%d deliveries of %d messages", n.total, len(contents)+1)
		})
	}
}

// Replies of turns get lost again and again: every message is delivered once,
// as its first attempt. A turn is repeated unchanged, and its batch told again.
func TestLostReplies(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds {
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			server := servertest.SharedRedis(t)
			proxy := servertest.NewProxy(t, server.Addr())
			topic := topicOf(t, kind, 4)
			s, n := newSender(t, server.Client(t), topic), newNotes()
			worker := proxy.Client(t, func(o *redis.Options) { o.MaxRetries = -1 }) // the worker repeats, not its client
			c := work(t, worker, Config{}, topic, n.done())
			var contents []string
			for round := range 25 {
				lost := proxy.LoseNextReply("evalsha", keysOf(topic, 0).Store)
				these := numbered(fmt.Sprint(round), 20)
				contents = append(contents, these...)
				s.send(t, these...)
				if slices.ContainsFunc(these, func(c string) bool { return slotOf(topic, c) == 0 }) {
					await.Signal(t, "a reply is lost", lost)
				}
				n.awaitAll(t, these)
			}
			n.wantOnce(t, contents)
			proxy.LoseNextReply("evalsha") // of a turn that leaves
			must.Do(t, closeIn(c, await.Patience))
			wantEmpty(t, worker, topic)
			if holder := worker.HGet(ctx, keysOf(topic, 0).Meta, "holder").Val(); holder != "" {
				t.Errorf("slot 0 is still held by %s", holder)
			}
		})
	}
}

// The network is cut and mended again and again. No slot is worked at twice at
// the same time, and nothing is lost.
func TestCutAgainAndAgain(t *testing.T) {
	t.Parallel()
	server := servertest.SharedRedis(t)
	proxy := servertest.NewProxy(t, server.Addr())
	rdb, topic := server.Client(t), topicOf(t, message.KindPriority, 8)
	s, n := newSender(t, rdb, topic), newNotes()
	through := make(chan struct{}) // the worker whose network is cut handles something
	for i, worker := range []redis.UniversalClient{proxy.Client(t), rdb} {
		work(t, worker, Config{Lease: 5 * time.Minute, Backoff: verdict.Schedule(time.Millisecond)}, topic, n.around(func(context.Context, *Delivery) error {
			await.Pass(time.Millisecond)
			if i == 0 {
				select {
				case through <- struct{}{}:
				default:
				}
			}
			return nil
		}))
	}
	var contents []string
	var cuts sync.WaitGroup
	stop := make(chan struct{})
	cuts.Go(func() {
		for {
			proxy.Cut()
			await.Pass(20 * time.Millisecond)
			proxy.Mend()
			select {
			case <-stop:
				return
			case <-through: // however long that takes a busy machine
				await.Pass(20 * time.Millisecond)
			}
		}
	})
	for round := range night.Times(5, 10) {
		these := numbered(fmt.Sprint(round), 100)
		contents = append(contents, these...)
		s.send(t, these...)
		n.await(t, "most are handled", func() bool { return len(n.attempts) > len(contents)-60 })
	}
	close(stop)
	cuts.Wait()
	n.awaitAll(t, contents)
	n.wantOnce(t, contents)
}
