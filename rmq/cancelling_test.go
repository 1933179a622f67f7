package rmq_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/hash"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/rmq"
)

// outcomes is an observer that passes on what becomes of messages.
func outcomes(what ...message.What) (message.Observer, <-chan message.Item) {
	seen := make(chan message.Item, 1000)
	return message.ObserverFunc(func(e *message.Event) {
		for _, item := range e.Items {
			for _, w := range what {
				if item.What == w {
					seen <- item
				}
			}
		}
	}), seen
}

func nextItem(t *testing.T, seen <-chan message.Item) message.Item {
	t.Helper()
	return await.Signal(t, "something is observed", seen)
}

// ended are all fates of a delivery but taken.
var ended = []message.What{message.Done, message.Failed, message.Died, message.Dropped, message.HandedBack, message.Snoozed}

// A message that is being handled is cancelled: its handler sees why, and however it ends, the
// message does not come again. A later send of the same content does.
func TestRunningMessageIsCancelled(t *testing.T) {
	t.Parallel()
	onEachWay(t, func(t *testing.T, rdb redis.UniversalClient, cfg rmq.Config) {
		for _, parallel := range []bool{false, true} {
			observes, seen := outcomes(ended...)
			cfg.Observers, cfg.Lease, cfg.Backoff = []rmq.Observer{observes}, time.Hour, rmq.Schedule(time.Millisecond)
			client := opened(t, cfg)
			jobs := rmq.Topic{Name: fmt.Sprint("jobs-", parallel), Kind: rmq.KindPriority, Slots: 1}
			running := make(chan string, 100)
			must.Do(t, client.Listen(jobs, rmq.ListenerFunc(func(ctx context.Context, d *rmq.Delivery) error {
				running <- d.Content
				<-ctx.Done()
				if !errors.Is(context.Cause(ctx), rmq.ErrCancelled) {
					t.Errorf("%s: %v", d.Content, context.Cause(ctx))
				}
				switch d.Content {
				case "dead":
					return rmq.Dead(errors.New("no"))
				case "later":
					return rmq.Later(time.Hour)
				case "nil":
					return nil
				case "panic":
					panic("no")
				}
				return ctx.Err()
			}), rmq.ListenOptions{Parallel: parallel}))
			begin(t, client)
			for round := range 2 { // the second time it is another send of the same content
				for _, content := range []string{"fails", "dead", "later", "panic", "nil"} {
					_, err := client.Send(context.Background(), jobs, rmq.Priority{Content: content, Priority: 50})
					must.Do(t, err)
					if got := await.Signal(t, "it is handled", running); got != content {
						t.Fatalf("%s is handled instead of %s", got, content)
					}
					removed, asked, err := client.Cancel(context.Background(), jobs, content, "")
					if removed || !asked || err != nil {
						t.Errorf("removed %v, asked %v, %v", removed, asked, err)
					}
					item := nextItem(t, seen)
					want := message.Dropped
					if content == "nil" {
						want = message.Done
					}
					if item.What != want || item.Content != content || want == message.Dropped && !errors.Is(item.Err, rmq.ErrCancelled) {
						t.Errorf("round %d: %s: %+v", round, content, item)
					}
				}
			}
			k := protocol.KeysOf(jobs.Name, 0)
			if n := rdb.Exists(context.Background(), k.Store, k.Prepare, k.Retry, k.Dead, k.Why).Val(); n > 0 && rdb.ZCard(context.Background(), k.Prepare).Val() == 0 {
				t.Errorf("%d keys are left", n)
			}
			if removed, asked, err := client.Cancel(context.Background(), jobs, "fails", ""); removed || asked || err != nil {
				t.Errorf("nothing is there: removed %v, asked %v, %v", removed, asked, err)
			}
			must.Do(t, client.Close(context.Background()))
		}
	})
}

