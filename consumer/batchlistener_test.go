package consumer

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/internal/worker/verdict"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/slots"
)

// handleTogether starts a consumer with one batch listener. The calls come out of the
// channel, each after what l said.
func handleTogether(t testing.TB, rdb redis.UniversalClient, cfg Config, topic message.Topic, o BatchOptions, l BatchFunc) (*Consumer, chan *Batch) {
	t.Helper()
	calls := make(chan *Batch, 1000)
	c := newConsumer(t, rdb, cfg)
	must.Do(t, c.ListenBatch(topic, BatchFunc(func(ctx context.Context, b *Batch) error {
		defer func() { calls <- b }()
		return l(ctx, b)
	}), o))
	start(t, c)
	return c, calls
}

// done is a batch listener for which all is well.
func allDone(context.Context, *Batch) error { return nil }

// contentsOf are the contents of a call.
func contentsOf(b *Batch) (all []string) {
	for _, d := range b.Messages {
		all = append(all, d.Content)
	}
	return all
}

// dueAt stores a content that was due some time before now.
func dueAt(t testing.TB, rdb redis.Cmdable, topic message.Topic, now time.Time, before time.Duration, content string) {
	t.Helper()
	at := float64(now.Add(-before).UnixMilli())
	must.Do(t, rdb.ZAdd(ctx, keysOf(topic, slotOf(topic, content)).Store, redisZ(at, content)).Err())
}

// What waits in a slot comes in one call, in its order, with all that a delivery has; more
// than Most in several.
func TestBatchIsWhatWaitsInItsSlot(t *testing.T) {
	t.Parallel()
	rdb := shared(t)
	for _, kind := range kinds {
		topic := topicOf(t, kind, 1)
		now := rdb.Time(ctx).Val()
		want := numbered("m", 25)
		for i, content := range want {
			score := float64(now.Add(time.Duration(i) * time.Millisecond).Add(-time.Hour).UnixMilli())
			if kind == message.KindPriority {
				score = float64(1000 - i)
			}
			must.Do(t, rdb.ZAdd(ctx, keysOf(topic, 0).Store, redisZ(score, content)).Err())
		}
		_, calls := handleTogether(t, rdb, Config{}, topic, BatchOptions{ListenOptions: ListenOptions{Due: true}, Most: 10}, allDone)
		var got []string
		for _, n := range []int{10, 10, 5} {
			b := await.Signal(t, "a call", calls)
			if len(b.Messages) != n || b.Topic.Name != topic.Name || b.Slot != 0 || b.Attempt != 1 || b.Fence == 0 {
				t.Errorf("%v: a call with %d messages of topic %s slot %d, attempt %d, fence %d", kind, len(b.Messages), b.Topic.Name, b.Slot, b.Attempt, b.Fence)
			}
			for _, d := range b.Messages {
				if d.Attempt != 1 || d.Fence != b.Fence || d.Topic != b.Topic || (d.Priority > 0) == kind.Timed() || d.Due.IsZero() == kind.Timed() {
					t.Errorf("%v: %+v", kind, d)
				}
			}
			got = append(got, contentsOf(b)...)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%v: handled in the order %v", kind, got)
		}
		wantEmpty(t, rdb, topic)
	}
}

