package consumer

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/internal/worker/expiry"
	"github.com/slotmq/go-rmq/internal/worker/intake"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/producer"
	"github.com/slotmq/go-rmq/slots"
)

// clockHook counts how often a client asks for the time, and has it fail some times.
type clockHook struct{ asked, fail atomic.Int64 }

func (h *clockHook) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (h *clockHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() == "time" {
			h.asked.Add(1)
			if h.fail.Add(-1) >= 0 {
				err := errors.New("no answer")
				cmd.SetErr(err)
				return err
			}
		}
		return next(ctx, cmd)
	}
}

func (h *clockHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// listenLate starts a worker whose messages may be late by half an hour, one by one, in
// parallel or together.
func listenLate(t testing.TB, rdb redis.UniversalClient, cfg Config, topic message.Topic, how string, expired Expired, l ListenerFunc) *Consumer {
	t.Helper()
	o := ListenOptions{MaxLate: 30 * time.Minute, Expired: expired, Parallel: how == "parallel"}
	c := newConsumer(t, rdb, cfg)
	if how == "together" {
		must.Do(t, c.ListenBatch(topic, BatchFunc(func(ctx context.Context, b *Batch) error {
			for i, d := range b.Messages {
				if err := l(ctx, d); err != nil {
					b.Fail(i, err)
				}
			}
			return nil
		}), BatchOptions{ListenOptions: o}))
	} else {
		must.Do(t, c.Listen(topic, l, o))
	}
	start(t, c)
	return c
}

// What comes too late is not handled but dead, with a reason that says how late it was, or
// gone; the rest is handled. So it is wherever the messages are.
func TestMaxLate(t *testing.T) {
	t.Parallel()
	for where, on := range map[string]func(t *testing.T) (redis.UniversalClient, Config){
		"redis": func(t *testing.T) (redis.UniversalClient, Config) { return shared(t), Config{} },
		"cluster": func(t *testing.T) (redis.UniversalClient, Config) {
			return servertest.SharedCluster(t).Client(t), Config{}
		},
		"zookeeper": func(t *testing.T) (redis.UniversalClient, Config) {
			return shared(t), Config{Slots: slots.ZooKeeper(sharedBy(t, servertest.SharedZooKeeper(t), lasting))}
		},
	} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			rdb, cfg := on(t)
			for _, kind := range []message.Kind{message.KindRangeMerge, message.KindFixedTime} {
				for _, how := range []string{"one by one", "parallel", "together"} {
					for _, expired := range []Expired{ExpiredDead, ExpiredDrop} {
						testMaxLate(t, rdb, cfg, topicOf(t, kind, 4), how, expired)
					}
				}
			}
		})
	}
}

func testMaxLate(t *testing.T, rdb redis.UniversalClient, cfg Config, topic message.Topic, how string, expired Expired) {
	t.Helper()
	now := rdb.Time(ctx).Val()
	late, inTime := numbered("late", 40), numbered("in-time", 40)
	_, err := rdb.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for i := range late {
			dueAt(t, pipe, topic, now, time.Hour+time.Duration(i)*time.Second, late[i])
			dueAt(t, pipe, topic, now, time.Duration(i)*time.Second, inTime[i])
		}
		return nil
	})
	must.Do(t, err)
	core, logs := observer.New(zap.InfoLevel)
	seen, n := newLedger(t), newNotes()
	cfg.Logger, cfg.Observers = zap.New(core), []message.Observer{seen}
	listenLate(t, rdb, cfg, topic, how, expired, n.around(func(_ context.Context, d *Delivery) error {
		if strings.HasPrefix(d.Content, "late") || d.Due.IsZero() {
			t.Errorf("%s was due at %v", d.Content, d.Due)
		}
		return nil
	}))
	n.awaitAll(t, inTime)
	what := map[Expired]message.What{ExpiredDead: message.Died, ExpiredDrop: message.Dropped}[expired]
	seen.await("all have ended", func() bool { return seen.ends[what] == len(late) && seen.ends[message.Done] == len(inTime) })
	seen.mu.Lock()
	for _, x := range seen.items {
		if x.What == what && (!strings.HasPrefix(x.Reason, "expired: due 2") || !strings.Contains(x.Reason, ", late by 1h") || x.Took != 0 || x.Err != ErrExpired) {
			t.Errorf("%s: %s, after %v: %v", x.What, x.Reason, x.Took, x.Err)
		}
		if x.What == message.Done && x.Took <= 0 {
			t.Errorf("%s: %s was handled in %v", how, x.Content, x.Took)
		}
	}
	seen.mu.Unlock()
	await.True(t, "the log names as many as came too late", func() bool { // its lines are written beside the work
		said := 0
		for _, line := range logs.FilterMessageSnippet("messages came too late").All() {
			said += int(line.ContextMap()["messages"].(int64))
		}
		return said == len(late)
	})
	died := map[string]string{}
	for slot := range topic.Slots {
		k := keysOf(topic, slot)
		whys := rdb.HGetAll(ctx, k.Why).Val()
		for _, content := range rdb.ZRange(ctx, k.Dead, 0, -1).Val() {
			died[content] = whys[content]
		}
		must.Do(t, rdb.Del(ctx, k.Dead).Err())
	}
	for _, content := range late {
		record, dead := died[content]
		if dead != (expired == ExpiredDead) {
			t.Fatalf("%s %s, expired %v: dead is %v", how, content, expired, dead)
		}
		if why, _ := protocol.ParseFailure(record); dead && (why.Attempts != 1 || !strings.Contains(why.Reason, ", late by 1h")) {
			t.Errorf("%s: %+v", content, why)
		}
	}
	wantEmpty(t, rdb, topic)
}

