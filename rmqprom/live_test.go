package rmqprom_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/rmq"
	"github.com/slotmq/go-rmq/rmqprom"
)

// becomes scrapes until what is asked for has that value.
func becomes(t testing.TB, scraping func() scraped, value float64, name string, labels ...string) (s scraped) {
	t.Helper()
	await.True(t, fmt.Sprintf("%s %s is %v", name, labels, value), func() bool {
		s = scraping()
		return s.value(name, labels...) == value
	})
	return s
}

// The story of examples/quickstart: 1,000 price changes of 50 items are 50 deliveries. 950 of
// 1,000 merged, and /metrics says so.
func TestMergeRatioOfTheQuickstart(t *testing.T) {
	t.Parallel()
	for name, rdb := range map[string]redis.UniversalClient{"redis": servertest.Redis(t).Client(t), "cluster": servertest.Cluster(t, 2, 0).Client(t)} {
		t.Run(name, func(t *testing.T) {
			const items, rounds = 50, 20
			metrics, registry := newMetrics(t, rmqprom.Config{})
			client := newClient(t, rmq.Config{Redis: rdb, Namespace: "shop", Observers: []rmq.Observer{metrics}})
			prices := rmq.Topic{Name: "prices", Kind: rmq.KindRangeMerge, Slots: 16}
			must.Do(t, client.Listen(prices, rmq.ListenerFunc(func(context.Context, *rmq.Delivery) error { return nil }), rmq.ListenOptions{Due: true}))
			// Long enough for all rounds: what comes after a delivery is a new message.
			const window = time.Hour
			for range rounds {
				changes := make([]rmq.Message, items)
				for i := range changes {
					changes[i] = rmq.RangeMerge{Content: fmt.Sprint("item ", i), Range: window}
				}
				_, err := client.SendBatch(ctx, prices, changes)
				must.Do(t, err)
			}
			for slot := range prices.Slots { // the hour goes by
				store := protocol.KeysOf("shop:prices", slot).Store
				for _, item := range rdb.ZRange(ctx, store, 0, -1).Val() {
					must.Do(t, rdb.ZAddXX(ctx, store, redis.Z{Score: float64(time.Now().UnixMilli() - 1), Member: item}).Err())
				}
			}
			must.Do(t, client.Start(ctx))
			s := becomes(t, func() scraped { return scrape(t, registry) }, items, "messaging_client_consumed_messages_total")
			s.want(t,
				"messaging_client_sent_messages_total messaging_destination_name=shop:prices error_type= = 1000",
				"rmq_merged_total topic=shop:prices = 950",
				"messaging_client_consumed_messages_total messaging_destination_name=shop:prices error_type= = 50",
				"messaging_process_duration_seconds messaging_destination_name=shop:prices = 50",
				"rmq_lateness_seconds topic=shop:prices = 50")
			if ratio := s.value("rmq_merged_total") / s.value("messaging_client_sent_messages_total"); ratio != 0.95 {
				t.Errorf("the merge ratio is %v", ratio)
			}
			late := s.series("rmq_lateness_seconds")[0].GetHistogram().GetSampleSum()
			if late <= 0 || late > items*await.Patience.Seconds() {
				t.Errorf("all together were late by %v s", late)
			}
		})
	}
}