// Each message has what was said of it, and the others what was returned.
func TestBatchResults(t *testing.T) {
	t.Parallel()
	failed := errors.New("returned")
	for name, returned := range map[string]error{"nil": nil, "error": failed, "dead": verdict.DeadError(failed), "retry": verdict.RetryError(time.Hour, failed)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rdb, topic := shared(t), topicOf(t, message.KindPriority, 1)
			newSender(t, rdb, topic).send(t, "dead", "failed", "later", "nameless", "other", "retry", "twice")
			_, calls := handleTogether(t, rdb, Config{Backoff: verdict.Schedule(2 * time.Hour)}, topic, BatchOptions{}, func(_ context.Context, b *Batch) error {
				var all sync.WaitGroup
				for i, d := range b.Messages {
					all.Go(func() {
						switch d.Content {
						case "dead":
							b.Dead(i, errors.New("named dead"))
						case "failed":
							b.Fail(i, errors.New("named failed"))
						case "nameless":
							b.Fail(i, nil)
						case "later":
							b.Later(i, 5*time.Hour)
						case "retry":
							b.RetryAfter(i, 3*time.Hour, errors.New("named retry"))
						case "twice":
							b.Dead(i, errors.New("first"))
							b.Fail(i, verdict.RetryError(4*time.Hour, errors.New("last")))
						}
					})
				}
				all.Wait()
				return returned
			})
			late := await.Signal(t, "a call", calls)
			k := keysOf(topic, 0)
			await.True(t, "the batch is finished", func() bool { return rdb.Exists(ctx, k.Prepare).Val() == 0 })
			late.Fail(0, errors.New("too late"))
			type fate struct {
				dead   bool
				in     time.Duration
				reason string
			}
			want := map[string]fate{
				"dead": {true, 0, "named dead"}, "failed": {false, 2 * time.Hour, "named failed"}, "nameless": {false, 2 * time.Hour, errNamed.Error()},
				"later": {false, 5 * time.Hour, "put back by its handler for 5h0m0s"}, "retry": {false, 3 * time.Hour, "named retry"}, "twice": {false, 4 * time.Hour, "last"},
			}
			switch name {
			case "error":
				want["other"] = fate{false, 2 * time.Hour, "returned"}
			case "dead":
				want["other"] = fate{true, 0, "returned"}
			case "retry":
				want["other"] = fate{false, time.Hour, "returned"}
			}
			got, now := map[string]fate{}, rdb.Time(ctx).Val()
			for content, why := range rdb.HGetAll(ctx, k.Why).Val() {
				f, _ := protocol.ParseFailure(why)
				got[content] = fate{reason: f.Reason, dead: rdb.ZScore(ctx, k.Dead, content).Err() == nil}
				if score, err := rdb.ZScore(ctx, k.Retry, content).Result(); err == nil {
					x := got[content]
					x.in = time.UnixMilli(int64(score / 100)).Sub(now).Round(time.Hour)
					got[content] = x
				}
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("got  %v\nwant %v", got, want)
			}
			if n := rdb.ZCard(ctx, k.Store).Val(); n > 0 {
				t.Errorf("%d are handed back", n)
			}
		})
	}
}

// A middleware sees what becomes of each message: of one that was named by that.
func TestOutcomeInABatch(t *testing.T) {
	t.Parallel()
	failed := errors.New("failed")
	b := &Batch{Messages: []*Delivery{{}, {}, {}, {}, {Last: true}, {}}}
	wants := func(err error, want ...message.What) {
		t.Helper()
		for i, what := range want {
			if got := b.Outcome(ctx, i, err); got != what {
				t.Errorf("message %d is %v after %v, want %v", i, got, err, what)
			}
		}
	}
	wants(nil, message.Done, message.Done)
	b.Fail(0, nil)
	b.Later(1, time.Hour)
	b.Dead(2, failed)
	b.RetryAfter(3, time.Hour, failed)
	b.Fail(4, failed)
	wants(nil, message.Failed, message.Snoozed, message.Died, message.Failed, message.Died, message.Done)
	wants(verdict.DeadError(failed), message.Failed, message.Snoozed, message.Died, message.Failed, message.Died, message.Died)
}

