package rmqprom_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/slotmq/go-rmq/consumer"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/worker/verdict"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/rmq"
	"github.com/slotmq/go-rmq/rmqprom"
)

// newMetrics returns metrics in a registry of their own.
func newMetrics(t testing.TB, cfg rmqprom.Config) (*rmqprom.Metrics, *prometheus.Registry) {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	cfg.Registerer = registry
	m, err := rmqprom.New(cfg)
	must.Do(t, err)
	return m, registry
}

// sent and worked are events with these items.
func sent(topic string, items ...message.Item) *message.Event {
	return &message.Event{Topic: message.Topic{Name: topic, Kind: message.KindFixedTime}, Took: 6 * time.Millisecond, Items: items}
}

func worked(topic string, items ...message.Item) *message.Event {
	e := sent(topic, items...)
	e.Worker = "w1"
	return e
}

// Every event is counted where it belongs, and nothing else is.
func TestWhatIsCounted(t *testing.T) {
	t.Parallel()
	m, registry := newMetrics(t, rmqprom.Config{})
	one := sent("shop:orders",
		message.Item{What: message.Sent}, message.Item{What: message.Merged}, message.Item{What: message.Sent},
		message.Item{What: message.Refused, Err: rmq.ErrQueueFull}, message.Item{What: message.Refused, Err: rmq.ErrUncertain},
		message.Item{What: message.Refused})
	one.Merged = 2
	m.Observe(one)
	m.Observe(sent("mails", message.Item{What: message.Sent}, message.Item{What: message.Duplicate}))

	now := time.UnixMilli(1_800_000_000_000)
	taken := worked("shop:orders",
		message.Item{What: message.Taken, Score: now.Add(-40 * time.Millisecond).UnixMilli()},
		message.Item{What: message.Taken, Score: now.Add(-time.Hour).UnixMilli()},
		message.Item{What: message.Taken, Score: now.Add(time.Millisecond).UnixMilli()}, // below a ms it is not late
		message.Item{What: message.Taken})
	taken.Fence = now.UnixMicro()
	m.Observe(taken)
	const took = 30 * time.Millisecond
	m.Observe(worked("shop:orders",
		message.Item{What: message.Done, Took: took}, message.Item{What: message.Done, Took: 2 * took},
		message.Item{What: message.Failed, Took: took, Err: rmq.ErrTimeout}, message.Item{What: message.Failed, Took: took, Err: errors.New("no")},
		message.Item{What: message.Died, Took: took, Err: rmq.Dead(nil)}, message.Item{What: message.Died, Err: consumer.ErrExpired},
		message.Item{What: message.Snoozed, Took: took}, message.Item{What: message.Dropped}, message.Item{What: message.Dropped, Err: consumer.ErrExpired},
		message.Item{What: message.HandedBack}, message.Item{What: message.HandedBack, Took: took, Err: context.Canceled},
		message.Item{What: message.Overtaken, Took: took}, message.Item{What: message.Overtaken}))
	m.Observe(worked("shop:orders", message.Item{What: message.Moved, Reason: "gained"}, message.Item{What: message.Moved, Reason: "gained"}))
	m.Observe(worked("shop:orders", message.Item{What: message.Moved, Reason: "left"}))
	m.Observe(worked("shop:orders", message.Item{What: message.Probing, Reason: "began"}, message.Item{What: message.Probing, Reason: "began"}))
	m.Observe(worked("shop:orders", message.Item{What: message.Probing, Reason: "ended"}))

	s := scrape(t, registry)
	const orders = " messaging_destination_name=shop:orders "
	s.want(t,
		"messaging_client_sent_messages_total"+orders+"= 6",
		"messaging_client_sent_messages_total"+orders+"messaging_system=rmq messaging_operation_name=send error_type= = 3",
		"messaging_client_sent_messages_total"+orders+"error_type=queue_full = 1",
		"messaging_client_sent_messages_total"+orders+"error_type=uncertain = 1",
		"messaging_client_sent_messages_total"+orders+"error_type=_OTHER = 1",
		"messaging_client_sent_messages_total messaging_destination_name=mails error_type= = 2",
		"messaging_client_operation_duration_seconds"+orders+"messaging_operation_type=send = 6",
		"messaging_client_operation_duration_seconds"+orders+"messaging_operation_type=receive = 1",
		"rmq_merged_total topic=shop:orders = 2",
		"rmq_merged_total topic=mails = 0",
		"rmq_duplicates_total topic=mails = 1",
		"rmq_duplicates_total topic=shop:orders = 0",

		"messaging_client_consumed_messages_total"+orders+"= 8",
		"messaging_client_consumed_messages_total"+orders+"messaging_system=rmq messaging_operation_name=process error_type= = 3",
		"messaging_client_consumed_messages_total"+orders+"error_type=timeout = 1",
		"messaging_client_consumed_messages_total"+orders+"error_type=dead = 1",
		"messaging_client_consumed_messages_total"+orders+"error_type=closing = 1",
		"messaging_client_consumed_messages_total"+orders+"error_type=lease_lost = 1",
		"messaging_client_consumed_messages_total"+orders+"error_type=_OTHER = 1",
		"messaging_process_duration_seconds"+orders+"= 8",
		"rmq_failed_total topic=shop:orders = 2",
		"rmq_dead_total topic=shop:orders = 2",
		"rmq_snoozed_total topic=shop:orders = 1",
		"rmq_dropped_total topic=shop:orders = 2",
		"rmq_expired_total topic=shop:orders = 2",
		"rmq_handed_back_total topic=shop:orders = 2",
		"rmq_taken_over_total topic=shop:orders = 2",
		"rmq_slot_moves_total topic=shop:orders direction=gained = 2",
		"rmq_slot_moves_total topic=shop:orders direction=left = 1",
		"rmq_probing topic=shop:orders = 1",
		"rmq_lateness_seconds topic=shop:orders = 3",
		"rmq_batch_size topic=shop:orders = 1")
	if n := len(s.series("rmq_failed_total", "topic=mails")); n != 0 {
		t.Error("a process that only sends has figures of workers")
	}
	for name, sum := range map[string]float64{"rmq_lateness_seconds": 3600.04, "rmq_batch_size": 4} {
		if got := s.series(name, "topic=shop:orders")[0].GetHistogram().GetSampleSum(); got != sum {
			t.Errorf("%s adds up to %v, want %v", name, got, sum)
		}
	}
	fine := s.series("messaging_process_duration_seconds", "error_type=")[0].GetHistogram()
	if got := fine.GetSampleSum(); got < 0.1199 || got > 0.1201 {
		t.Errorf("handlers had what did not fail for %v s", got)
	}
}

