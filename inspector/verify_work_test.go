package inspector

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/consumer"
	"github.com/slotmq/go-rmq/internal/servers/wait"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/night"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/internal/testing/sharetest"
	"github.com/slotmq/go-rmq/internal/worker/verdict"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/producer"
)

// Verify runs again and again beside all that can happen to topics of every kind: sends,
// failures, retries, deaths, workers that come, leave, and vanish with what they hold, dead
// messages that are requeued and deleted, slots that are paused and resumed, messages that
// are cancelled and rescheduled. It never finds anything.
func TestVerifyFindsNothingAtWork(t *testing.T) {
	t.Parallel()
	t.Run("redis", func(t *testing.T) {
		s := servertest.LentRedis(t)
		verifyAtWork(t, func() redis.UniversalClient { return s.Client(t) })
	})
	t.Run("cluster", func(t *testing.T) {
		c := servertest.LentCluster(t)
		verifyAtWork(t, func() redis.UniversalClient { return c.Client(t) })
	})
}

func verifyAtWork(t *testing.T, connect func() redis.UniversalClient) {
	seed := uint64(sharetest.Seed(t))
	var topics []message.Topic
	for n, topic := range []message.Topic{
		{Kind: message.KindRangeMerge}, {Kind: message.KindPriority}, {Kind: message.KindFixedTime},
		{Kind: message.KindRangeMerge, Literal: true}, {Kind: message.KindPriority, Literal: true},
	} {
		topic.Name, topic.Slots = fmt.Sprint("topic ", n), 4
		topics = append(topics, topic)
	}
	rdb := connect()
	i := newInspector(t, bounded(t, connect()), Config{})

	done := make(chan struct{})
	var beside sync.WaitGroup
	var serial atomic.Uint64
	// again does something now and then, with random numbers of its own, until the end.
	again := func(pause time.Duration, do func(r *rand.Rand, topic message.Topic) error) {
		r := rand.New(rand.NewPCG(seed, serial.Add(1)))
		beside.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				wait.Sleep(ctx, time.Duration(r.Int64N(int64(2*pause))))
				if err := do(r, topics[r.IntN(len(topics))]); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	content := func(r *rand.Rand) string { return fmt.Sprint(r.IntN(3000), binary) }

	p, err := producer.New(rdb, producer.Config{})
	must.Do(t, err)
	for range 2 {
		again(2*time.Millisecond, func(r *rand.Rand, topic message.Topic) error {
			var ms []message.Message
			for range 1 + r.IntN(50) {
				ms = append(ms, soon(topic, content(r), time.Duration(1+r.IntN(300))*time.Millisecond))
			}
			_, err := p.SendBatch(ctx, topic, ms)
			return err
		})
	}

	var handled, vanished, takenOver atomic.Int64
	handle := func(_ context.Context, d *consumer.Delivery) error {
		handled.Add(1)
		if d.LastError == "the lease of its worker ended" {
			takenOver.Add(1)
		}
		switch rand.IntN(20) {
		case 0, 1, 2, 3, 4, 5:
			return errors.New("it fails now and then, for \xff reasons")
		case 6:
			return verdict.DeadError(errors.New("poison"))
		case 7:
			wait.Sleep(ctx, time.Duration(rand.IntN(20))*time.Millisecond)
		}
		return nil
	}
	worker := func(rdb redis.UniversalClient) (*consumer.Consumer, error) {
		c, err := consumer.New(rdb, consumer.Config{
			Lease: time.Second, SafetyLook: 100 * time.Millisecond, Backoff: verdict.Schedule(time.Millisecond, 20*time.Millisecond),
		})
		for _, topic := range topics {
			if err == nil {
				err = c.Listen(topic, consumer.ListenerFunc(handle), consumer.ListenOptions{})
			}
		}
		if err == nil {
			err = c.Start(ctx)
		}
		return c, err
	}
	for range 3 { // workers that leave, or lose their connection and never come back
		again(200*time.Millisecond, func(r *rand.Rand, _ message.Topic) error {
			own := connect()
			c, err := worker(own)
			if err != nil {
				return err
			}
			wait.Sleep(ctx, time.Duration(300+r.IntN(1000))*time.Millisecond)
			within, cancel := context.WithCancel(await.CleanupContext(t))
			defer cancel()
			if r.IntN(2) == 0 {
				return c.Close(within)
			}
			_ = own.Close() // with what it holds
			vanished.Add(1)
			cancel()
			_ = c.Close(within)
			return nil
		})
	}
	last, err := worker(rdb)
	must.Do(t, err)

	var requeued, deleted, cancelled, moved atomic.Int64
	again(20*time.Millisecond, func(r *rand.Rand, topic message.Topic) error {
		done, err := i.Dead().Requeue(ctx, topic.Name, DeadQuery{Limit: 1 + r.IntN(300), Newest: r.IntN(2) == 0}, RequeueOptions{})
		requeued.Add(int64(done.Stored))
		return err
	})
	again(100*time.Millisecond, func(r *rand.Rand, topic message.Topic) error {
		n, _, err := i.Dead().Delete(ctx, topic.Name, DeadQuery{Limit: 1 + r.IntN(20)}, nil)
		deleted.Add(int64(n))
		return err
	})
	again(20*time.Millisecond, func(r *rand.Rand, topic message.Topic) error {
		slot := []int{r.IntN(topic.Slots)}
		if _, err := i.Pause(ctx, topic.Name, slot); err != nil {
			return err
		}
		wait.Sleep(ctx, time.Duration(r.IntN(20))*time.Millisecond)
		_, err := i.Resume(ctx, topic.Name, slot)
		return err
	})
	again(time.Millisecond, func(r *rand.Rand, topic message.Topic) error {
		removed, _, err := i.Cancel(ctx, topic.Name, content(r), "")
		if removed {
			cancelled.Add(1)
		}
		return err
	})
	again(time.Millisecond, func(r *rand.Rand, topic message.Topic) error {
		to := Move{In: time.Duration(r.IntN(100)) * time.Millisecond}
		if topic.Kind == message.KindPriority {
			to = Move{Priority: 17 + r.Int64N(1000)}
		}
		_, err := i.Reschedule(ctx, topic.Name, content(r), "", to)
		if err == nil {
			moved.Add(1)
		} else if errors.Is(err, ErrNotWaiting) {
			err = nil
		}
		return err
	})

	runs := 0
	enough := func() bool {
		for _, counted := range []*atomic.Int64{&takenOver, &requeued, &deleted, &cancelled, &moved} {
			if counted.Load() == 0 {
				return false
			}
		}
		return runs >= night.Times(3, 100) && handled.Load() >= 1000
	}
	for ; !enough(); runs++ {
		found, err := i.Verify(ctx, nil, nil)
		must.Do(t, err)
		for _, f := range found {
			t.Errorf("run %d found %+v", runs, f)
		}
		if t.Failed() {
			break
		}
	}
	close(done)
	beside.Wait()
	must.Do(t, errors.Join(last.Close(await.Context(t)), p.Close(ctx)))
	found, err := i.Verify(ctx, nil, nil)
	if err != nil || found != nil {
		t.Errorf("at rest found %v, %v", found, err)
	}
	t.Logf("verified %d times beside %d deliveries, %d of them after a take-over; %d workers vanished, requeued %d, deleted %d, cancelled %d, moved %d",
		runs, handled.Load(), takenOver.Load(), vanished.Load(), requeued.Load(), deleted.Load(), cancelled.Load(), moved.Load())
}

// soon is a message of the topic's kind that is due soon.
func soon(topic message.Topic, content string, in time.Duration) message.Message {
	switch topic.Kind {
	case message.KindPriority:
		return message.Priority{Content: content, Priority: 17 + int64(in%1000)}
	case message.KindRangeMerge:
		return message.RangeMerge{Content: content, Range: in}
	default:
		return message.FixedTime{Content: content, At: time.Now().Add(in + 100*time.Millisecond)}
	}
}
