package consumer

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/message"
)

// perTurn is what the schedule takes for a slot that is woken, turns and sleeps
// again.
func perTurn(topics int) time.Duration {
	const turns = 4000
	s, all := stage(64, slices.Repeat([]int{2}, topics)...)
	rest := func() {
		for s.queues.length > 0 {
			slots, _ := s.next(8, nil, nil)
			for _, x := range slots {
				s.rest(x, time.Now().Add(time.Hour))
			}
		}
	}
	rest()
	begin := time.Now()
	for i := range turns {
		s.wake(all[i*7919%topics], i%2, 0)
		if i%8 == 7 {
			rest()
		}
	}
	rest()
	return time.Since(begin) / turns
}

// The schedule takes about as long for a turn with thousands of topics as with a
// few.
func TestTurnsOfManyTopicsAreQuick(t *testing.T) {
	t.Parallel()
	few, many := time.Hour, time.Hour
	for range 3 { // the best of some, as the machine may be busy
		few, many = min(few, perTurn(10)), min(many, perTurn(3000))
	}
	t.Logf("%v with 10 topics, %v with 3000", few, many)
	if many > 25*few {
		t.Errorf("a turn takes %v with 10 topics, and %v with 3000", few, many)
	}
}

// largest notes the longest command, and how many requests of one kind were under way
// at the same time.
type largest struct {
	mu          sync.Mutex
	words       int
	most, going int
}

func (l *largest) DialHook(next redis.DialHook) redis.DialHook { return next }

func (l *largest) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		beside := 0
		if args := cmd.Args(); len(args) > 3 && strings.HasPrefix(fmt.Sprint(args[3]), "rmq:workers{") {
			beside = 1
		}
		l.mu.Lock()
		l.words = max(l.words, len(cmd.Args()))
		l.going += beside
		l.most = max(l.most, l.going)
		l.mu.Unlock()
		err := next(ctx, cmd)
		l.mu.Lock()
		l.going -= beside
		l.mu.Unlock()
		return err
	}
}

func (l *largest) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		l.mu.Lock()
		for _, cmd := range cmds {
			l.words = max(l.words, len(cmd.Args()))
		}
		l.mu.Unlock()
		return next(ctx, cmds)
	}
}

// A worker of many topics starts with small commands, handles what waits in all of
// them, and refreshes a few lists of members at a time.
func TestManyTopics(t *testing.T) {
	t.Parallel()
	const topics = 400
	rdb := shared(t)
	pipe := rdb.Pipeline()
	c := newConsumer(t, rdb, Config{})
	n, notes := []string{}, newNotes()
	for i := range topics {
		topic, content := topicOf(t, message.KindPriority, 16), fmt.Sprint(i)
		must(t, c.Listen(topic, notes.done(), ListenOptions{}))
		pipe.ZAdd(ctx, keysOf(topic, slotOf(topic, content)).Store, redisZ(100, content))
		n = append(n, content)
	}
	_, err := pipe.Exec(ctx)
	must(t, err)
	seen := &largest{}
	rdb.AddHook(seen)
	must(t, c.Start(ctx))
	notes.awaitAll(t, n)
	notes.mu.Lock()
	notes.overlaps = 0 // in a slot, and here they are of many topics
	notes.mu.Unlock()
	notes.wantOnce(t, n)
	for _, topic := range c.topics {
		c.missed(topic)
	}
	must(t, c.Settle(ctx))
	must(t, closeIn(c, patience))
	seen.mu.Lock()
	defer seen.mu.Unlock()
	if seen.words > 5000 || seen.most > besides {
		t.Errorf("a command of %d words; %d lists of members asked for at a time", seen.words, seen.most)
	}
}

// What is done for each topic now and then is spread over the time between.
func TestTopicsAreLookedAfterOneByOne(t *testing.T) {
	t.Parallel()
	c := newConsumer(t, shared(t), Config{})
	for range 10 {
		must(t, c.Listen(topicOf(t, message.KindPriority, 1), newNotes().done(), ListenOptions{}))
	}
	must(t, c.Start(ctx))
	for i, topic := range c.topics {
		if got, want := topic.first(time.Minute), time.Duration(i+1)*6*time.Second; got != want {
			t.Errorf("topic %d is first looked after in %v, want %v", i, got, want)
		}
	}
}