// Values are in the first bucket whose bound they do not exceed.
func TestBuckets(t *testing.T) {
	t.Parallel()
	m, registry := newMetrics(t, rmqprom.Config{})
	for _, took := range []time.Duration{time.Microsecond, 5 * time.Millisecond, 5*time.Millisecond + 1, 10 * time.Second, 11 * time.Second, time.Hour} {
		m.Observe(worked("orders", message.Item{What: message.Done, Took: took}))
	}
	counts := map[float64]uint64{}
	for _, b := range scrape(t, registry).series("messaging_process_duration_seconds")[0].GetHistogram().GetBucket() {
		counts[b.GetUpperBound()] = b.GetCumulativeCount()
	}
	for bound, want := range map[float64]uint64{0.005: 2, 0.01: 3, 7.5: 3, 10: 4} {
		if counts[bound] != want {
			t.Errorf("%d values up to %v s, want %d", counts[bound], bound, want)
		}
	}
}

// A topic's name that came from outside costs no series without end.
func TestTopicsAreBounded(t *testing.T) {
	t.Parallel()
	m, registry := newMetrics(t, rmqprom.Config{MaxTopics: 3})
	for i := range 100 {
		m.Observe(sent(fmt.Sprint("topic-", i), message.Item{What: message.Sent}))
	}
	s := scrape(t, registry)
	if n := len(s.series("messaging_client_sent_messages_total")); n != 4 {
		t.Errorf("%d series", n)
	}
	s.want(t, "messaging_client_sent_messages_total messaging_destination_name=topic-2 = 1",
		"messaging_client_sent_messages_total messaging_destination_name=_OTHER = 97")
}