// A panic, and the end of the goroutine, fail every message of the call. Then each comes
// alone, so the others are handled.
func TestBatchThatPanics(t *testing.T) {
	t.Parallel()
	for how, end := range map[string]func(){"panic": func() { panic("out of ink") }, "goroutine": runtime.Goexit} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			rdb, topic := shared(t), topicOf(t, message.KindPriority, 1)
			contents := append(numbered("m", 9), "bad")
			newSender(t, rdb, topic).send(t, contents...)
			_, calls := handleTogether(t, rdb, Config{Backoff: verdict.Schedule(time.Millisecond)}, topic, BatchOptions{}, func(_ context.Context, b *Batch) error {
				if slices.Contains(contentsOf(b), "bad") {
					end()
				}
				return nil
			})
			if b := await.Signal(t, "a call", calls); len(b.Messages) != len(contents) {
				t.Errorf("the first call has %d messages", len(b.Messages))
			}
			alone := map[string]int{}
			for alone["bad"] < 16 || len(alone) < len(contents) {
				b := await.Signal(t, "a call", calls)
				if len(b.Messages) != 1 || b.Attempt != 2+alone[b.Messages[0].Content] || !strings.Contains(b.Messages[0].LastError, how) {
					t.Fatalf("attempt %d of %v, after %q", b.Attempt, contentsOf(b), b.Messages[0].LastError)
				}
				alone[b.Messages[0].Content]++
			}
			why := awaitDead(t, rdb, topic, 0, "bad")
			if why.Attempts != 17 || !strings.Contains(why.Reason, how) {
				t.Errorf("%+v", why)
			}
			for _, content := range contents[:9] {
				if alone[content] != 1 {
					t.Errorf("%s came %d times more", content, alone[content])
				}
			}
		})
	}
}

// Close lets a call finish while its context lasts. When that is over, what fails spends no
// attempt, whether it was named or not, and what is done is done.
func TestCloseInABatchCall(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"waits", "done", "fails", "names"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			rdb, topic := shared(t), topicOf(t, message.KindPriority, 1)
			contents := numbered("m", 5)
			newSender(t, rdb, topic).send(t, contents...)
			begun, release := make(chan struct{}), make(chan struct{})
			c, calls := handleTogether(t, rdb, Config{}, topic, BatchOptions{}, func(ctx context.Context, b *Batch) error {
				close(begun)
				select {
				case <-ctx.Done():
					if !errors.Is(context.Cause(ctx), verdict.ErrClosing) {
						t.Errorf("cause %v", context.Cause(ctx))
					}
				case <-release:
				}
				switch way {
				case "fails":
					return ctx.Err()
				case "names":
					b.Dead(0, ctx.Err())
					b.RetryAfter(1, time.Hour, ctx.Err())
				}
				return nil
			})
			await.Signal(t, "the call has begun", begun)
			c.grace = await.Patience
			within, cancel := context.WithCancel(ctx)
			closed := make(chan error)
			go func() { closed <- c.Close(within) }()
			await.True(t, "the worker has left the list", func() bool { return rdb.ZCard(ctx, protocol.WorkersKey(topic.Name)).Val() == 0 })
			if way == "waits" {
				close(release)
			} else {
				cancel()
			}
			must.Do(t, await.Signal(t, "Close returns", closed))
			cancel()
			await.Signal(t, "a call", calls)
			back := map[string]int{"fails": 5, "names": 2}[way]
			if n := int(rdb.ZCard(ctx, keysOf(topic, 0).Store).Val()); n != back {
				t.Fatalf("%d messages are handed back, want %d", n, back)
			}
			if back > 0 {
				_, again := handleTogether(t, rdb, Config{}, topic, BatchOptions{}, allDone)
				if b := await.Signal(t, "a call", again); b.Attempt != 1 || len(b.Messages) != back || b.Messages[0].Priority != 100 {
					t.Errorf("attempt %d of %v, priority %d", b.Attempt, contentsOf(b), b.Messages[0].Priority)
				}
			}
			wantEmpty(t, rdb, topic)
		})
	}
}

// Timeout is for the call, and a call may take longer than a batch of single messages.
func TestTimeoutOfABatchCall(t *testing.T) {
	t.Parallel()
	rdb, topic := shared(t), topicOf(t, message.KindFixedTime, 1)
	newSender(t, rdb, topic).send(t, numbered("m", 5)...)
	o := BatchOptions{ListenOptions: ListenOptions{Timeout: 20 * time.Millisecond}, Gather: 100 * time.Millisecond}
	_, calls := handleTogether(t, rdb, Config{Backoff: verdict.Schedule(time.Millisecond)}, topic, o, func(ctx context.Context, b *Batch) error {
		if b.Attempt > 1 {
			return nil
		}
		<-ctx.Done()
		return context.Cause(ctx)
	})
	first := await.Signal(t, "a call", calls)
	for range first.Messages {
		if b := await.Signal(t, "a call", calls); b.Attempt == 2 && b.Messages[0].LastError != "timed out after 20ms: "+verdict.ErrTimeout.Error() {
			t.Errorf("it comes again after %q", b.Messages[0].LastError)
		}
	}
}

