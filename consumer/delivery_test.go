package consumer

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/worker/verdict"
	"github.com/slotmq/go-rmq/message"
)

// What a listener is told of a delivery, beside its content and attempt.

// seen keeps whole deliveries, in their order.
type seen struct {
	mu  sync.Mutex
	all []Delivery
}

// by is a listener that keeps each delivery, and fails it with the reason that is
// next for its content; where there is none, it is done.
func (s *seen) by(n *notes, reasons ...error) ListenerFunc {
	return n.around(func(_ context.Context, d *Delivery) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.all = append(s.all, *d)
		times := 0
		for _, before := range s.all {
			if before.Content == d.Content {
				times++
			}
		}
		// What a listener does to its delivery is its own affair.
		d.Priority, d.Due, d.LastError, d.FirstFailure = 7, time.Now(), "changed", time.Now()
		if times > len(reasons) {
			return nil
		}
		return reasons[times-1]
	})
}

// want compares what delivery i was told with attempt, priority and last error,
// and returns the time of the first failure.
func (s *seen) want(t *testing.T, i, attempt int, priority int64, lastError string) time.Time {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if i >= len(s.all) {
		t.Fatalf("only %d deliveries", len(s.all))
	}
	d := s.all[i]
	if d.Attempt != attempt || d.Priority != priority || d.LastError != lastError || d.FirstFailure.IsZero() != (lastError == "") {
		t.Errorf("delivery %d: attempt %d, priority %d, last error %q, first failure %v; want attempt %d, priority %d, %q",
			i, d.Attempt, d.Priority, d.LastError, d.FirstFailure, attempt, priority, lastError)
	}
	return d.FirstFailure
}

// serverTime is the time of Redis in whole ms.
func serverTime(t *testing.T, rdb *redis.Client) time.Time {
	t.Helper()
	now, err := rdb.Time(ctx).Result()
	must.Do(t, err)
	return now.Truncate(time.Millisecond)
}

// However a delivery fails, the next one is told why, and when the first failed;
// a Priority message keeps its priority.
func TestDeliveriesTellOfFailures(t *testing.T) {
	t.Parallel()
	rdb := shared(t)
	for _, kind := range kinds {
		for _, o := range []struct{ literal, parallel bool }{{}, {literal: true}, {parallel: true}} {
			topic := topicOf(t, kind, 1)
			topic.Literal = o.literal
			t.Run(fmt.Sprintf("%v-%+v", kind, o), func(t *testing.T) {
				t.Parallel()
				s, n := &seen{}, newNotes()
				begin := serverTime(t, rdb)
				work(t, rdb, Config{Backoff: verdict.Schedule(time.Millisecond)}, topic,
					s.by(n, errors.New("out of paper"), verdict.RetryError(2*time.Millisecond, errors.New("out of ink")), fmt.Errorf("the printer: %w", errors.New("jam"))),
					ListenOptions{Parallel: o.parallel})
				newSender(t, rdb, topic).send(t, "x")
				n.await(t, "it is done", func() bool { return n.total == 4 && n.running == 0 })
				wantEmpty(t, rdb, topic)
				priority := int64(0)
				if kind == message.KindPriority {
					priority = 100
				}
				s.want(t, 0, 1, priority, "")
				first := s.want(t, 1, 2, priority, "out of paper")
				if end := serverTime(t, rdb); first.Before(begin) || first.After(end) {
					t.Errorf("the first failure was at %v, the test from %v to %v", first, begin, end)
				}
				for i, last := range []string{"out of ink", "the printer: jam"} {
					if again := s.want(t, 2+i, 3+i, priority, last); !again.Equal(first) {
						t.Errorf("the first failure was at %v, and then at %v", first, again)
					}
				}
			})
		}
	}
}

// A content that is dead and sent again is a new message: its first delivery is
// told nothing of the other, and its retry of its own failure only.
func TestDeliveriesOfWhatDiedBefore(t *testing.T) {
	t.Parallel()
	rdb, topic := shared(t), topicOf(t, message.KindPriority, 1)
	s, n := &seen{}, newNotes()
	work(t, rdb, Config{Backoff: verdict.Schedule(time.Millisecond)}, topic, s.by(n, errors.New("once"), verdict.DeadError(errors.New("no such order")), errors.New("again")))
	sender := newSender(t, rdb, topic)
	sender.send(t, "x")
	died := awaitDead(t, rdb, topic, 0, "x")
	sender.send(t, "x")
	n.await(t, "the second one is done", func() bool { return n.total == 4 && n.running == 0 })
	before := s.want(t, 1, 2, 100, "once")
	s.want(t, 2, 1, 100, "")
	after := s.want(t, 3, 2, 100, "again")
	if !before.Equal(died.First) || after.Before(died.Last) {
		t.Errorf("first failures at %v and %v; it died at %v", before, after, died.Last)
	}
}

