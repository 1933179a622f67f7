package consumer

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/internal/worker/verdict"
	"github.com/slotmq/go-rmq/message"
)

var kinds = []message.Kind{message.KindRangeMerge, message.KindPriority, message.KindFixedTime}

// seventeen is what a message that never succeeds sees.
func seventeen() (all []int) {
	for i := range 17 {
		all = append(all, i+1)
	}
	return all
}

// brittle is an error whose method panics.
type brittle struct{ text string }

func (b *brittle) Error() string { return b.text }

// A message that never succeeds is delivered 17 times and then dead, with the
// reason, whatever way it fails, on each kind of topic, with retries that wait
// and with literal ones.
func TestSeventeenDeliveries(t *testing.T) {
	t.Parallel()
	failures := []struct {
		name   string
		reason string
		fail   ListenerFunc
	}{
		{"error", "out of paper", func(context.Context, *Delivery) error { return errors.New("out of paper") }},
		{"panic", "panic: out of ink", func(context.Context, *Delivery) error { panic("out of ink") }},
		{"nil", "nil pointer", func(context.Context, *Delivery) error { var d *Delivery; d.Attempt++; return nil }},
		{"panic-nil", "panic called with nil", func(context.Context, *Delivery) error { panic(nil) }},
		{"odd", "panic: {7}", func(context.Context, *Delivery) error { panic(struct{ int }{7}) }},
		{"brittle", "<nil>", func(context.Context, *Delivery) error { var b *brittle; return b }},
		{"goexit", "ended its goroutine", func(context.Context, *Delivery) error { runtime.Goexit(); return nil }},
		{"timeout", "timed out after 3ms: context canceled", func(ctx context.Context, _ *Delivery) error {
			<-ctx.Done()
			if !errors.Is(context.Cause(ctx), verdict.ErrTimeout) {
				return context.Cause(ctx)
			}
			return ctx.Err()
		}},
	}
	rdb := shared(t)
	for _, kind := range kinds {
		for _, literal := range []bool{false, true} {
			topic := topicOf(t, kind, 16)
			topic.Literal = literal
			t.Run(fmt.Sprint(kind, "-literal-", literal), func(t *testing.T) {
				t.Parallel()
				s := newSender(t, rdb, topic)
				n := newNotes()
				contents := []string{}
				for _, f := range failures {
					contents = append(contents, f.name)
				}
				work(t, rdb, Config{Backoff: verdict.Schedule(time.Millisecond), Timeout: 3 * time.Millisecond, hung: time.Hour}, topic,
					n.around(func(ctx context.Context, d *Delivery) error {
						return failures[slices.Index(contents, d.Content)].fail(ctx, d)
					}))
				s.send(t, contents...)
				for _, f := range failures {
					why := awaitDead(t, rdb, topic, slotOf(topic, f.name), f.name)
					if why.Attempts != 17 || !strings.Contains(why.Reason, f.reason) {
						t.Errorf("%s: %+v, want 17 attempts and %q", f.name, why, f.reason)
					}
					if kind == message.KindPriority && why.Priority != 100 {
						t.Errorf("%s: the priority %d is kept", f.name, why.Priority)
					}
				}
				n.mu.Lock()
				defer n.mu.Unlock()
				for _, f := range failures {
					if !slices.Equal(n.attempts[f.name], seventeen()) {
						t.Errorf("%s: attempts %v", f.name, n.attempts[f.name])
					}
				}
			})
		}
	}
}