// What handlers do is counted by what became of it, with the error that they had.
func TestDeliveriesThatFail(t *testing.T) {
	t.Parallel()
	metrics, registry := newMetrics(t, rmqprom.Config{})
	client := newClient(t, rmq.Config{
		Redis: servertest.Redis(t).Client(t), Observers: []rmq.Observer{metrics}, Middleware: []rmq.Middleware{metrics.Middleware},
		Backoff: rmq.Schedule(time.Millisecond), Timeout: 10 * time.Second, // long enough for those that return

	})
	jobs := rmq.Topic{Name: "jobs", Kind: rmq.KindPriority, Slots: 8}
	must.Do(t, client.Listen(jobs, rmq.ListenerFunc(func(ctx context.Context, d *rmq.Delivery) error {
		switch {
		case d.Content == "dead":
			return rmq.Dead(errors.New("no such job"))
		case d.Attempt > 1:
			return nil
		case d.Content == "panic":
			panic("out of ink")
		case d.Content == "timeout":
			<-ctx.Done()
			return ctx.Err()
		case d.Content == "full":
			return fmt.Errorf("send the next step: %w", rmq.ErrQueueFull)
		}
		return errors.New("no luck")
	}), rmq.ListenOptions{}))
	must.Do(t, client.Start(ctx))
	for _, content := range []string{"dead", "panic", "timeout", "full", "other"} {
		_, err := client.Send(ctx, jobs, rmq.Priority{Content: content, Priority: 100})
		must.Do(t, err)
	}
	s := becomes(t, func() scraped { return scrape(t, registry) }, 9, "messaging_client_consumed_messages_total")
	const consumed = "messaging_client_consumed_messages_total "
	s.want(t, "rmq_failed_total = 4", "rmq_dead_total = 1", consumed+"error_type= = 4", consumed+"error_type=dead = 1", consumed+"error_type=panic = 1",
		consumed+"error_type=timeout = 1", consumed+"error_type=queue_full = 1", consumed+"error_type=_OTHER = 1",
		"rmq_slot_moves_total direction=gained = 8", "rmq_handlers_running = 0", "rmq_taken_over_total = 0")
	if n := len(s.series("rmq_lateness_seconds")); n != 0 {
		t.Error("a priority topic knows no lateness")
	}
}

// What is put back, is too late, or was taken and not begun is no failure, and counted as
// what it is.
func TestDeliveriesThatDoNotCount(t *testing.T) {
	t.Parallel()
	metrics, registry := newMetrics(t, rmqprom.Config{})
	rdb := servertest.Redis(t).Client(t)
	client := newClient(t, rmq.Config{Redis: rdb, Observers: []rmq.Observer{metrics}})
	jobs := rmq.Topic{Name: "jobs", Kind: rmq.KindFixedTime, Slots: 1}
	put, begun, leave := false, make(chan struct{}), make(chan struct{})
	must.Do(t, client.Listen(jobs, rmq.ListenerFunc(func(_ context.Context, d *rmq.Delivery) error {
		switch {
		case d.Content == "not yet" && !put:
			put = true
			return rmq.Later(time.Millisecond)
		case d.Content == "long":
			close(begun)
			<-leave
		}
		return nil
	}), rmq.ListenOptions{MaxLate: time.Hour, Expired: rmq.ExpiredDrop}))
	must.Do(t, client.Start(ctx))
	now := func() scraped { return scrape(t, registry) }

	due := float64(time.Now().Add(-2 * time.Hour).UnixMilli()) // which a Send refuses
	must.Do(t, rdb.ZAdd(ctx, protocol.StoreKey(jobs.Name, 0), redis.Z{Member: "too late", Score: due}).Err())
	_, err := client.Send(ctx, jobs, rmq.FixedTime{Content: "not yet", At: time.Now()})
	must.Do(t, err)
	becomes(t, now, 2, "messaging_client_consumed_messages_total", "error_type=")
	becomes(t, now, 1, "rmq_dropped_total").want(t, "rmq_expired_total = 1", "rmq_snoozed_total = 1", "rmq_failed_total = 0", "rmq_dead_total = 0")

	// One runs, and the others of its batch have not begun when the worker closes.
	_, err = client.SendBatch(ctx, jobs, []rmq.Message{
		rmq.FixedTime{Content: "long", At: time.Now().Add(-3 * time.Second)}, rmq.FixedTime{Content: "a", At: time.Now().Add(-2 * time.Second)},
		rmq.FixedTime{Content: "b", At: time.Now().Add(-time.Second)}})
	must.Do(t, err)
	await.Signal(t, "one runs", begun)
	closed := make(chan error)
	go func() { closed <- client.Close(ctx) }()
	becomes(t, now, 1, "rmq_slot_moves_total", "direction=gained") // it is still there
	close(leave)
	must.Do(t, await.Signal(t, "it is closed", closed))
	s := now()
	s.want(t, "rmq_slot_moves_total direction=left = 1", "rmq_slot_moves_total direction=gained = 1", "rmq_taken_over_total = 0")
	handled, back := s.value("messaging_client_consumed_messages_total"), s.value("rmq_handed_back_total")
	// Others of the batch may begin before Close is heard, or not be in it where the machine is slow.
	left := float64(rdb.ZCard(ctx, protocol.StoreKey(jobs.Name, 0)).Val())
	if handled < 3 || handled+left != 5 || back > left {
		t.Errorf("%v handled, %v handed back, %v left", handled, back, left)
	}
}

