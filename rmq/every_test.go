package rmq_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/slotmq/go-rmq/inspector/plans"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/rmq"
)

// times has the messages of a topic handled, and passes on their contents.
func times(t *testing.T, client *rmq.Client, topic rmq.Topic) <-chan string {
	t.Helper()
	handled := make(chan string, 1000)
	must.Do(t, client.Listen(topic, rmq.ListenerFunc(func(_ context.Context, d *rmq.Delivery) error {
		handled <- d.Content
		return nil
	}), rmq.ListenOptions{}))
	return handled
}

func nextTime(t *testing.T, handled <-chan string, content string) {
	t.Helper()
	if got := await.Signal(t, content+" is handled", handled); got != content {
		t.Fatalf("%s is handled, not %s", got, content)
	}
}

func plansOf(t *testing.T, client *rmq.Client, topic rmq.Topic) []plans.Plan {
	t.Helper()
	all, err := client.Plans(context.Background(), topic)
	must.Do(t, err)
	return all
}

// A message is sent again and again by whoever works at its topic, also where the plan was set
// before any worker came, and by a client that is none. Each is a send for who observes.
func TestEverySendsAgainAndAgain(t *testing.T) {
	t.Parallel()
	onEachWay(t, func(t *testing.T, rdb redis.UniversalClient, cfg rmq.Config) {
		ctx := context.Background()
		for _, topic := range []rmq.Topic{
			{Name: "reports", Kind: rmq.KindFixedTime}, {Name: "merged", Kind: rmq.KindRangeMerge, Notes: true}, {Name: "jobs", Kind: rmq.KindPriority, Literal: true},
		} {
			each := rmq.Recurring{Name: "before", Content: "before", Period: 100 * time.Millisecond}
			if topic.Kind == rmq.KindPriority {
				each.Priority = 50
			}
			setter := opened(t, rmq.Config{Redis: rdb})
			must.Do(t, setter.Every(ctx, topic, each))
			observes, seen := outcomes(message.Sent)
			own := cfg
			own.SafetyLook, own.Observers = time.Hour, []rmq.Observer{observes}
			worker := opened(t, own)
			handled := times(t, worker, topic)
			begin(t, worker)
			for range 3 {
				nextTime(t, handled, "before")
				if item := nextItem(t, seen); item.Content != "before" || item.Score == 0 {
					t.Errorf("%+v", item)
				}
			}
			must.Do(t, worker.StopEvery(ctx, topic, "before"))
			if all := plansOf(t, setter, topic); len(all) > 0 {
				t.Errorf("%+v", all)
			}
			each.Name, each.Content = "after", "after"
			must.Do(t, setter.Every(ctx, topic, each))
			for content := ""; content != "after"; { // what was sent before may come first
				content = await.Signal(t, "the worker hears of it", handled)
			}
			must.Do(t, worker.Close(ctx))
		}
	})
}