// Whatever errors come, error_type has only the words that are written down.
func TestErrorTypesAreBounded(t *testing.T) {
	t.Parallel()
	words := strings.Fields("timeout cancelled lease_lost closing panic dead expired invalid topic_conflict uncertain not_replicated queue_full oom pushed_back _OTHER")
	m, registry := newMetrics(t, rmqprom.Config{})
	for _, err := range []error{
		rmq.ErrTimeout, rmq.ErrCancelled, rmq.ErrLeaseLost, rmq.ErrClosing, verdict.ErrPanic, rmq.Dead(nil), rmq.ErrInvalid, rmq.ErrTopicConflict,
		rmq.ErrUncertain, rmq.ErrNotReplicated, rmq.ErrQueueFull, verdict.ErrPushedBack, consumer.ErrExpired, errors.New("no such order 4711"), errors.New("no such order 4712"), nil,
	} {
		m.Observe(worked("orders", message.Item{What: message.Failed, Took: 1, Err: err, Reason: "x"}))
	}
	var got []string
	for _, series := range scrape(t, registry).series("messaging_client_consumed_messages_total") {
		for _, l := range series.GetLabel() {
			if l.GetName() == "error_type" && l.GetValue() != "" {
				got = append(got, l.GetValue())
			}
		}
	}
	slices.Sort(got)
	slices.Sort(words)
	words = slices.DeleteFunc(words, func(w string) bool { return w == "oom" }) // which only Redis can say
	if !slices.Equal(got, words) {
		t.Errorf("error types %q, want %q", got, words)
	}
}

// Events come from several goroutines at a time, while Prometheus asks.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	m, registry := newMetrics(t, rmqprom.Config{})
	var all sync.WaitGroup
	for g := range 8 {
		all.Go(func() {
			for i := range 500 {
				topic := fmt.Sprint("topic-", i%7)
				if g%2 == 0 {
					m.Observe(sent(topic, message.Item{What: message.Sent}))
				} else {
					m.Observe(worked(topic, message.Item{What: message.Done, Took: 1}))
				}
			}
		})
	}
	all.Go(func() {
		for range 20 {
			_, err := registry.Gather()
			must.Do(t, err)
		}
	})
	all.Wait()
	scrape(t, registry).want(t, "messaging_client_sent_messages_total = 2000", "messaging_client_consumed_messages_total = 2000")
}

// An event costs no memory, so that metrics do not keep the garbage collector busy.
func TestEventsCostNoMemory(t *testing.T) {
	m, _ := newMetrics(t, rmqprom.Config{})
	out := sent("orders", message.Item{What: message.Sent}, message.Item{What: message.Merged})
	in := worked("orders", message.Item{What: message.Taken, Score: 17}, message.Item{What: message.Done, Took: 1}, message.Item{What: message.HandedBack})
	m.Observe(out)
	m.Observe(in)
	if n := testing.AllocsPerRun(100, func() { m.Observe(out); m.Observe(in) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// Handlers count while they run, also one that panics.
func TestHandlersRunning(t *testing.T) {
	t.Parallel()
	m, registry := newMetrics(t, rmqprom.Config{})
	const gauge = "rmq_handlers_running"
	if _, there := scrape(t, registry)[gauge]; there {
		t.Error("without the middleware it is not known how many handlers run")
	}
	during := -1.0
	handler := m.Middleware(consumer.ListenerFunc(func(context.Context, *consumer.Delivery) error {
		during = scrape(t, registry).value(gauge)
		panic("out of ink")
	}))
	func() {
		defer func() { _ = recover() }()
		_ = handler.OnMessage(ctx, &consumer.Delivery{})
	}()
	if after := scrape(t, registry).value(gauge); during != 1 || after != 0 {
		t.Errorf("%v ran, and %v afterwards", during, after)
	}
}

func TestBadConfigs(t *testing.T) {
	t.Parallel()
	_, err := rmqprom.New(rmqprom.Config{Registerer: prometheus.NewRegistry(), MaxTopics: -1})
	if !errors.Is(err, rmq.ErrInvalid) {
		t.Error(err)
	}
	registry := prometheus.NewRegistry()
	_, err = rmqprom.New(rmqprom.Config{Registerer: registry})
	must.Do(t, err)
	_, err = rmqprom.New(rmqprom.Config{Registerer: registry})
	if already := (prometheus.AlreadyRegisteredError{}); !errors.As(err, &already) {
		t.Errorf("a second one in the same registry: %v", err)
	}
}