// Neighbours in the batch are not hit: not the one that runs, nor those that wait for it.
func TestNeighboursOfACancelledMessage(t *testing.T) {
	t.Parallel()
	onOneAndMany(t, func(t *testing.T, rdb redis.UniversalClient) {
		ctx := context.Background()
		observes, seen := outcomes(ended...)
		log, await := heard(t)
		client := opened(t, rmq.Config{Redis: rdb, Observers: []rmq.Observer{observes}, Logger: log})
		jobs := rmq.Topic{Name: "jobs", Kind: rmq.KindPriority, Slots: 1}
		running, goOn := make(chan string, 100), make(chan struct{})
		must.Do(t, client.Listen(jobs, rmq.ListenerFunc(func(ctx context.Context, d *rmq.Delivery) error {
			running <- d.Content
			<-goOn
			return context.Cause(ctx)
		}), rmq.ListenOptions{}))
		ms := make([]rmq.Message, 5)
		for i := range ms {
			ms[i] = rmq.Priority{Content: fmt.Sprint(i), Priority: int64(100 - i)}
		}
		_, err := client.SendBatch(ctx, jobs, ms)
		must.Do(t, err)
		begin(t, client)
		<-running // "0", and the others wait behind it in the batch
		k := protocol.KeysOf("jobs", 0)
		if n := rdb.ZCard(ctx, k.Prepare).Val(); n != 5 {
			t.Fatalf("%d in flight", n)
		}
		for _, content := range []string{"1", "3", "4"} {
			_, asked, err := client.Cancel(ctx, jobs, content, "")
			if !asked || err != nil {
				t.Errorf("asked %v, %v", asked, err)
			}
		}
		await(3)
		close(goOn)
		got := map[string]message.What{}
		for len(got) < 5 {
			if item := nextItem(t, seen); item.What != message.HandedBack { // by a batch that takes long: it comes again
				got[item.Content] = item.What
			}
		}
		for content, want := range map[string]message.What{"0": message.Done, "1": message.Dropped, "2": message.Done, "3": message.Dropped, "4": message.Dropped} {
			if got[content] != want {
				t.Errorf("%s: %v, not %v", content, got[content], want)
			}
		}
		close(running)
		for content := range running {
			if content != "2" {
				t.Errorf("%s was handled", content)
			}
		}
	})
}

// A batch that takes long hands back what has not begun, but not what was cancelled.
func TestCancelledIsNotHandedBack(t *testing.T) {
	t.Parallel()
	rdb := servertest.Redis(t).Client(t)
	ctx := context.Background()
	observes, seen := outcomes(ended...)
	log, await := heard(t)
	client := opened(t, rmq.Config{Redis: rdb, Observers: []rmq.Observer{observes}, Logger: log})
	jobs := rmq.Topic{Name: "jobs", Kind: rmq.KindPriority, Slots: 1}
	running, long := make(chan struct{}), make(chan struct{})
	must.Do(t, client.Listen(jobs, rmq.ListenerFunc(func(_ context.Context, d *rmq.Delivery) error {
		if d.Content == "runs" {
			close(running)
			<-long
		}
		return nil
	}), rmq.ListenOptions{}))
	_, err := client.SendBatch(ctx, jobs, []rmq.Message{
		rmq.Priority{Content: "runs", Priority: 70}, rmq.Priority{Content: "goes back", Priority: 60}, rmq.Priority{Content: "cancelled", Priority: 50},
	})
	must.Do(t, err)
	begin(t, client)
	<-running
	_, asked, err := client.Cancel(ctx, jobs, "cancelled", "")
	if !asked || err != nil {
		t.Error(asked, err)
	}
	await(1)
	time.AfterFunc(1100*time.Millisecond, func() { close(long) }) // after which a batch ends early
	got := map[string][]message.What{}
	for range 4 {
		item := nextItem(t, seen)
		got[item.Content] = append(got[item.Content], item.What)
	}
	if want := "map[cancelled:[dropped] goes back:[handed back done] runs:[done]]"; fmt.Sprint(got) != want {
		t.Errorf("%v, not %s", got, want)
	}
}