// A worker takes batches and is never heard of again: who gets them after its
// lease is told so. The priority of a first delivery is lost with it, that of a
// retry is not.
func TestDeliveriesAfterATakeOver(t *testing.T) {
	t.Parallel()
	rdb := shared(t)
	for _, retry := range []bool{false, true} {
		t.Run(fmt.Sprint("retry-", retry), func(t *testing.T) {
			t.Parallel()
			topic := topicOf(t, message.KindPriority, 1)
			newSender(t, rdb, topic).send(t, "x")
			lost := protocol.Turn{Keys: keysOf(topic, 0), Priority: true, Worker: "lost", Lease: time.Millisecond, Count: 8}
			take := func() {
				t.Helper()
				a := takeTurn(t, rdb, &lost)
				lost.Fence, lost.Verdicts = a.Fence, nil
			}
			attempt, priority := 2, int64(0)
			take()
			if retry {
				lost.Verdicts = []protocol.Verdict{{Content: "x", Priority: 100, Reason: "out of paper"}}
				take() // fails it with no delay, and takes its retry
				attempt, priority = 3, 100
			}
			s, n := &seen{}, newNotes()
			work(t, rdb, Config{Backoff: verdict.Schedule(time.Millisecond)}, topic, s.by(n))
			n.awaitAll(t, []string{"x"})
			first := s.want(t, 0, attempt, priority, "the lease of its worker ended")
			if first.After(serverTime(t, rdb)) {
				t.Errorf("the first failure was at %v", first)
			}
		})
	}
}

// Due times are told of first deliveries, to listeners that ask.
func TestDueTimes(t *testing.T) {
	t.Parallel()
	rdb := shared(t)
	for _, kind := range kinds {
		for _, o := range []ListenOptions{{}, {Due: true}, {Due: true, Parallel: true}} {
			topic := topicOf(t, kind, 1)
			t.Run(fmt.Sprintf("%v-%v-%v", kind, o.Due, o.Parallel), func(t *testing.T) {
				t.Parallel()
				contents := numbered("m", 20)
				due := map[string]time.Time{}
				begin := serverTime(t, rdb).Add(-time.Hour)
				for i, x := range contents {
					due[x] = begin.Add(time.Duration(i*i) * time.Millisecond)
					must.Do(t, rdb.ZAdd(ctx, keysOf(topic, 0).Store, redisZ(float64(due[x].UnixMilli()), x)).Err())
				}
				s, n := &seen{}, newNotes()
				work(t, rdb, Config{Backoff: verdict.Schedule(time.Millisecond)}, topic, s.by(n, errors.New("once")), o)
				n.await(t, "all are delivered twice", func() bool { return n.total == 2*len(contents) && n.running == 0 })
				s.mu.Lock()
				defer s.mu.Unlock()
				for _, d := range s.all {
					var want time.Time
					if o.Due && kind != message.KindPriority && d.Attempt == 1 {
						want = due[d.Content]
					}
					if !d.Due.Equal(want) {
						t.Errorf("attempt %d of %s was due at %v, want %v", d.Attempt, d.Content, d.Due, want)
					}
				}
			})
		}
	}
}

// A listener may keep its deliveries: none of them shows another message later.
func TestDeliveriesMayBeKept(t *testing.T) {
	t.Parallel()
	rdb := shared(t)
	for _, parallel := range []bool{false, true} {
		topic := topicOf(t, message.KindFixedTime, 1)
		n := newNotes()
		var mu sync.Mutex
		kept, as := []*Delivery{}, []Delivery{}
		work(t, rdb, Config{}, topic, n.around(func(_ context.Context, d *Delivery) error {
			mu.Lock()
			defer mu.Unlock()
			kept, as = append(kept, d), append(as, *d)
			return nil
		}), ListenOptions{Parallel: parallel})
		contents := numbered("m", 40)
		newSender(t, rdb, topic).send(t, contents...)
		n.awaitAll(t, contents)
		mu.Lock()
		for i, d := range kept {
			if *d != as[i] {
				t.Errorf("parallel %t: a delivery of %s shows %s now", parallel, as[i].Content, d.Content)
			}
		}
		mu.Unlock()
	}
}