// Messages whose times are further apart have calls of their own, as those have whose time
// is not known.
func TestSameDueCutsABatch(t *testing.T) {
	t.Parallel()
	rdb := shared(t)
	for _, kind := range []message.Kind{message.KindRangeMerge, message.KindFixedTime} {
		topic, now := topicOf(t, kind, 1), rdb.Time(ctx).Val()
		for content, before := range map[string]int{"a": 5000, "b": 4500, "c": 4000, "d": 3999, "e": 3000, "f": 100, "g": 0} {
			dueAt(t, rdb, topic, now, time.Duration(before)*time.Millisecond, content)
		}
		_, calls := handleTogether(t, rdb, Config{Backoff: verdict.Schedule(time.Millisecond)}, topic, BatchOptions{SameDue: time.Second}, func(_ context.Context, b *Batch) error {
			if b.Messages[0].Content == "d" {
				runtime.Goexit() // what comes after it is handled all the same
			}
			return nil
		})
		for _, want := range []string{"abc", "de", "fg", "d", "e"} {
			b := await.Signal(t, "a call", calls)
			if got := strings.Join(contentsOf(b), ""); got != want {
				t.Errorf("%v: a call has %s, want %s", kind, got, want)
			}
			if known := !b.Messages[0].Due.IsZero(); known != (b.Attempt == 1) {
				t.Errorf("%v: attempt %d is due at %v", kind, b.Attempt, b.Messages[0].Due)
			}
		}
	}
	calls := &batchCalls{BatchOptions: BatchOptions{SameDue: time.Hour}}
	if toldAgain := (&protocol.Answer{Contents: []string{"a", "b"}}); calls.sameDue(toldAgain, 0, 1) {
		t.Error("a batch without times is not cut")
	}
}

// While a slot gathers, what comes joins its call. Neither its place nor another topic
// waits for it.
func TestGather(t *testing.T) {
	t.Parallel()
	rdb, topic, other := shared(t), topicOf(t, message.KindPriority, 1), topicOf(t, message.KindPriority, 1)
	c, n := newConsumer(t, rdb, Config{Concurrency: 1}), newNotes()
	calls := make(chan *Batch, 100)
	must.Do(t, c.ListenBatch(topic, BatchFunc(func(_ context.Context, b *Batch) error { calls <- b; return nil }), BatchOptions{Most: 3, Gather: time.Minute}))
	must.Do(t, c.Listen(other, n.done(), ListenOptions{}))
	start(t, c)
	must.Do(t, c.settle(ctx))
	s, beside := newSender(t, rdb, topic), newSender(t, rdb, other)
	for _, content := range []string{"a", "b"} {
		s.send(t, content)
		beside.send(t, content)
		n.awaitAll(t, []string{content})
	}
	must.Do(t, c.settle(ctx)) // which ends the gathering
	if b := await.Signal(t, "a call", calls); len(b.Messages) != 2 {
		t.Errorf("the call has %v", contentsOf(b))
	}
	// More than fit into a call: the next one comes at once, with the rest.
	s.send(t, numbered("m", 5)...)
	must.Do(t, c.settle(ctx))
	for _, want := range []int{3, 2} {
		if b := await.Signal(t, "a call", calls); len(b.Messages) != want {
			t.Errorf("the call has %v, want %d", contentsOf(b), want)
		}
	}
	wantEmpty(t, rdb, topic) // it was reported before the slot gathers again
}