// A worker tells its MaxLate when it starts, and senders refuse what it would not handle; so does one that comes later.
func TestSendersLearnMaxLate(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]Config{"redis": {}, "zookeeper": {Slots: slots.ZooKeeper(sharedBy(t, servertest.SharedZooKeeper(t), lasting))}} {
		rdb, topic := shared(t), topicOf(t, message.KindFixedTime, 2)
		past := message.FixedTime{Content: "past", At: rdb.Time(ctx).Val().Add(-time.Hour)}
		for _, together := range []bool{false, true} {
			refused, n := ListenOptions{MaxLate: 30 * time.Minute}, newNotes()
			c := newConsumer(t, rdb, cfg)
			if together {
				open := topic
				open.Slots = 0 // the definition has them
				must.Do(t, c.ListenBatch(open, BatchFunc(func(context.Context, *Batch) error { return nil }), BatchOptions{ListenOptions: refused}))
			} else {
				must.Do(t, c.Listen(topic, n.done(), refused))
			}
			start(t, c)
			if _, err := newSender(t, rdb, topic).Send(await.Context(t), topic, past); !errors.Is(err, producer.ErrPast) {
				t.Errorf("%s, together %t: %v", name, together, err)
			}
			must.Do(t, closeIn(c, await.Patience))
			c = work(t, rdb, cfg, topic, n.done())
			_, err := newSender(t, rdb, topic).Send(await.Context(t), topic, past)
			must.Do(t, err)
			n.awaitAll(t, []string{past.Content})
			must.Do(t, closeIn(c, await.Patience))
			must.Do(t, rdb.HDel(ctx, protocol.DefinitionKey(topic.Name), "maxlate").Err()) // 90 s go by
		}
	}
	for _, kind := range kinds { // others cost no write
		rdb, topic := shared(t), topicOf(t, kind, 2)
		work(t, rdb, Config{}, topic, newNotes().done())
		if told := rdb.HExists(ctx, protocol.DefinitionKey(topic.Name), "maxlate").Val(); told != (kind == message.KindFixedTime) {
			t.Errorf("%v: its worker tells how late it handles a message: %v", kind, told)
		}
	}
}

// Redis is asked for its time once for a batch with messages that may be too late, and
// never for others.
func TestMaxLateAsksRedisSeldom(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"one by one", "together"} {
		rdb, topic := shared(t), topicOf(t, message.KindFixedTime, 1)
		hook := new(clockHook)
		rdb.AddHook(hook)
		now := rdb.Time(ctx).Val()
		hook.asked.Store(0)
		inTime := numbered("in-time", 1000)
		_, err := rdb.Pipelined(ctx, func(pipe redis.Pipeliner) error {
			for i, content := range inTime {
				dueAt(t, pipe, topic, now, time.Duration(i)*time.Second, content)
			}
			return nil
		})
		must.Do(t, err)
		n := newNotes()
		fences := map[int64]bool{}
		var late sync.Map // the fences of batches with late ones
		note := message.ObserverFunc(func(e *message.Event) {
			for _, x := range e.Items {
				if x.What == message.Dropped {
					late.Store(e.Fence, true)
				}
			}
		})
		listenLate(t, rdb, Config{Observers: []message.Observer{note}}, topic, how, ExpiredDrop, n.around(func(_ context.Context, d *Delivery) error {
			fences[d.Fence] = true
			return nil
		}))
		n.awaitAll(t, inTime)
		if asked := hook.asked.Load(); asked > 0 {
			t.Errorf("%s: asked %d times for %d batches that were in time", how, asked, len(fences))
		}
		_, err = rdb.Pipelined(ctx, func(pipe redis.Pipeliner) error {
			for i, content := range numbered("late", 1000) {
				dueAt(t, pipe, topic, now, time.Hour+time.Duration(i)*time.Second, content)
			}
			return nil
		})
		must.Do(t, err)
		before := rdb.HGet(ctx, keysOf(topic, 0).Meta, "batch").Val()
		newSender(t, shared(t), topic).send(t, "after") // which wakes the worker
		n.awaitAll(t, append(inTime, "after"))
		wantEmpty(t, rdb, topic)
		batches := int64(1) // the last one may not be reported yet
		late.Range(func(any, any) bool { batches++; return true })
		if asked := hook.asked.Load(); asked == 0 || asked > batches {
			t.Errorf("%s: asked %d times for %d batches that came late, after fence %s", how, asked, batches, before)
		}
	}
}