// In parallel batches the same.
func TestSeventeenDeliveriesInParallel(t *testing.T) {
	t.Parallel()
	rdb, topic := shared(t), topicOf(t, message.KindPriority, 1)
	n := newNotes()
	work(t, rdb, Config{Backoff: verdict.Schedule(time.Millisecond), Timeout: 5 * time.Millisecond}, topic,
		n.around(func(ctx context.Context, d *Delivery) error {
			switch d.Content {
			case "exits":
				runtime.Goexit()
			case "panics":
				panic("x")
			case "hangs":
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		}), ListenOptions{Parallel: true})
	contents := append(numbered("good", 40), "exits", "panics", "hangs")
	newSender(t, rdb, topic).send(t, contents...)
	for c, reason := range map[string]string{"exits": verdict.Ended.Error(), "panics": "panic: x", "hangs": "timed out after 5ms: context deadline exceeded"} {
		if why := awaitDead(t, rdb, topic, 0, c); why.Attempts != 17 || !strings.HasSuffix(why.Reason, reason) { // any of them may also time out
			t.Errorf("%s: %+v", c, why)
		}
	}
	n.awaitAll(t, contents)
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range contents[:40] {
		if len(n.attempts[c]) != 1 {
			t.Errorf("%s: attempts %v", c, n.attempts[c])
		}
	}
	if !slices.Equal(n.attempts["exits"], seventeen()) || !slices.Equal(n.attempts["hangs"], seventeen()) {
		t.Errorf("attempts %v, %v", n.attempts["exits"], n.attempts["hangs"])
	}
}

// Dead spends no retries; what it wraps is the reason, shortened.
func TestDeadAtOnce(t *testing.T) {
	t.Parallel()
	rdb, topic := shared(t), topicOf(t, message.KindPriority, 4)
	reasons := map[string]string{
		"plain": "no such order", "empty": "declared dead by its listener", "wrapped": "order 7: no such order",
		"long": strings.Repeat("é", 2000),
	}
	n := newNotes()
	work(t, rdb, Config{}, topic, n.around(func(_ context.Context, d *Delivery) error {
		switch d.Content {
		case "empty":
			return verdict.DeadError(nil)
		case "wrapped":
			return fmt.Errorf("order 7: %w", verdict.DeadError(errors.New("no such order")))
		}
		return verdict.DeadError(errors.New(reasons[d.Content]))
	}))
	newSender(t, rdb, topic).send(t, "plain", "empty", "wrapped", "long")
	for c, reason := range reasons {
		why := awaitDead(t, rdb, topic, slotOf(topic, c), c)
		if why.Attempts != 1 {
			t.Errorf("%s: %d attempts", c, why.Attempts)
		}
		if c == "long" {
			kept := strings.TrimSuffix(why.Reason, "…")
			if len(why.Reason) > 1010 || len(kept) < 990 || !strings.HasPrefix(reason, kept) || !utf8.ValidString(why.Reason) {
				t.Errorf("a long reason is kept as %d bytes", len(why.Reason))
			}
		} else if why.Reason != reason {
			t.Errorf("%s: reason %q", c, why.Reason)
		}
	}
	n.wantOnce(t, []string{"plain", "empty", "wrapped", "long"})
}

// RetryAfter goes before the back-off, on the server's clock.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	memory, rdb := servertest.Memory(t)
	now := time.Now().Truncate(time.Second)
	memory.SetTime(now)
	topic := topicOf(t, message.KindPriority, 1)
	n := newNotes()
	c := work(t, rdb, Config{Backoff: verdict.Schedule(time.Second, 10*time.Second)}, topic, n.around(func(_ context.Context, d *Delivery) error {
		switch d.Attempt {
		case 1:
			return verdict.RetryError(time.Hour, nil)
		case 2:
			return fmt.Errorf("wrapped: %w", verdict.RetryError(-time.Hour, errors.New("negative is at once")))
		case 3, 4:
			return errors.New("by the back-off")
		}
		return nil
	}))
	newSender(t, rdb, topic).send(t, "x")
	n.awaitAll(t, []string{"x"})
	at := func(in time.Duration, deliveries int) {
		t.Helper()
		memory.SetTime(now.Add(in))
		must.Do(t, c.settle(ctx))
		n.mu.Lock()
		defer n.mu.Unlock()
		if n.total != deliveries {
			t.Errorf("after %v: %d deliveries, want %d", in, n.total, deliveries)
		}
	}
	at(0, 1)
	at(time.Hour-time.Millisecond, 1)
	at(time.Hour, 2)
	at(time.Hour+time.Millisecond, 3)
	at(time.Hour+10*time.Second, 3) // the third retry waits by the schedule's last
	at(time.Hour+10*time.Second+time.Millisecond, 4)
	at(time.Hour+20*time.Second+time.Millisecond, 5)
	at(1000*time.Hour, 5)
	wantEmpty(t, rdb, topic)
	if rdb.HLen(ctx, keysOf(topic, 0).Why).Val() != 0 {
		t.Error("a reason is kept of what succeeded")
	}
}

func TestDefaultBackoff(t *testing.T) {
	t.Parallel()
	// An outage of ten minutes must not kill what waits. It is what the
	// documents say.
	least, most := time.Duration(0), time.Duration(0)
	for retry := 1; retry <= message.MaxRetries; retry++ {
		d := min(time.Second<<(retry-1), 30*time.Minute)
		least, most = least+d*4/5, most+d*6/5
	}
	for range 100 {
		var sum time.Duration
		for retry := 1; retry <= message.MaxRetries; retry++ {
			sum += Config{}.withDefaults().Backoff(retry)
		}
		if sum < least || sum > most {
			t.Fatalf("by default 16 retries take %v, want %v to %v", sum, least, most)
		}
	}
	if least.Truncate(time.Minute) != 2*time.Hour+27*time.Minute || most.Round(time.Minute) != 3*time.Hour+41*time.Minute {
		t.Errorf("16 retries take %v to %v; the documents say 2 h 27 min to 3 h 41 min", least, most)
	}
}