// Close does not wait for what a slot gathers. It stays where it is, for the next worker.
func TestCloseWhileItGathers(t *testing.T) {
	t.Parallel()
	rdb, topic := shared(t), topicOf(t, message.KindPriority, 1)
	c, calls := handleTogether(t, rdb, Config{}, topic, BatchOptions{Gather: time.Minute}, allDone)
	must.Do(t, c.settle(ctx))
	newSender(t, rdb, topic).send(t, "m")
	must.Do(t, c.Close(ctx)) // if it waited for that, it would come to a call
	if len(calls) > 0 {
		t.Error("it was handled")
	}
	n := newNotes()
	work(t, rdb, Config{}, topic, n.done())
	n.awaitAll(t, []string{"m"})
	n.wantOnce(t, []string{"m"})
}

// The wait begins with the first message, and those that come meanwhile make it no longer.
func TestGatherEnds(t *testing.T) {
	t.Parallel()
	const gather = 100 * time.Millisecond
	rdb, topic := shared(t), topicOf(t, message.KindPriority, 1)
	c, calls := handleTogether(t, rdb, Config{}, topic, BatchOptions{Gather: gather}, allDone)
	must.Do(t, c.settle(ctx))
	s := newSender(t, rdb, topic)
	begun := time.Now()
	await.True(t, "three calls while messages come", func() bool {
		s.send(t, "m") // which merges, so that no call is full
		return len(calls) >= 3
	})
	if took := time.Since(begun); took < 3*gather {
		t.Errorf("three calls came within %v", took)
	}
}

// Retries do not wait for one another to be gathered.
func TestRetriesDoNotGather(t *testing.T) {
	t.Parallel()
	rdb, topic := shared(t), topicOf(t, message.KindPriority, 1)
	contents := numbered("m", 100)
	newSender(t, rdb, topic).send(t, contents...)
	_, calls := handleTogether(t, rdb, Config{Backoff: verdict.Schedule(time.Millisecond)}, topic, BatchOptions{Gather: time.Second}, func(_ context.Context, b *Batch) error {
		if b.Attempt == 1 {
			return errors.New("all fail")
		}
		return nil
	})
	// If each of them waited for others, it would take longer than any wait of a test.
	await.True(t, "all come together, and then alone", func() bool { return len(calls) == 1+len(contents) })
}

// Nor does what was put back, when so much of it is due that a turn can only put a part into its
// place: the wait is one, however many turns that takes.
func TestGatherIsPaidOnceForWhatWasPutBack(t *testing.T) {
	t.Parallel()
	rdb, topic := shared(t), topicOf(t, message.KindPriority, 1)
	k, contents := keysOf(topic, 0), numbered("m", 16*256)
	past := rdb.Time(ctx).Val().Add(-time.Hour).UnixMilli()
	pipe := rdb.Pipeline()
	for _, content := range contents {
		pipe.ZAdd(ctx, k.Retry, redisZ(float64(past*100+18), content))
		pipe.HSet(ctx, k.Why, content, fmt.Sprintf("0 %d %d 900 w later", past, past))
	}
	_, err := pipe.Exec(ctx)
	must.Do(t, err)
	_, calls := handleTogether(t, rdb, Config{}, topic, BatchOptions{Gather: 5 * time.Second}, allDone)
	handled := 0 // 16 waits would take longer than any wait of a test
	await.True(t, "all are handled", func() bool {
		for len(calls) > 0 {
			handled += len((<-calls).Messages)
		}
		return handled >= len(contents)
	})
	wantEmpty(t, rdb, topic)
}

func TestFew(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("x", 400<<10)
	for _, c := range []struct {
		attempt int
		has     []string
		want    bool
	}{
		{1, []string{"a", "b"}, true}, {1, []string{"a", "b", "c"}, false}, {2, []string{"a"}, false},
		{1, []string{large, large}, false}, {1, []string{large}, true}, {1, []string{large + large}, false},
	} {
		if got := few(&protocol.Answer{Attempt: c.attempt, Contents: c.has}, 3); got != c.want {
			t.Errorf("attempt %d, %d contents: %v", c.attempt, len(c.has), got)
		}
	}
}