// The same rule goes on, another one takes its place, wherever it lives, and what has come to its
// end does not begin again by a declaration.
func TestEveryIsDeclaredAtEachStart(t *testing.T) {
	t.Parallel()
	onOneAndMany(t, func(t *testing.T, rdb redis.UniversalClient) {
		ctx := context.Background()
		core, lines := observer.New(zap.WarnLevel)
		client := opened(t, rmq.Config{Redis: rdb, Namespace: "shop", Logger: zap.New(core)})
		topic := rmq.Topic{Name: "reports", Kind: rmq.KindFixedTime}
		rule := rmq.Recurring{Name: "nightly", Content: "report", Cron: "0 3 * * *", Zone: "Europe/Berlin", Missed: rmq.MissedSkip}
		must.Do(t, client.Every(ctx, topic, rule))
		first := plansOf(t, client, topic)
		if len(first) != 1 || first[0].Recurring != rule || first[0].Ended || first[0].Err != nil || first[0].Next.Sub(first[0].Set) > 25*time.Hour {
			t.Fatalf("%+v", first)
		}
		must.Do(t, client.Every(ctx, topic, rule))
		if again := plansOf(t, client, topic); !slices.Equal(again, first) {
			t.Errorf("%+v, and then %+v", first, again)
		}
		said := func() int { return lines.FilterMessage("a plan has another rule now").Len() }
		if said() > 0 {
			t.Errorf("%v", lines.All())
		}
		k := protocol.KeysOf(protocol.Qualify("shop", topic.Name), first[0].Slot).Plans(false)
		must.Do(t, rdb.ZAdd(ctx, k.Plan, redis.Z{Member: rule.Name, Score: float64(time.Now().AddDate(10, 0, 0).UnixMilli())}).Err())
		must.Do(t, client.Every(ctx, topic, rule)) // a clock was ten years ahead
		if now := plansOf(t, client, topic); len(now) != 1 || !now[0].Next.Equal(first[0].Next) || lines.FilterMessageSnippet("it begins now").Len() != 1 {
			t.Errorf("%+v, %v", now, lines.All())
		}
		rule.Cron = "0 4 * * *"
		must.Do(t, client.Every(ctx, topic, rule))
		if now := plansOf(t, client, topic); len(now) != 1 || now[0].Recurring != rule || said() != 1 {
			t.Errorf("%+v, %d lines", now, said())
		}
		rule.Content = "another report" // in another slot
		must.Do(t, client.Every(ctx, topic, rule))
		if now := plansOf(t, client, topic); len(now) != 1 || now[0].Recurring != rule || now[0].Slot == first[0].Slot || said() != 2 {
			t.Errorf("%+v, %d lines", now, said())
		}

		once := rmq.Recurring{Name: "once", Content: "once", Delay: time.Millisecond}
		must.Do(t, client.Every(ctx, topic, once))
		handled := times(t, client, topic)
		begin(t, client)
		nextTime(t, handled, "once")
		for range 2 {
			if all := plansOf(t, client, topic); len(all) != 2 || all[1].Name != "once" || !all[1].Ended || !all[1].Next.IsZero() {
				t.Errorf("%+v", all)
			}
			must.Do(t, client.Every(ctx, topic, once))
		}
		must.Do(t, client.StopEvery(ctx, topic, "once"))
		must.Do(t, client.StopEvery(ctx, topic, "once"))
		must.Do(t, client.Every(ctx, topic, once))
		nextTime(t, handled, "once")
	})
}

