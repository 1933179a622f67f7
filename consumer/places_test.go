package consumer

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/script"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/internal/worker/verdict"
	"github.com/slotmq/go-rmq/message"
)

// With more busy topics than places none is left out.
func TestNoTopicStarves(t *testing.T) {
	t.Parallel()
	const topics, places, rounds = 12, 4, 3
	rdb := shared(t)
	c := newConsumer(t, rdb, Config{Concurrency: places})
	n, served := newNotes(), map[string]int{}
	stop := make(chan struct{})
	for range topics {
		topic := topicOf(t, message.KindPriority, 4)
		must.Do(t, c.Listen(topic, n.around(func(ctx context.Context, d *Delivery) error {
			n.mu.Lock()
			served[d.Topic.Name]++
			n.mu.Unlock()
			select {
			case <-stop:
				return nil
			default: // comes back at once, so that no slot ever runs out of work
				return rdb.ZAdd(ctx, keysOf(topic, d.Slot).Store, redisZ(100, d.Content)).Err()
			}
		}), ListenOptions{}))
		fill(t, newSender(t, rdb, topic), 1)
	}
	start(t, c)
	n.await(t, "every topic is served again and again", func() bool {
		enough := 0
		for _, times := range served {
			if times >= rounds {
				enough++
			}
		}
		return enough == topics
	})
	close(stop)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.most > places {
		t.Errorf("%d handlers at once", n.most)
	}
}

// While there are as many places as topics, slow topics keep no other from
// beginning, however many slots of theirs are busy.
func TestQuickTopicBesideSlowOnes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ topics, places, slow int }{{33, 64, 4}, {3, 5, 2}, {8, 8, 7}} {
		t.Run(fmt.Sprintf("%d topics %d slow", c.topics, c.slow), func(t *testing.T) {
			t.Parallel()
			rdb := shared(t)
			w := newConsumer(t, rdb, Config{Concurrency: c.places})
			blocked, quick := newNotes(), newNotes()
			release := make(chan struct{})
			var slow, others []sender
			for i := range c.topics {
				s := newSender(t, rdb, topicOf(t, message.KindPriority, 16))
				if i < c.slow {
					slow = append(slow, s)
					must.Do(t, w.Listen(s.topic, blocked.around(func(context.Context, *Delivery) error { <-release; return nil }), ListenOptions{}))
					fill(t, s, 1)
				} else {
					others = append(others, s)
					must.Do(t, w.Listen(s.topic, quick.done(), ListenOptions{}))
				}
			}
			start(t, w)
			want := min(16*len(slow), c.places-len(others)*max(1, c.places/c.topics/2))
			blocked.await(t, "slow handlers have what is not kept for others", func() bool { return blocked.running == want })
			var contents []string
			for i, s := range others {
				contents = append(contents, fmt.Sprint(i))
				s.send(t, fmt.Sprint(i))
			}
			quick.awaitAll(t, contents)
			blocked.mu.Lock()
			if blocked.total != want {
				t.Errorf("%d slow handlers, want %d", blocked.total, want)
			}
			blocked.mu.Unlock()
			close(release)
		})
	}
}

// While Redis does not answer, turns give up their places, and may have taken
// batches all the same. When it answers again, no more handlers run than may.
func TestOutageKeepsTheLimit(t *testing.T) {
	t.Parallel()
	const places = 4
	server := servertest.Redis(t)
	rdb := server.Client(t, func(o *redis.Options) { o.ReadTimeout = 200 * time.Millisecond })
	n, total := newNotes(), 0
	c := newConsumer(t, rdb, Config{Concurrency: places, Backoff: verdict.Schedule(time.Millisecond)})
	for _, parallel := range []bool{false, false, true} {
		topic := topicOf(t, message.KindPriority, 64)
		fill(t, newSender(t, server.Client(t), topic), 2)
		total += 128
		must.Do(t, c.Listen(topic, n.around(func(context.Context, *Delivery) error {
			await.Pass(20 * time.Millisecond)
			return nil
		}), ListenOptions{Parallel: parallel}))
	}
	start(t, c)
	for i := range 2 {
		n.await(t, "some are handled", func() bool { return n.total > (i+1)*total/8 })
		server.Pause()
		await.Pass(time.Second)
		server.Resume()
	}
	n.await(t, "all are handled", func() bool { return n.total >= total && n.running == 0 })
	must.Do(t, c.settle(ctx))
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.most > places {
		t.Errorf("%d handlers at once, of %d", n.most, places)
	}
	t.Logf("%d deliveries of %d messages, %d handlers at once", n.total, total, n.most)
}

// contentsRead counts the messages that turns were told of.
type contentsRead struct{ atomic.Int64 }

func (r *contentsRead) DialHook(next redis.DialHook) redis.DialHook { return next }

func (r *contentsRead) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		r.count(cmd)
		return err
	}
}

func (r *contentsRead) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		for _, cmd := range cmds {
			r.count(cmd)
		}
		return err
	}
}

func (r *contentsRead) count(cmd redis.Cmder) {
	if turn, ok := cmd.(script.Once); ok {
		if reply := turn.Val(); len(reply) > 3 && reply[0] == string(protocol.Batch) {
			k := 0
			_, _ = fmt.Sscan(reply[3], &k)
			r.Add(int64(k))
		}
	}
}

// A parallel topic reads hardly more than it handles, be its handlers quick or slow.
func TestParallelReadsWhatItHandles(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		takes   time.Duration
		each    int
		content int
	}{{30 * time.Millisecond, 256, 10}, {time.Millisecond, 200, 10}, {20 * time.Millisecond, 20, 32 << 10}} {
		t.Run(c.takes.String(), func(t *testing.T) {
			t.Parallel()
			server, read := servertest.Redis(t), 0
			// One run of five: where the machine stands still for a second, what is left of all batches is
			// handed back. Batches that are too large are handed back in each run, and cost more than as much again.
			for range 5 {
				if read = readToHandle(t, server.Client(t), c.takes, c.each, c.content); read*10 <= 16*c.each*11 {
					return
				}
			}
			t.Errorf("%d messages were read to handle %d", read, 16*c.each)
		})
	}
}

// readToHandle is how many messages a worker reads to handle so many of each of 16 slots.
func readToHandle(t *testing.T, rdb *redis.Client, takes time.Duration, each, size int) int {
	t.Helper()
	topic := topicOf(t, message.KindPriority, 16)
	s, n, read := newSender(t, rdb, topic), newNotes(), &contentsRead{}
	var contents []string
	var ms []message.Message
	for slot, basis := range basisOf(topic) {
		for i := range each {
			content := fmt.Sprintf("%d/%d/%s", slot, i, strings.Repeat("x", size))
			contents = append(contents, content)
			ms = append(ms, soon(topic, content, basis))
		}
	}
	_, err := s.SendBatch(ctx, topic, ms)
	must.Do(t, err)
	rdb.AddHook(read)
	c := work(t, rdb, Config{Concurrency: 64}, topic, n.around(func(context.Context, *Delivery) error {
		await.Pass(takes)
		return nil
	}), ListenOptions{Parallel: true})
	n.awaitAll(t, contents)
	must.Do(t, closeIn(c, await.Patience))
	t.Logf("%d messages were read to handle %d", read.Load(), len(contents))
	return int(read.Load())
}