// The messages of a batch listener are counted one by one, and its calls as handlers.
func TestBatchListeners(t *testing.T) {
	t.Parallel()
	metrics, registry := newMetrics(t, rmqprom.Config{})
	client := newClient(t, rmq.Config{
		Redis: servertest.Redis(t).Client(t), Observers: []rmq.Observer{metrics}, BatchMiddleware: []rmq.BatchMiddleware{metrics.BatchMiddleware},
	})
	jobs := rmq.Topic{Name: "jobs", Kind: rmq.KindPriority, Slots: 1}
	begun, leave := make(chan struct{}), make(chan struct{})
	must.Do(t, client.ListenBatch(jobs, rmq.BatchFunc(func(_ context.Context, b *rmq.Batch) error {
		begun <- struct{}{}
		<-leave
		for i, d := range b.Messages {
			if d.Content == "job 7" {
				b.Dead(i, errors.New("no such job"))
			}
		}
		return nil
	}), rmq.BatchOptions{}))
	messages := make([]rmq.Message, 20)
	for i := range messages {
		messages[i] = rmq.Priority{Content: fmt.Sprint("job ", i), Priority: 100}
	}
	_, err := client.SendBatch(ctx, jobs, messages)
	must.Do(t, err)
	must.Do(t, client.Start(ctx))
	<-begun
	if n := scrape(t, registry).value("rmq_handlers_running"); n != 1 {
		t.Errorf("%v handlers run", n)
	}
	go func() {
		for range begun { // the other calls
		}
	}()
	defer close(begun)
	close(leave)
	s := becomes(t, func() scraped { return scrape(t, registry) }, 20, "messaging_client_consumed_messages_total")
	s.want(t, "messaging_client_consumed_messages_total error_type= = 19", "messaging_client_consumed_messages_total error_type=dead = 1", "rmq_dead_total = 1")
	becomes(t, func() scraped { return scrape(t, registry) }, 0, "rmq_handlers_running")
}

// How many handlers of a topic may run is shown of all clients of a process together, while they
// work: fewer while the topic rests.
func TestHandlersAllowed(t *testing.T) {
	t.Parallel()
	metrics, registry := newMetrics(t, rmqprom.Config{})
	rdb := servertest.Redis(t).Client(t)
	jobs := rmq.Topic{Name: "jobs", Kind: rmq.KindPriority, Slots: 8}
	now, client := func() scraped { return scrape(t, registry) }, [2]*rmq.Client{}
	for i, handlers := range []int{5, 3} {
		client[i] = newClient(t, rmq.Config{Redis: rdb, Namespace: "shop", Observers: []rmq.Observer{metrics}})
		must.Do(t, client[i].Listen(jobs, rmq.ListenerFunc(func(context.Context, *rmq.Delivery) error {
			return rmq.Pushback(time.Hour, errors.New("full"))
		}), rmq.ListenOptions{Concurrency: handlers}))
		if i == 0 {
			if _, there := now()["rmq_handlers_allowed"]; there {
				t.Error("before the start it is known how many may run")
			}
		}
		must.Do(t, client[i].Start(ctx))
	}
	becomes(t, now, 8, "rmq_handlers_allowed", "topic=shop:jobs")
	must.Do(t, client[0].Close(ctx))
	now().want(t, "rmq_handlers_allowed topic=shop:jobs = 3")
	_, err := client[1].Send(ctx, jobs, rmq.Priority{Content: "x", Priority: 17})
	must.Do(t, err)
	becomes(t, now, 0, "rmq_handlers_allowed", "topic=shop:jobs").want(t, "rmq_handlers_allowed topic=shop:jobs = 0")
	must.Do(t, client[1].Close(ctx))
	if _, there := now()["rmq_handlers_allowed"]; there {
		t.Error("a client that is closed is shown")
	}
}
