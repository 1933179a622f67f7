package consumer

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/worker/intake"
	"github.com/slotmq/go-rmq/internal/worker/verdict"
	"github.com/slotmq/go-rmq/message"
)

// basisOf finds a basis for each slot of a topic.
func basisOf(topic message.Topic) []string {
	bases := make([]string, topic.Slots)
	for i, missing := 0, topic.Slots; missing > 0; i++ {
		basis := strconv.Itoa(i)
		if slot := slotOf(topic, basis); bases[slot] == "" {
			bases[slot] = basis
			missing--
		}
	}
	return bases
}

// fill stores n messages in each slot.
func fill(t testing.TB, s sender, n int) (contents []string) {
	t.Helper()
	var ms []message.Message
	for slot, basis := range basisOf(s.topic) {
		for i := range n {
			content := fmt.Sprintf("%d/%d", slot, i)
			contents = append(contents, content)
			ms = append(ms, soon(s.topic, content, basis))
		}
	}
	_, err := s.SendBatch(ctx, s.topic, ms)
	must.Do(t, err)
	return contents
}

// A topic whose handlers block in more slots than there are places does not
// keep another topic from being handled.
func TestSlowTopicBesideFast(t *testing.T) {
	t.Parallel()
	const places = 8
	rdb := shared(t)
	slow, fast := topicOf(t, message.KindPriority, 32), topicOf(t, message.KindPriority, 16)
	blocked, handled := newNotes(), newNotes()
	release := make(chan struct{})
	c := newConsumer(t, rdb, Config{Concurrency: places})
	must.Do(t, c.Listen(slow, blocked.around(func(context.Context, *Delivery) error { <-release; return nil }), ListenOptions{}))
	must.Do(t, c.Listen(fast, handled.done(), ListenOptions{}))
	late := fill(t, newSender(t, rdb, slow), 3)
	s := newSender(t, rdb, fast)
	start(t, c)
	blocked.await(t, "half of the slow topic's share and what the other leaves is taken", func() bool { return blocked.running >= places/4 })
	contents := numbered("fast", 500)
	s.send(t, contents...)
	handled.awaitAll(t, contents)
	handled.wantOnce(t, contents)
	blocked.mu.Lock()
	if blocked.most > places || blocked.total > places {
		t.Errorf("%d slow handlers at once, %d begun", blocked.most, blocked.total)
	}
	blocked.mu.Unlock()
	close(release)
	blocked.awaitAll(t, late)
	blocked.wantOnce(t, late)
}

// Handlers at once are never more than allowed: by the consumer and by the
// topic, one by one and in parallel.
func TestConcurrencyIsNeverExceeded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name               string
		places, most, want int
		parallel           bool
		slots              int
	}{
		{"consumer", 5, 0, 5, false, 16},
		{"topic", 64, 3, 3, false, 16},
		{"one", 1, 0, 1, false, 16},
		{"parallel-consumer", 5, 0, 5, true, 16},
		{"parallel-topic", 64, 3, 3, true, 2},
		{"parallel-one-slot", 64, 6, 6, true, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			rdb, topic := shared(t), topicOf(t, message.KindPriority, c.slots)
			n := newNotes()
			contents := fill(t, newSender(t, rdb, topic), 160/c.slots)
			reached := make(chan struct{})
			var once sync.Once
			work(t, rdb, Config{Concurrency: c.places}, topic, n.around(func(context.Context, *Delivery) error {
				// The first handlers wait until all that may run do, which they must.
				n.mu.Lock()
				if n.running == c.want {
					once.Do(func() { close(reached) })
				}
				n.mu.Unlock()
				await.Signal(t, "as many handlers as allowed run at once", reached)
				return nil
			}), ListenOptions{Concurrency: c.most, Parallel: c.parallel})
			n.awaitAll(t, contents)
			n.mu.Lock()
			if n.most != c.want {
				t.Errorf("%d handlers at once, want %d", n.most, c.want)
			}
			if c.parallel {
				n.overlaps = 0 // that is what it means
			}
			n.mu.Unlock()
			n.wantOnce(t, contents)
		})
	}
}