// A retry comes however late it is.
func TestMaxLateIsForFirstDeliveries(t *testing.T) {
	t.Parallel()
	rdb, topic := shared(t), topicOf(t, message.KindFixedTime, 1)
	yesterday := rdb.Time(ctx).Val().Add(-24 * time.Hour)
	must.Do(t, rdb.ZAdd(ctx, keysOf(topic, 0).Retry, redisZ(float64(yesterday.UnixMilli()*100+16), "retry")).Err())
	n := newNotes()
	listenLate(t, rdb, Config{}, topic, "one by one", ExpiredDead, n.done())
	n.awaitAll(t, []string{"retry"})
	if a := n.attempts["retry"]; !slices.Equal(a, []int{2}) {
		t.Errorf("attempts %v", a)
	}
}

func TestMessageWhoseTimeIsNotKnownIsNotLate(t *testing.T) {
	t.Parallel()
	toldAgain := batch{slot: &slot{topic: new(topic)}, answer: protocol.Answer{Attempt: 1, Contents: []string{"a"}}, clock: expiry.Start(&expiry.Server{}, nil, "", 1, time.Now(), false)}
	if !toldAgain.passExpired() || toldAgain.next > 0 {
		t.Error("it is not handled")
	}
}

// While Redis does not say how late a message is, it is neither handled nor handed back:
// then it would be due later.
func TestMaxLateWhileRedisDoesNotSay(t *testing.T) {
	t.Parallel()
	rdb, topic := shared(t), topicOf(t, message.KindFixedTime, 1)
	hook := new(clockHook)
	rdb.AddHook(hook)
	dueAt(t, rdb, topic, rdb.Time(ctx).Val(), time.Hour, "late")
	hook.asked.Store(0)
	hook.fail.Store(1)
	c := listenLate(t, rdb, Config{}, topic, "one by one", ExpiredDead, func(_ context.Context, d *Delivery) error {
		t.Errorf("%s is handled", d.Content)
		return nil
	})
	awaitDead(t, rdb, topic, 0, "late")
	if asked := hook.asked.Load(); asked != 2 {
		t.Errorf("asked %d times", asked)
	}
	if c.topics[0].size.Count(1) != new(intake.Size).Count(1) {
		t.Error("a message that was not handled counts for how long one takes")
	}
}

// Close does not wait for a Redis that does not say how late a message is.
func TestCloseWhileRedisDoesNotSay(t *testing.T) {
	t.Parallel()
	rdb, topic := shared(t), topicOf(t, message.KindFixedTime, 1)
	hook := new(clockHook)
	rdb.AddHook(hook)
	dueAt(t, rdb, topic, rdb.Time(ctx).Val(), time.Hour, "late")
	hook.fail.Store(1 << 60)
	c := work(t, rdb, Config{}, topic, newNotes().done(), ListenOptions{MaxLate: time.Minute})
	await.True(t, "it is asked", func() bool { return hook.asked.Load() > 1 })
	must.Do(t, closeIn(c, await.Patience))
	if rdb.ZCard(ctx, keysOf(topic, 0).Store).Val() != 1 {
		t.Error("it is not handed back")
	}
}

func TestExpiredAsText(t *testing.T) {
	if got := fmt.Sprint(ExpiredDead, ExpiredDrop, Expired(7)); got != "dead drop Expired(7)" {
		t.Error(got)
	}
}