// A call holds what fits into 1 MiB, or one message.
func TestBatchOfLargeMessages(t *testing.T) {
	t.Parallel()
	rdb, topic := shared(t), topicOf(t, message.KindPriority, 1)
	var contents []string
	for i := range 12 {
		contents = append(contents, fmt.Sprint(i)+strings.Repeat("x", 200<<10))
	}
	newSender(t, rdb, topic).send(t, contents...)
	_, calls := handleTogether(t, rdb, Config{}, topic, BatchOptions{}, allDone)
	for handled := 0; handled < len(contents); {
		b := await.Signal(t, "a call", calls)
		if handled += len(b.Messages); len(b.Messages) > 5 {
			t.Errorf("%d messages in a call", len(b.Messages))
		}
	}
}

// Middleware is for listeners of single messages, BatchMiddleware for the others.
func TestBatchMiddleware(t *testing.T) {
	t.Parallel()
	rdb, topic, single := shared(t), topicOf(t, message.KindPriority, 1), topicOf(t, message.KindPriority, 1)
	said := make(chan string, 10)
	wraps := func(name string) BatchMiddleware {
		return func(l BatchListener) BatchListener {
			return BatchFunc(func(ctx context.Context, b *Batch) error { said <- name; return l.OnBatch(ctx, b) })
		}
	}
	c := newConsumer(t, rdb, Config{
		BatchMiddleware: []BatchMiddleware{wraps("outer"), wraps("inner")},
		Middleware: []Middleware{func(l MessageListener) MessageListener {
			return ListenerFunc(func(ctx context.Context, d *Delivery) error { said <- "single"; return l.OnMessage(ctx, d) })
		}},
	})
	must.Do(t, c.ListenBatch(topic, BatchFunc(allDone), BatchOptions{}))
	must.Do(t, c.Listen(single, newNotes().done(), ListenOptions{}))
	start(t, c)
	newSender(t, rdb, topic).send(t, "m")
	for _, want := range []string{"outer", "inner"} {
		if got := await.Signal(t, "a word", said); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	newSender(t, rdb, single).send(t, "m")
	if got := await.Signal(t, "a word", said); got != "single" {
		t.Errorf("%s around a listener of single messages", got)
	}
}

// Messages are handled once, and no two calls of a slot overlap, on a Cluster and with
// slots shared by ZooKeeper, while workers come and go.
func TestBatchesWhereverTheyAre(t *testing.T) {
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
			topic, n := topicOf(t, message.KindFixedTime, 8), newNotes()
			cfg.Backoff = verdict.Schedule(time.Millisecond)
			start := func() *Consumer {
				c, _ := handleTogether(t, rdb, cfg, topic, BatchOptions{Gather: 5 * time.Millisecond, SameDue: 20 * time.Millisecond}, func(_ context.Context, b *Batch) error {
					n.begin(&Delivery{Slot: b.Slot, Content: "call"})
					defer n.end(&Delivery{Slot: b.Slot})
					n.mu.Lock()
					defer n.mu.Unlock()
					for i, d := range b.Messages {
						n.attempts[d.Content] = append(n.attempts[d.Content], d.Attempt)
						if d.Attempt == 1 && strings.HasSuffix(d.Content, "3") {
							b.Fail(i, errors.New("once"))
						}
					}
					return nil
				})
				return c
			}
			a := start()
			s, contents := newSender(t, rdb, topic), numbered("m", 500)
			for i := 0; i < len(contents); i += 50 {
				s.send(t, contents[i:i+50]...)
				switch i {
				case 150:
					start()
				case 300:
					must.Do(t, closeIn(a, await.Patience))
				}
			}
			n.await(t, "all are handled", func() bool {
				for _, content := range contents {
					want := []int{1}
					if strings.HasSuffix(content, "3") {
						want = append(want, 2)
					}
					if !slices.Equal(n.attempts[content], want) {
						return false
					}
				}
				return n.running == 0
			})
			if n.overlaps > 0 {
				t.Errorf("%d calls overlap in their slots", n.overlaps)
			}
			wantEmpty(t, rdb, topic)
		})
	}
}