// Without Parallel, messages of one slot, and so of one basis, never overlap,
// with retries and many slots at work.
func TestSerialWithinSlotAndBasis(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds {
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			rdb, topic := shared(t), topicOf(t, kind, 16)
			s := newSender(t, rdb, topic)
			n := newNotes()
			var failed, atOnce sync.Map
			work(t, rdb, Config{Backoff: verdict.Schedule(time.Millisecond)}, topic, n.around(func(_ context.Context, d *Delivery) error {
				basis := d.Content[:2]
				counter, _ := atOnce.LoadOrStore(basis, new(atomic.Int32))
				if counter.(*atomic.Int32).Add(1) > 1 {
					t.Errorf("two messages of basis %s at the same time", basis)
				}
				defer counter.(*atomic.Int32).Add(-1)
				if _, before := failed.LoadOrStore(d.Content, true); !before && len(d.Content)%2 == 0 {
					return fmt.Errorf("once")
				}
				return nil
			}), ListenOptions{NoBreaker: true}) // most fail once, which is no outage
			var ms []message.Message
			var contents []string
			for i := range 400 {
				content := fmt.Sprintf("%02d/%d", i%40, i)
				contents = append(contents, content)
				ms = append(ms, soon(topic, content, content[:2]))
			}
			_, err := s.SendBatch(ctx, topic, ms)
			must.Do(t, err)
			n.await(t, "all are handled, some twice", func() bool {
				if n.running > 0 || n.total < len(contents) {
					return false
				}
				for _, c := range contents {
					if len(n.attempts[c]) < 1+(len(c)+1)%2 {
						return false
					}
				}
				return true
			})
			n.mu.Lock()
			defer n.mu.Unlock()
			if n.overlaps > 0 {
				t.Errorf("%d overlaps within a slot", n.overlaps)
			}
		})
	}
}

// With one place and endless work in 16 slots, every slot gets its turn.
func TestOnePlaceIsSharedByAllSlots(t *testing.T) {
	t.Parallel()
	rdb, topic := shared(t), topicOf(t, message.KindPriority, 16)
	bases := basisOf(topic)
	seen := newNotes()
	slots := map[int]bool{}
	var c *Consumer
	ready := make(chan struct{})
	c = newConsumer(t, rdb, Config{Concurrency: 1})
	stop := make(chan struct{})
	must.Do(t, c.Listen(topic, seen.around(func(ctx context.Context, d *Delivery) error {
		<-ready
		seen.mu.Lock()
		slots[d.Slot] = true
		seen.mu.Unlock()
		select {
		case <-stop:
			return nil
		default: // comes back at once, so that the slot never runs out of work
			return rdb.ZAdd(ctx, keysOf(topic, d.Slot).Store, redisZ(100, d.Content)).Err()
		}
	}), ListenOptions{}))
	for slot, basis := range bases {
		_, err := newSender(t, rdb, topic).Send(ctx, topic, message.Priority{Content: fmt.Sprint(slot), SlotBasis: basis, Priority: 100})
		must.Do(t, err)
	}
	start(t, c)
	close(ready)
	seen.await(t, "every slot is worked at", func() bool { return len(slots) == topic.Slots })
	close(stop)
	seen.mu.Lock()
	defer seen.mu.Unlock()
	if seen.most != 1 {
		t.Errorf("%d handlers at once", seen.most)
	}
}

func redisZ(score float64, content string) redis.Z { return redis.Z{Score: score, Member: content} }

// Parallel runs the messages of one batch at the same time, however slow the
// topic is.
func TestParallelBatch(t *testing.T) {
	t.Parallel()
	together := new(intake.Size).Count(1)
	rdb, topic := shared(t), topicOf(t, message.KindPriority, 1)
	n := newNotes()
	contents := fill(t, newSender(t, rdb, topic), 3*together)
	gates := make(chan chan struct{}, 3)
	for range 3 {
		gates <- make(chan struct{})
	}
	var mu sync.Mutex
	arrived, gate := 0, (chan struct{})(nil)
	work(t, rdb, Config{Concurrency: together}, topic, n.around(func(context.Context, *Delivery) error {
		mu.Lock()
		if arrived%together == 0 {
			gate = <-gates
		}
		arrived++
		mine := gate
		if arrived%together == 0 {
			close(mine)
		}
		mu.Unlock()
		await.Signal(t, "the others of the batch are handled, too", mine)
		// Slow enough for batches of one, were they handled one by one.
		await.Pass(30 * time.Millisecond)
		return nil
	}), ListenOptions{Parallel: true})
	n.awaitAll(t, contents)
	n.mu.Lock()
	n.overlaps = 0
	if n.most != together {
		t.Errorf("%d at the same time, want %d", n.most, together)
	}
	n.mu.Unlock()
	n.wantOnce(t, contents)
}
