package consumer

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/internal/worker/verdict"
	"github.com/slotmq/go-rmq/message"
)

// waitsIn returns when a first delivery that was put back is due, and its record; zero while it is in
// flight, or failed.
func waitsIn(rdb redis.UniversalClient, topic message.Topic, content string) (due time.Time, record protocol.Failure) {
	k := keysOf(topic, 0)
	key, unit := k.Store, 1.0
	if !topic.Kind.Timed() {
		key, unit = k.Retry, 100
	}
	score := rdb.ZScore(ctx, key, content).Val()
	record, known := protocol.ParseFailure(rdb.HGet(ctx, k.Why, content).Val())
	if score == 0 || !known || !record.PutBack() {
		return due, record
	}
	return time.UnixMilli(int64(score / unit)), record
}

// A message whose handler wants it later waits for so long, whatever its kind, and in literal topics, too. It
// spends no delivery, so it does not die of it.
func TestLater(t *testing.T) {
	t.Parallel()
	rdb := shared(t)
	for _, kind := range kinds {
		for _, literal := range []bool{false, true} {
			for says, result := range map[string]error{
				"Later":        verdict.LaterError(time.Hour),
				"wrapped":      fmt.Errorf("the shop is closed: %w", verdict.LaterError(time.Hour)),
				"joined":       errors.Join(errors.New("the shop is closed"), verdict.LaterError(time.Hour)),
				"with a retry": verdict.RetryError(time.Second, verdict.LaterError(time.Hour)),
			} {
				topic := topicOf(t, kind, 1)
				topic.Literal = literal
				core, logs := observer.New(zap.DebugLevel)
				newSender(t, rdb, topic).send(t, "m")
				c := work(t, rdb, Config{Logger: zap.New(core), MaxAttempts: 1}, topic, func(context.Context, *Delivery) error { return result }, ListenOptions{})
				await.True(t, "it waits", func() bool { due, _ := waitsIn(rdb, topic, "m"); return !due.IsZero() })
				due, record := waitsIn(rdb, topic, "m")
				if in := due.Sub(record.Last); in < time.Hour || in > time.Hour+time.Millisecond || record.Worker != c.Worker() || record.Reason == "" {
					t.Errorf("%v, %s: in %v, %+v", kind, says, in, record)
				}
				line := func() []observer.LoggedEntry { return logs.FilterMessage("message is put back by its handler").All() }
				await.True(t, "it is logged", func() bool { return len(line()) > 0 })
				must.Do(t, closeIn(c, await.Patience))
				if lines := line(); len(lines) != 1 || lines[0].Level != zap.DebugLevel {
					t.Errorf("%v, %s: logged %+v", kind, says, logs.All())
				}
			}
		}
	}
}

// What cannot wait is put back for a millisecond, and a death is a death.
func TestLaterAtItsLimits(t *testing.T) {
	t.Parallel()
	rdb := shared(t)
	for _, kind := range kinds {
		for _, d := range []time.Duration{-time.Hour, 0, 1} {
			topic := topicOf(t, kind, 1)
			came, times := make(chan int, 3), 0
			newSender(t, rdb, topic).send(t, "m")
			work(t, rdb, Config{}, topic, func(_ context.Context, x *Delivery) error {
				came <- x.Attempt
				if times++; times < 3 {
					return verdict.LaterError(d)
				}
				return verdict.DeadError(fmt.Errorf("never: %w", verdict.LaterError(time.Hour)))
			}, ListenOptions{})
			for range 3 {
				if attempt := await.Signal(t, "a delivery", came); attempt != 1 {
					t.Errorf("%v, %v: attempt %d", kind, d, attempt)
				}
			}
			await.True(t, "it is dead", func() bool { return rdb.ZCard(ctx, keysOf(topic, 0).Dead).Val() == 1 })
		}
	}
}

// A handler that is cancelled because its worker closes may still put its message back: it waits for as
// long as that, and does not come at once.
func TestLaterWhileClosing(t *testing.T) {
	t.Parallel()
	rdb := shared(t)
	for _, kind := range kinds {
		topic := topicOf(t, kind, 1)
		newSender(t, rdb, topic).send(t, "m")
		begun := make(chan int, 1)
		c := work(t, rdb, Config{}, topic, func(ctx context.Context, _ *Delivery) error {
			begun <- 1
			<-ctx.Done()
			return fmt.Errorf("%w: %w", verdict.LaterError(time.Hour), context.Cause(ctx))
		}, ListenOptions{})
		await.Signal(t, "a beginning", begun)
		c.grace = await.Patience
		over, cancel := context.WithCancel(ctx)
		cancel()
		must.Do(t, c.Close(over))
		if due, record := waitsIn(rdb, topic, "m"); due.Sub(record.Last) < time.Hour {
			t.Errorf("%v: due %v, %+v", kind, due, record)
		}
	}
}

// Replies get lost again and again while messages are put back. Each is delivered as often as its
// handler wants it, as its first delivery, and never before the time it asked for. Only the priority may be
// unknown, of a batch that Redis had to give the worker a second time.
func TestLaterWhileRepliesAreLost(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds {
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			const many, times, pause = 20, 10, 5 * time.Millisecond
			server := servertest.SharedRedis(t)
			proxy := servertest.NewProxy(t, server.Addr())
			topic := topicOf(t, kind, 2)
			var mu sync.Mutex
			back, last := map[string]int{}, map[string]time.Time{}
			var all sync.WaitGroup
			all.Add(many)
			newSender(t, server.Client(t), topic).send(t, numbered("m", many)...)
			worker := proxy.Client(t, func(o *redis.Options) { o.MaxRetries = -1 })
			c := work(t, worker, Config{}, topic, func(_ context.Context, d *Delivery) error {
				mu.Lock()
				defer mu.Unlock()
				if early := pause - time.Since(last[d.Content]); d.Attempt != 1 || back[d.Content] > times || early > 0 {
					t.Errorf("%s, delivery %d: %v early, after it was put back %d times", d.Content, d.Attempt, early, back[d.Content])
				}
				if back[d.Content]++; back[d.Content] > times {
					all.Done()
					return nil
				}
				if back[d.Content]%3 == 1 {
					proxy.LoseNextReply("evalsha")
				}
				last[d.Content] = time.Now()
				return verdict.LaterError(pause)
			}, ListenOptions{})
			all.Wait()
			must.Do(t, closeIn(c, await.Patience))
			wantEmpty(t, worker, topic)
		})
	}
}

// One message of a call may be put back, and the others are done.
func TestLaterInABatch(t *testing.T) {
	t.Parallel()
	rdb := shared(t)
	for _, kind := range kinds {
		topic := topicOf(t, kind, 1)
		newSender(t, rdb, topic).send(t, "a", "b", "c")
		handleTogether(t, rdb, Config{}, topic, BatchOptions{}, func(_ context.Context, b *Batch) error {
			for i, d := range b.Messages {
				if d.Content == "b" {
					b.Fail(i, verdict.LaterError(time.Hour))
				}
			}
			return nil
		})
		await.True(t, "it waits", func() bool { due, _ := waitsIn(rdb, topic, "b"); return !due.IsZero() })
		await.True(t, "the others are done", func() bool { return left(rdb, topic) == 1 })
	}
}

// left counts what is anywhere in the one slot of a topic.
func left(rdb redis.UniversalClient, topic message.Topic) int64 {
	k := keysOf(topic, 0)
	return rdb.ZCard(ctx, k.Store).Val() + rdb.ZCard(ctx, k.Prepare).Val() + rdb.ZCard(ctx, k.Retry).Val() + rdb.ZCard(ctx, k.Dead).Val()
}
