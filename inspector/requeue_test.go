package inspector

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/consumer"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/servers/wait"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/night"
	"github.com/slotmq/go-rmq/internal/testing/sharetest"
	"github.com/slotmq/go-rmq/internal/worker/verdict"
	"github.com/slotmq/go-rmq/message"
)

// deliveries counts what a listener is given.
type deliveries struct {
	mu  sync.Mutex
	of  map[string]int
	all int
}

func (d *deliveries) note(content string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.of == nil {
		d.of = map[string]int{}
	}
	d.of[content]++
	d.all++
}

func (d *deliveries) total() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.all
}

// A requeue is broken off at 20 random points, and at 100 by night, and taken up again, while a worker handles
// what comes back: each message is delivered exactly once, as a first delivery.
func TestRequeueBrokenOffAgainAndAgain(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient, i *Inspector) {
		const slots, most = 16, 40_000
		random := sharetest.Rand(t)
		topic := define(t, rdb, topicOf(t, message.KindPriority, slots))
		buried := 0
		more := func() { // so that there is always something to be requeued
			for slot := range slots {
				bury(t, rdb, topic, slot, 200, func(n int) (string, time.Time, string) {
					died := noon.Add(time.Duration(n) * time.Millisecond)
					return fmt.Sprintf("%s %d %d %s", name(buried), slot, n, binary), died, whyOf(died, "500", "x")
				})
				buried += 200
			}
		}
		var got deliveries
		work(t, rdb, consumer.Config{}, topic, func(_ context.Context, d *consumer.Delivery) error {
			if d.Attempt != 1 || d.Priority != 500 {
				t.Errorf("attempt %d, priority %d", d.Attempt, d.Priority)
			}
			got.note(d.Content)
			return nil
		})
		var sum Requeued
		add := func(r Requeued) {
			sum.Stored, sum.Merged, sum.Gone, sum.Unknown = sum.Stored+r.Stored, sum.Merged+r.Merged, sum.Gone+r.Gone, sum.Unknown+r.Unknown
		}
		for range night.Times(20, 100) {
			if n, err := i.Dead().Count(ctx, topic.Name, DeadQuery{}); err != nil {
				t.Fatal(err)
			} else if n < 500 && buried < most {
				more()
			}
			breaking, cancel := context.WithCancel(ctx)
			timer := time.AfterFunc(time.Duration(random.IntN(4000))*time.Microsecond, cancel)
			seen := Requeued{}
			r, err := i.Dead().Requeue(breaking, topic.Name, DeadQuery{Newest: random.IntN(2) == 0}, RequeueOptions{
				Rate:     []float64{0, 10_000, 100_000}[random.IntN(3)],
				Progress: func(r Requeued) { seen = r },
			})
			timer.Stop()
			cancel()
			if err != nil && !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			if seen != r {
				t.Errorf("told %+v at last, and %+v after it", seen, r)
			}
			add(r)
		}
		r, err := i.Dead().Requeue(ctx, topic.Name, DeadQuery{}, RequeueOptions{})
		must.Do(t, err)
		add(r)
		if sum != (Requeued{Stored: buried}) {
			t.Errorf("%d were dead, and %+v", buried, sum)
		}
		await.True(t, "all are delivered", func() bool { return got.total() >= buried })
		if len(got.of) != buried || got.all != buried {
			t.Errorf("%d deliveries of %d messages, of %d", got.all, len(got.of), buried)
		}
		if n, err := i.Dead().Count(ctx, topic.Name, DeadQuery{}); err != nil || n != 0 {
			t.Errorf("%d are dead still, %v", n, err)
		}
	})
}

// What lives is left as it is, in every state; the dead copy merges into it.
func TestRequeueLeavesWhatLives(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient, i *Inspector) {
		topic := define(t, rdb, message.Topic{Name: topicOf(t, 0, 0).Name, Kind: message.KindPriority, Slots: 1, Literal: true})
		k := protocol.KeysOf(topic.Name, 0)
		live := map[string][]redis.Z{
			k.Store:   {{Member: "waits", Score: 900}, {Member: "failed", Score: 7}},
			k.Prepare: {{Member: "flies", Score: 1e12 + 16}},
			k.Retry:   {{Member: "retries", Score: 1e14 + 9}},
		}
		for key, zs := range live {
			for _, z := range zs {
				must.Do(t, rdb.ZAdd(ctx, key, z).Err())
				buryOne(t, rdb, topic, 0, z.Member.(string), noon)
			}
		}
		buryOne(t, rdb, topic, 0, "lone", noon)
		r, err := i.Dead().Requeue(ctx, topic.Name, DeadQuery{}, RequeueOptions{})
		if err != nil || r != (Requeued{Stored: 1, Merged: 4}) {
			t.Errorf("%+v, %v", r, err)
		}
		live[k.Store] = []redis.Z{{Member: "failed", Score: 7}, {Member: "lone", Score: 500}, {Member: "waits", Score: 900}}
		live[k.Dead] = []redis.Z{}
		for key, want := range live {
			if zs := rdb.ZRangeWithScores(ctx, key, 0, -1).Val(); !reflect.DeepEqual(zs, want) {
				t.Errorf("%s is %v, want %v", key, zs, want)
			}
		}
		if found, err := i.Verify(ctx, []string{topic.Name}, nil); err != nil || len(found) != 1 || found[0].Rule != "HELD" { // nobody has what is in flight
			t.Errorf("verify: %v, %v", found, err)
		}
	})
}