// Programs of two versions start at the same time, again and again, with rules that live in
// several slots. One of them holds in the end.
func TestRulesThatContend(t *testing.T) {
	t.Parallel()
	onOneAndMany(t, func(t *testing.T, rdb redis.UniversalClient) {
		ctx := context.Background()
		topic := rmq.Topic{Name: "reports", Kind: rmq.KindFixedTime, Slots: 16}
		client := opened(t, rmq.Config{Redis: rdb})
		for round := range 20 {
			var all sync.WaitGroup
			for i := range 6 {
				all.Go(func() {
					rule := rmq.Recurring{Name: "nightly", Content: fmt.Sprint("report ", round, i), Cron: "@daily"}
					if err := client.Every(ctx, topic, rule); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
			if now := plansOf(t, client, topic); len(now) != 1 {
				t.Fatalf("round %d: %+v", round, now)
			}
		}
	})
}

// What is wrong is refused before anything is stored, and the error names the field.
func TestEveryRefuses(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	rdb := servertest.Redis(t).Client(t)
	client := opened(t, rmq.Config{Redis: rdb, MaxContent: 10})
	topic := rmq.Topic{Name: "reports", Kind: rmq.KindFixedTime}
	good := rmq.Recurring{Name: "p", Content: "report", Cron: "@daily"}
	for field, change := range map[string]func(r *rmq.Recurring){
		"Name":       func(r *rmq.Recurring) { r.Name = "" },
		"Content":    func(r *rmq.Recurring) { r.Content = strings.Repeat("x", 11) },
		"Priority":   func(r *rmq.Recurring) { r.Priority = 17 },
		"Cron":       func(r *rmq.Recurring) { r.Cron = "0 0 30 2 *" },
		"Zone":       func(r *rmq.Recurring) { r.Zone = "Mars/Olympus" },
		"Delay":      func(r *rmq.Recurring) { r.Delay = -1 },
		"Period":     func(r *rmq.Recurring) { r.Cron, r.Period = "", 99*time.Millisecond },
		"Repeat":     func(r *rmq.Recurring) { r.Cron, r.Period, r.Repeat = "", time.Second, 10_001 },
		"Until":      func(r *rmq.Recurring) { r.Until = time.Now().Add(-time.Hour) },
		"From":       func(r *rmq.Recurring) { r.Cron, r.From = "", time.Now().Add(-time.Hour) },
		"Topic.Name": nil,
	} {
		r, to := good, topic
		if change == nil {
			to.Name = "{"
		} else {
			change(&r)
		}
		err := client.Every(ctx, to, r)
		var invalid *message.InvalidError
		if !errors.As(err, &invalid) || invalid.Field != field || !errors.Is(err, rmq.ErrInvalid) {
			t.Errorf("%s: %v", field, err)
		}
	}
	long := good
	long.Name = strings.Repeat("n", 201)
	if err := client.Every(ctx, topic, long); err == nil || len(err.Error()) > 300 {
		t.Errorf("a name that is too long: %v", err)
	}
	var none context.Context
	if err := client.Every(none, topic, good); err == nil || !strings.Contains(err.Error(), "ctx is nil") {
		t.Errorf("without a context: %v", err)
	}
	must.Do(t, client.Every(ctx, topic, good))
	topic.Kind = rmq.KindRangeMerge
	if err := client.Every(ctx, topic, good); !errors.Is(err, rmq.ErrTopicConflict) {
		t.Errorf("another kind: %v", err)
	}
	if keys := rdb.Keys(ctx, "*plan*").Val(); len(keys) != 2 || len(plansOf(t, client, topic)) != 1 {
		t.Errorf("%q", keys)
	}
	if _, err := client.Plans(ctx, rmq.Topic{Name: "none"}); !errors.Is(err, rmq.ErrUnknownTopic) {
		t.Errorf("%v", err)
	}
	if err := client.StopEvery(ctx, rmq.Topic{Name: "none"}, "p"); !errors.Is(err, rmq.ErrUnknownTopic) {
		t.Errorf("%v", err)
	}
}

// A rule that is over is refused where it is new, and kept where it was set before.
func TestEveryAfterItsEnd(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	rdb := servertest.Redis(t).Client(t)
	client := opened(t, rmq.Config{Redis: rdb})
	topic := rmq.Topic{Name: "reports", Kind: rmq.KindFixedTime, Slots: 1}
	now, err := rdb.Time(ctx).Result()
	must.Do(t, err)
	rule := rmq.Recurring{Name: "p", Content: "report", Cron: "* * * * *", Until: now.Add(2 * time.Minute).Truncate(time.Millisecond)}
	must.Do(t, client.Every(ctx, topic, rule))
	rule.Until = now.Add(-time.Minute).Truncate(time.Millisecond)
	if err := client.Every(ctx, topic, rule); !errors.Is(err, rmq.ErrInvalid) || !strings.Contains(err.Error(), "Until") {
		t.Errorf("%v", err)
	}
	stored := rdb.HGet(ctx, "rule{reports_0}", "p").Val()
	millis := func(at time.Time) string { return fmt.Sprint(at.UnixMilli()) }
	rdb.HSet(ctx, "rule{reports_0}", "p", strings.Replace(stored, millis(now.Add(2*time.Minute)), millis(rule.Until), 1)) // time goes by
	rdb.ZRem(ctx, "plan{reports_0}", "p")
	must.Do(t, client.Every(ctx, topic, rule))
	if all := plansOf(t, client, topic); len(all) != 1 || !all[0].Ended {
		t.Errorf("%+v", all)
	}
}
