package consumer

import (
	"context"
	"fmt"
	"math"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/byhand"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/internal/worker/verdict"
	"github.com/slotmq/go-rmq/message"
)

func TestRateRefuses(t *testing.T) {
	t.Parallel()
	c, topic := newConsumer(t, shared(t), Config{}), topicOf(t, message.KindPriority, 4)
	none := ListenerFunc(func(context.Context, *Delivery) error { return nil })
	for _, x := range []struct {
		Rate
		field string
	}{
		{Rate{PerSecond: -1}, "Rate.PerSecond"}, {Rate{PerSecond: math.NaN()}, "Rate.PerSecond"}, {Rate{PerSecond: math.Inf(1)}, "Rate.PerSecond"},
		{Rate{PerSecond: 0.0009}, "Rate.PerSecond"}, {Rate{PerSecond: 1e6 + 1}, "Rate.PerSecond"}, {Rate{Burst: 5}, "Rate.PerSecond"},
		{Rate{PerSecond: 5, Burst: -1}, "Rate.Burst"}, {Rate{PerSecond: 5, Burst: 1e6 + 1}, "Rate.Burst"},
	} {
		wantInvalid(t, c.Listen(topic, none, ListenOptions{Rate: x.Rate}), x.field)
	}
	batch := BatchFunc(func(context.Context, *Batch) error { return nil })
	wantInvalid(t, c.ListenBatch(topic, batch, BatchOptions{ListenOptions: ListenOptions{Rate: Rate{PerSecond: -1}}}), "Rate.PerSecond")
	must.Do(t, c.Listen(topic, none, ListenOptions{Rate: Rate{PerSecond: 0.001}}))
}

// metered counts the deliveries of a topic with a rate, and how many are too many.
type metered struct {
	t     *testing.T
	notes *notes
	rate  float64
	free  float64 // beside what the rate allows
	began time.Time
	n     atomic.Int64
}

func (m *metered) begin(d *Delivery) {
	n, most := float64(m.n.Add(1)), m.rate*time.Since(m.began).Seconds()+m.free
	if n > most {
		m.t.Errorf("%.0f have begun, %.1f at the most may have", n, most)
	}
	m.notes.begin(d)
	m.notes.end(d)
}