func TestRequeuePriorities(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient, i *Inspector) {
		topic := define(t, rdb, topicOf(t, message.KindPriority, 4))
		for n := range 30 {
			priority := fmt.Sprint(100 + n)
			if n%3 == 0 {
				priority = "-"
			}
			bury(t, rdb, topic, n%4, 1, func(int) (string, time.Time, string) {
				return name(n), noon.Add(time.Duration(n) * time.Second), whyOf(noon, priority, "x")
			})
		}
		// Those without a priority stay dead, and do not count against the limit.
		r, err := i.Dead().Requeue(ctx, topic.Name, DeadQuery{Limit: 12}, RequeueOptions{})
		if err != nil || r.Stored != 12 || r.Unknown != 6 {
			t.Errorf("%+v, %v", r, err)
		}
		r, err = i.Dead().Requeue(ctx, topic.Name, DeadQuery{}, RequeueOptions{})
		if err != nil || r != (Requeued{Stored: 8, Unknown: 10}) {
			t.Errorf("%+v, %v", r, err)
		}
		r, err = i.Dead().Requeue(ctx, topic.Name, DeadQuery{}, RequeueOptions{Priority: 77})
		if err != nil || r != (Requeued{Stored: 10}) {
			t.Errorf("%+v, %v", r, err)
		}
		for n := range 30 {
			want := float64(100 + n)
			if n%3 == 0 {
				want = 77
			}
			if score := scoreOf(t, rdb, protocol.StoreKey(topic.Name, n%4), name(n)); score != want {
				t.Errorf("%s has priority %v, want %v", name(n), score, want)
			}
		}
	})
}

// What kills is delivered once more, dies again, and is not requeued again by the same call,
// however slow that is.
func TestPoisonDoesNotGoRound(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient, i *Inspector) {
		const n = 60
		topic := topicOf(t, message.KindRangeMerge, 4)
		var got deliveries
		work(t, rdb, consumer.Config{}, topic, func(_ context.Context, d *consumer.Delivery) error {
			got.note(d.Content)
			return verdict.DeadError(errors.New("poison"))
		})
		for n := range n {
			buryOne(t, rdb, topic, n%4, name(n), noon)
		}
		for round := 1; round < 4; round++ {
			r, err := i.Dead().Requeue(ctx, topic.Name, DeadQuery{}, RequeueOptions{Rate: 200})
			if err != nil || r != (Requeued{Stored: n}) {
				t.Errorf("round %d: %+v, %v", round, r, err)
			}
			await.True(t, "all are dead again", func() bool {
				dead, err := i.Dead().Count(ctx, topic.Name, DeadQuery{})
				return err == nil && dead == n
			})
			if total := got.total(); total != round*n {
				t.Errorf("round %d: %d deliveries", round, total)
			}
		}
	})
}

// The rate is kept smoothly: never more than it allows, a tenth of a second's worth at once.
func TestRequeueRate(t *testing.T) {
	t.Parallel()
	rdb, i := onRedis(t, Config{})
	topic := define(t, rdb, topicOf(t, message.KindFixedTime, 8))
	bury := func() {
		for n := range 50 {
			buryOne(t, rdb, topic, n%8, name(n), noon)
		}
	}
	for _, c := range []struct {
		rate  float64
		limit int
		step  int
	}{{100, 0, 10}, {5, 3, 1}, {37, 10, 3}, {1e6, 0, 50}, {0, 0, 50}} {
		bury()
		var steps []int
		begin, before := time.Now(), 0
		r, err := i.Dead().Requeue(ctx, topic.Name, DeadQuery{Limit: c.limit}, RequeueOptions{Rate: c.rate, Progress: func(r Requeued) {
			all := r.Stored + r.Merged
			steps = append(steps, all-before)
			if c.rate > 0 {
				least := time.Duration(float64(before) / c.rate * float64(time.Second))
				if took := time.Since(begin); took < least-wait.Step {
					t.Errorf("rate %v: %d within %v", c.rate, all, took)
				}
			}
			before = all
		}})
		must.Do(t, err)
		want := 50
		if c.limit > 0 {
			want = c.limit
		}
		if r.Stored+r.Merged != want || steps[0] != c.step {
			t.Errorf("rate %v: %+v in steps of %v", c.rate, r, steps)
		}
		_, _, err = i.Dead().Delete(ctx, topic.Name, DeadQuery{}, nil)
		must.Do(t, err)
	}
	for _, rate := range []float64{-1, 1e-9, 1e7} {
		_, err := i.Dead().Requeue(ctx, topic.Name, DeadQuery{}, RequeueOptions{Rate: rate})
		wantError(t, err, message.ErrInvalid, "Rate", topic.Name)
	}
	_, err := i.Dead().Requeue(ctx, topic.Name, DeadQuery{}, RequeueOptions{Priority: 20})
	wantError(t, err, message.ErrInvalid, "Priority", "fixed-time")
	_, err = i.Dead().Requeue(ctx, topic.Name, DeadQuery{Limit: -1}, RequeueOptions{})
	wantError(t, err, message.ErrInvalid, "Limit")
}