// A wake-up that is lost costs time: the next renewal of the lease shows the request.
func TestCancelWithoutAWakeUp(t *testing.T) {
	t.Parallel()
	onEachWay(t, func(t *testing.T, rdb redis.UniversalClient, cfg rmq.Config) {
		ctx := context.Background()
		cfg.Lease = 9 * time.Second // of which 5 s are left when it is renewed, for a worker that stands still
		client := opened(t, cfg)
		jobs := rmq.Topic{Name: "jobs", Kind: rmq.KindPriority, Slots: 4}
		running, cause := make(chan struct{}), make(chan error, 1)
		must.Do(t, client.Listen(jobs, rmq.ListenerFunc(func(ctx context.Context, d *rmq.Delivery) error {
			close(running)
			<-ctx.Done()
			cause <- context.Cause(ctx)
			return ctx.Err()
		}), rmq.ListenOptions{}))
		begin(t, client)
		_, err := client.Send(ctx, jobs, rmq.Priority{Content: "m", Priority: 50})
		must.Do(t, err)
		await.Signal(t, "it is handled", running)
		k := protocol.KeysOf("jobs", hash.Slot("m", 4))
		_, flying, err := protocol.New(rdb).Cancel(ctx, k, false, "m") // which publishes nothing
		if !flying || err != nil {
			t.Fatal(flying, err)
		}
		if err := await.Signal(t, "the handler is cancelled", cause); !errors.Is(err, rmq.ErrCancelled) {
			t.Error(err)
		}
		await.True(t, "it is gone", func() bool { return rdb.Exists(ctx, k.Store, k.Prepare, k.Retry, k.Dead).Val() == 0 })
	})
}

// A handler that takes no notice ends its message, too, and a batch listener is not disturbed
// by a message of many.
func TestCancelledWithoutNotice(t *testing.T) {
	t.Parallel()
	onOneAndMany(t, func(t *testing.T, rdb redis.UniversalClient) {
		ctx := context.Background()
		for _, together := range []bool{false, true} {
			observes, seen := outcomes(ended...)
			log, await := heard(t)
			client := opened(t, rmq.Config{Redis: rdb, Observers: []rmq.Observer{observes}, Logger: log})
			jobs := rmq.Topic{Name: fmt.Sprint("jobs-", together), Kind: rmq.KindPriority, Slots: 1}
			running, goOn := make(chan struct{}, 10), make(chan struct{})
			handle := func(ctx context.Context) error {
				running <- struct{}{}
				<-goOn
				if together && ctx.Err() != nil {
					t.Errorf("a batch is cancelled: %v", context.Cause(ctx))
				}
				return errors.New("failed")
			}
			if together {
				must.Do(t, client.ListenBatch(jobs, rmq.BatchFunc(func(ctx context.Context, _ *rmq.Batch) error { return handle(ctx) }), rmq.BatchOptions{}))
			} else {
				must.Do(t, client.Listen(jobs, rmq.ListenerFunc(func(ctx context.Context, _ *rmq.Delivery) error { return handle(ctx) }), rmq.ListenOptions{}))
			}
			_, err := client.SendBatch(ctx, jobs, []rmq.Message{rmq.Priority{Content: "m", Priority: 60}, rmq.Priority{Content: "n", Priority: 50}})
			must.Do(t, err)
			begin(t, client)
			<-running
			_, asked, err := client.Cancel(ctx, jobs, "m", "")
			if !asked || err != nil {
				t.Error(asked, err)
			}
			await(1)
			close(goOn)
			got := map[string]message.What{}
			for len(got) < 2 {
				if item := nextItem(t, seen); item.What != message.HandedBack { // as above
					got[item.Content] = item.What
				}
			}
			if got["m"] != message.Dropped || got["n"] != message.Failed {
				t.Errorf("together %v: %v", together, got)
			}
			must.Do(t, client.Close(ctx))
		}
	})
}

// heard is a logger, and a function that waits until workers have heard of so many cancelled
// messages.
func heard(t *testing.T) (*zap.Logger, func(n int)) {
	core, lines := observer.New(zap.InfoLevel)
	return zap.New(core), func(n int) {
		t.Helper()
		await.True(t, "the worker has heard of it", func() bool {
			return lines.FilterMessage("a message is cancelled that is in flight").Len() >= n
		})
	}
}