// A worker begins no more than the rate allows, and goes on until all is done, with each kind
// of listener.
func TestRate(t *testing.T) {
	t.Parallel()
	const messages = 60
	rate := Rate{PerSecond: 100, Burst: 10}
	for name, listen := range map[string]func(c *Consumer, topic message.Topic, m *metered) error{
		"one by one": func(c *Consumer, topic message.Topic, m *metered) error {
			return c.Listen(topic, ListenerFunc(func(_ context.Context, d *Delivery) error {
				m.begin(d)
				return nil
			}), ListenOptions{Rate: rate})
		},
		"parallel": func(c *Consumer, topic message.Topic, m *metered) error {
			return c.Listen(topic, ListenerFunc(func(_ context.Context, d *Delivery) error {
				m.begin(d)
				return nil
			}), ListenOptions{Rate: rate, Parallel: true})
		},
		"together": func(c *Consumer, topic message.Topic, m *metered) error {
			return c.ListenBatch(topic, BatchFunc(func(_ context.Context, b *Batch) error {
				for _, d := range b.Messages {
					m.begin(d)
				}
				return nil
			}), BatchOptions{ListenOptions: ListenOptions{Rate: rate}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rdb, topic := shared(t), topicOf(t, message.KindPriority, 16)
			contents := numbered("x", messages)
			newSender(t, rdb, topic).send(t, contents...)
			m := &metered{t: t, notes: newNotes(), rate: rate.PerSecond, free: 1, began: time.Now()}
			c := newConsumer(t, rdb, Config{})
			must.Do(t, listen(c, topic, m))
			start(t, c)
			m.notes.awaitAll(t, contents)
			if m.notes.total != messages {
				t.Errorf("%d deliveries of %d messages", m.notes.total, messages)
			}
		})
	}
}

// What has failed is reported while the topic waits for tokens.
func TestVerdictsDoNotWaitForTokens(t *testing.T) {
	t.Parallel()
	rdb, topic := shared(t), topicOf(t, message.KindPriority, 1)
	newSender(t, rdb, topic).send(t, "a", "b")
	work(t, rdb, Config{}, topic, func(context.Context, *Delivery) error { return verdict.DeadError(fmt.Errorf("no")) },
		ListenOptions{Rate: Rate{PerSecond: 0.25}})
	k := keysOf(topic, 0)
	await.True(t, "the first is reported while the second waits", func() bool {
		return rdb.ZCard(ctx, k.Dead).Val() == 1 && rdb.Exists(ctx, k.Prepare).Val() == 0 && rdb.ZCard(ctx, k.Store).Val() == 1
	})
}

// A limit that a person sets holds at once in a worker at work, in place of the one before; and
// ends by itself, also while Redis is away.
func TestPolicyHoldsAtOnce(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	rdb, topic := server.Client(t), topicOf(t, message.KindPriority, 16)
	n, release := newNotes(), make(chan struct{})
	c := work(t, server.Client(t), Config{}, topic, n.around(func(context.Context, *Delivery) error {
		<-release
		return nil
	}))
	scheduled := c.running.scheduled[0]
	allowed := func(want int) func() bool {
		return func() bool { return scheduled.Allowed() == want }
	}
	setPolicy(t, rdb, topic, protocol.Policy{Rate: 5, Concurrency: 3, Left: time.Hour})
	await.True(t, "the worker hears of it", allowed(3))
	contents := fill(t, newSender(t, rdb, topic), 1)
	n.await(t, "some begin", func() bool { return n.running == 3 })
	setPolicy(t, rdb, topic, protocol.Policy{Concurrency: 5, Left: time.Hour})
	n.await(t, "more begin, at no rate", func() bool { return n.running == 5 })
	if n.mu.Lock(); n.most != 5 {
		t.Errorf("%d handlers at once", n.most)
	}
	n.mu.Unlock()
	setPolicy(t, rdb, topic, protocol.Policy{Concurrency: 2, Left: 6 * time.Second}) // a worker that stands still for seconds hears of it
	await.True(t, "it is replaced", allowed(2))
	server.Pause()
	await.True(t, "it ends while Redis is away", allowed(64))
	server.Resume()
	close(release)
	n.awaitAll(t, contents)
}

// A limit that was there before the worker holds from its start on. The smaller rate counts.
func TestPolicyHoldsFromTheStart(t *testing.T) {
	t.Parallel()
	rdb, n := shared(t), newNotes()
	for own, want := range map[float64]float64{0: 50, 20: 20, 100: 50} {
		topic := topicOf(t, message.KindPriority, 4)
		newSender(t, rdb, topic).send(t, "x")
		setPolicy(t, rdb, topic, protocol.Policy{Rate: 50, Concurrency: 2, Left: time.Hour})
		c := newConsumer(t, rdb, Config{})
		must.Do(t, c.Listen(topic, n.done(), ListenOptions{Rate: Rate{PerSecond: own}}))
		start(t, c)
		if got := c.running.scheduled[0].Allowed(); got != 2 {
			t.Errorf("%d handlers are allowed at the start", got)
		}
		if got := c.running.scheduled[0].Rate(); got.PerSecond != want {
			t.Errorf("with %g of its own: %g a second, not %g", own, got.PerSecond, want)
		}
	}
}

// A policy that cannot be read holds up no work, and the log says so.
func TestPolicyThatCannotBeRead(t *testing.T) {
	t.Parallel()
	rdb, topic, n := shared(t), topicOf(t, message.KindPriority, 4), newNotes()
	must.Do(t, rdb.Set(ctx, protocol.PolicyKey(topic.Name), "x", 0).Err())
	core, log := observer.New(zap.WarnLevel)
	work(t, rdb, Config{Logger: zap.New(core)}, topic, n.done())
	newSender(t, rdb, topic).send(t, "x")
	n.awaitAll(t, []string{"x"})
	if log.FilterMessageSnippet("the limit of a topic cannot be read").Len() == 0 {
		t.Error("the log says nothing")
	}
}

// setPolicy limits a topic as the command line does.
func setPolicy(t *testing.T, rdb *redis.Client, topic message.Topic, p protocol.Policy) {
	t.Helper()
	_, err := byhand.Limit(ctx, rdb, topic.Name, p)
	must.Do(t, err)
	must.Do(t, rdb.Publish(ctx, protocol.WakeChannel(topic.Name), protocol.PolicyChanged).Err())
}