// A slow one stops at once when its context ends, with what it has done.
func TestSlowRequeueStopsAtOnce(t *testing.T) {
	t.Parallel()
	rdb, i := onRedis(t, Config{})
	topic := define(t, rdb, topicOf(t, message.KindFixedTime, 1))
	for n := range 5 {
		buryOne(t, rdb, topic, 0, name(n), noon)
	}
	breaking, cancel := context.WithCancel(ctx)
	defer cancel()
	r, err := i.Dead().Requeue(breaking, topic.Name, DeadQuery{}, RequeueOptions{Rate: 0.001, Progress: func(Requeued) { cancel() }})
	wantError(t, err, context.Canceled, topic.Name)
	if r != (Requeued{Stored: 1}) {
		t.Errorf("%+v", r)
	}
}

func TestDeadDelete(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient, i *Inspector) {
		topic := define(t, rdb, topicOf(t, message.KindPriority, 4))
		for slot := range 4 {
			bury(t, rdb, topic, slot, 1000, func(n int) (string, time.Time, string) {
				return name(4*n + slot), noon.Add(time.Duration(n) * time.Second), whyOf(noon, "500", fmt.Sprint("error ", n%2))
			})
		}
		told := 0
		n, _, err := i.Dead().Delete(ctx, topic.Name, DeadQuery{Reason: "error 1", Limit: 1500}, func(n int) { told = n })
		if err != nil || n != 1500 || told != n {
			t.Errorf("%d deleted, %d told, %v", n, told, err)
		}
		n, _, err = i.Dead().Delete(ctx, topic.Name, DeadQuery{Slots: []int{1}}, nil)
		if left, _ := i.Dead().Count(ctx, topic.Name, DeadQuery{}); err != nil || left != 2500-n {
			t.Errorf("%d deleted, %d left, %v", n, left, err)
		}
		breaking, cancel := context.WithCancel(ctx)
		n, _, err = i.Dead().Delete(breaking, topic.Name, DeadQuery{}, func(int) { cancel() })
		wantError(t, err, context.Canceled, "delete", topic.Name)
		if n == 0 || n > 500 {
			t.Errorf("%d deleted", n)
		}
		_, _, err = i.Dead().Delete(ctx, topic.Name, DeadQuery{}, nil)
		must.Do(t, err)
		for slot := range 4 {
			k := protocol.KeysOf(topic.Name, slot)
			if n := rdb.Exists(ctx, k.Dead).Val() + rdb.Exists(ctx, k.Why).Val() + rdb.Exists(ctx, k.Store).Val(); n > 0 {
				t.Errorf("slot %d: %d keys are left", slot, n)
			}
		}
	})
}

// In a namespace workers are woken all the same.
func TestRequeueInANamespace(t *testing.T) {
	t.Parallel()
	rdb, i := onRedis(t, Config{Namespace: "shop"})
	topic := topicOf(t, message.KindPriority, 4)
	handled := make(chan string, 1)
	work(t, rdb, consumer.Config{Namespace: "shop", SafetyLook: time.Hour}, topic, func(_ context.Context, d *consumer.Delivery) error {
		handled <- d.Content
		return nil
	})
	buryOne(t, rdb, message.Topic{Name: "shop:" + topic.Name}, 1, "x", noon)
	if dead := collect(t, i, topic, DeadQuery{}); len(dead) != 1 || dead[0].Content != "x" {
		t.Errorf("%+v", dead)
	}
	r, err := i.Dead().Requeue(ctx, topic.Name, DeadQuery{}, RequeueOptions{})
	if err != nil || r.Stored != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	await.Signal(t, "it is handled", handled)
}
