package consumer

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
)

// returns fails the test unless do returns, long before the time-outs of the Redis client,
// which take an hour here.
func returns(t *testing.T, what string, do func() error) error {
	t.Helper()
	answer := make(chan error, 1)
	go func() { answer <- do() }()
	return await.Signal(t, what+" heeds its context", answer)
}

// Redis takes what it is sent, and does not answer. A start ends with its context and says
// so; Close during a start ends with its own. When Redis answers again, a start that was
// given up can be repeated.
func TestStartAndCloseHeedTheirContexts(t *testing.T) {
	t.Parallel()
	server := servertest.SharedRedis(t)
	proxy := servertest.NewProxy(t, server.Addr())
	topic, n := topicOf(t, message.KindPriority, 4), newNotes()
	slow := func(o *redis.Options) {
		o.ReadTimeout, o.WriteTimeout, o.MaxRetries = time.Hour, time.Hour, -1
	}
	create := func() *Consumer {
		c, err := New(proxy.Client(t, slow), Config{SafetyLook: time.Hour})
		must.Do(t, err)
		must.Do(t, c.Listen(topic, n.done(), ListenOptions{}))
		return c
	}
	t.Cleanup(proxy.Thaw)
	c := create()
	for range 2 {
		proxy.Freeze()
		short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
		if err := returns(t, "Start", func() error { return c.Start(short) }); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("start: %v", err)
		}
		cancel()
	}
	proxy.Thaw()
	start(t, c)
	newSender(t, server.Client(t), topic).send(t, "x")
	n.awaitAll(t, []string{"x"})
	must.Do(t, closeIn(c, await.Patience))

	c = create()
	proxy.Freeze()
	starting, started := make(chan struct{}), make(chan error, 1)
	go func() {
		close(starting)
		started <- c.Start(ctx)
	}()
	<-starting
	await.True(t, "it starts", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.trying != nil
	})
	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	if err := returns(t, "Close", func() error { return c.Close(short) }); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("close: %v", err)
	}
	proxy.Thaw()
	if err := await.Signal(t, "Start returns", started); !errors.Is(err, message.ErrClosed) {
		t.Errorf("the start beside it: %v", err)
	}
}

// Close comes when all is ready, and has not ended the context of the start yet.
func TestClosedAtTheEndOfAStart(t *testing.T) {
	t.Parallel()
	c, err := New(shared(t), Config{})
	must.Do(t, err)
	must.Do(t, c.Listen(topicOf(t, message.KindPriority, 1), newNotes().done(), ListenOptions{}))
	c.mu.Lock()
	c.phase = closed
	c.mu.Unlock()
	if err := c.start(ctx); !errors.Is(err, message.ErrClosed) {
		t.Errorf("start: %v", err)
	}
}

// Close names a Backoff that keeps it.
func TestBackoffThatDoesNotReturn(t *testing.T) {
	t.Parallel()
	rdb, topic, release := shared(t), topicOf(t, message.KindPriority, 1), make(chan struct{})
	t.Cleanup(func() { close(release) })
	called := make(chan struct{})
	ghost := protocol.Turn{Keys: keysOf(topic, 0), Priority: true, Worker: "ghost", Lease: time.Millisecond, Count: 1}
	must.Do(t, rdb.ZAdd(ctx, ghost.Keys.Store, redisZ(100, "x")).Err())
	turn(t, rdb, &ghost, protocol.Batch)
	c, err := New(rdb, Config{})
	must.Do(t, err)
	must.Do(t, c.Listen(topic, newNotes().done(), ListenOptions{Backoff: func(int) time.Duration {
		close(called)
		<-release
		return time.Second
	}}))
	start(t, c)
	await.Signal(t, "Backoff is asked", called)
	if err := closeIn(c, 100*time.Millisecond); err == nil || !strings.Contains(err.Error(), "Backoff did not return: topic "+topic.Name) {
		t.Errorf("close: %v", err)
	}
}

// The Redis client was closed first: Close returns, and names what it could not report.
func TestRedisClientIsClosedFirst(t *testing.T) {
	t.Parallel()
	ways(t, func(t *testing.T, cfg Config) {
		rdb, topic := redis.NewClient(shared(t).Options()), topicOf(t, message.KindPriority, 2)
		n, gate := newNotes(), make(chan struct{})
		c, err := New(rdb, cfg)
		must.Do(t, err)
		must.Do(t, c.Listen(topic, gated(n, gate), ListenOptions{}))
		start(t, c)
		await.True(t, "it has all slots", func() bool { return owned(c) == 2 })
		oneForEachSlot(t, newSender(t, shared(t), topic))
		n.await(t, "both are in their handlers", func() bool { return n.running == 2 })
		must.Do(t, rdb.Close())
		close(gate)
		err = returns(t, "Close", func() error { return c.Close(ctx) })
		if err == nil || !strings.Contains(err.Error(), "the Redis client was closed before") || !strings.Contains(err.Error(), topic.Name+" slot 1") {
			t.Errorf("close: %v", err)
		}
	})
}
