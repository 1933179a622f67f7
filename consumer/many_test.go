package consumer

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
)

// largest notes the longest command, and how many requests of one kind were under way
// at the same time.
type largest struct {
	mu          sync.Mutex
	words       int
	most, going int
	lists       int // requests for lists of members, of many each
}

func (l *largest) DialHook(next redis.DialHook) redis.DialHook { return next }

func (l *largest) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		return l.note([]redis.Cmder{cmd}, func() error { return next(ctx, cmd) })
	}
}

func (l *largest) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		return l.note(cmds, func() error { return next(ctx, cmds) })
	}
}

func (l *largest) note(cmds []redis.Cmder, next func() error) error {
	beside := 0
	if args := cmds[0].Args(); len(args) > 3 && strings.HasPrefix(fmt.Sprint(args[3]), "rmq:workers{") {
		beside = 1
	}
	l.mu.Lock()
	for _, cmd := range cmds {
		l.words = max(l.words, len(cmd.Args()))
	}
	l.going += beside
	l.most = max(l.most, l.going)
	l.lists += beside
	l.mu.Unlock()
	err := next()
	l.mu.Lock()
	l.going -= beside
	l.mu.Unlock()
	return err
}

// A worker of many topics starts with small commands, handles what waits in all of
// them, and refreshes a few lists of members at a time.
func TestManyTopics(t *testing.T) {
	t.Parallel()
	const topics = 200
	rdb := shared(t)
	pipe := rdb.Pipeline()
	c := newConsumer(t, rdb, Config{})
	n, notes := []string{}, newNotes()
	for i := range topics {
		topic, content := topicOf(t, message.KindPriority, 16), fmt.Sprint(i)
		must.Do(t, c.Listen(topic, notes.done(), ListenOptions{}))
		pipe.ZAdd(ctx, keysOf(topic, slotOf(topic, content)).Store, redisZ(100, content))
		n = append(n, content)
	}
	_, err := pipe.Exec(ctx)
	must.Do(t, err)
	seen := &largest{}
	rdb.AddHook(seen)
	start(t, c)
	seen.mu.Lock()
	if most := 2*topics/64 + 10; seen.lists > most {
		t.Errorf("the start asked %d times for lists of members", seen.lists)
	}
	seen.mu.Unlock()
	notes.awaitAll(t, n)
	notes.mu.Lock()
	notes.overlaps = 0 // in a slot, and here they are of many topics
	notes.mu.Unlock()
	notes.wantOnce(t, n)
	for i := range c.topics {
		wakeHandler{c.running}.Missed(i)
	}
	must.Do(t, c.settle(ctx))
	must.Do(t, closeIn(c, await.Patience))
	seen.mu.Lock()
	defer seen.mu.Unlock()
	if seen.words > 5000 || seen.most > 16 {
		t.Errorf("a command of %d words; %d lists of members asked for at a time", seen.words, seen.most)
	}
}

// trips counts commands by their name, keys that are asked for by EXISTS, and the round
// trips in which it all went.
type trips struct {
	mu     sync.Mutex
	by     map[string]int
	keys   int
	trips  int
	turned map[string]bool // slots, by the name of the store
}

func (c *trips) DialHook(next redis.DialHook) redis.DialHook { return next }

func (c *trips) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		c.note(cmd)
		return next(ctx, cmd)
	}
}

func (c *trips) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		c.note(cmds...)
		return next(ctx, cmds)
	}
}

func (c *trips) note(cmds ...redis.Cmder) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.trips++
	for _, cmd := range cmds {
		c.by[cmd.Name()]++
		if cmd.Name() == "exists" {
			c.keys += len(cmd.Args()) - 1
		}
		if args := cmd.Args(); cmd.Name() == "evalsha" && fmt.Sprint(args[2]) != "0" && !strings.HasPrefix(fmt.Sprint(args[3]), "rmq:") {
			c.turned[fmt.Sprint(args[3])] = true
		}
	}
}

// What is done for each topic now and then costs few commands and round trips: empty slots
// of many topics are looked at together, and so are the lists of members.
func TestIdleTopicsCostLittle(t *testing.T) {
	t.Parallel()
	const topics, slots = 200, 16
	rdb := shared(t)
	c := newConsumer(t, rdb, Config{Lease: time.Hour})
	for range topics {
		must.Do(t, c.Listen(topicOf(t, message.KindPriority, slots), newNotes().done(), ListenOptions{}))
	}
	start(t, c)
	seen := &trips{by: map[string]int{}, turned: map[string]bool{}}
	await.True(t, "the first looks are through", func() bool {
		for _, topic := range c.topics {
			for _, x := range topic.scheduled.Status() {
				if x.Unseen {
					return false
				}
			}
		}
		return true
	})
	rdb.AddHook(seen)
	for i := range c.topics {
		wakeHandler{c.running}.Missed(i)
	}
	await.True(t, "each topic is looked after", func() bool {
		seen.mu.Lock()
		defer seen.mu.Unlock()
		return seen.keys >= 3*topics*slots && seen.by["evalsha"] >= topics
	})
	seen.mu.Lock()
	defer seen.mu.Unlock()
	t.Logf("%v in %d round trips", seen.by, seen.trips)
	if seen.by["zcount"]+seen.by["zcard"]+len(seen.turned) > 0 || seen.by["exists"] > topics || seen.trips > topics {
		t.Errorf("%v in %d round trips", seen.by, seen.trips)
	}
}

// Where something is in one slot among many empty ones, that one alone takes a turn, and what is wrong
// with another one keeps nobody from being looked at.
func TestLookAmongManySlots(t *testing.T) {
	t.Parallel()
	rdb := servertest.Redis(t).Client(t)
	c := newConsumer(t, rdb, Config{})
	n := newNotes()
	for range 40 {
		must.Do(t, c.Listen(topicOf(t, message.KindPriority, 16), n.done(), ListenOptions{}))
	}
	ill, sound := c.topics[3], c.topics[20]
	for i := range ill.Slots {
		must.Do(t, rdb.Set(ctx, keysOf(ill.Topic.Topic, i).Retry, "x", 0).Err())
	}
	seen := &trips{by: map[string]int{}, turned: map[string]bool{}}
	rdb.AddHook(seen)
	start(t, c)
	must.Do(t, rdb.ZAdd(ctx, keysOf(sound.Topic.Topic, 9).Store, redisZ(100, "a")).Err())
	for i := range c.topics {
		wakeHandler{c.running}.Missed(i)
	}
	n.awaitAll(t, []string{"a"})
	seen.mu.Lock()
	for i := range ill.Slots {
		delete(seen.turned, keysOf(ill.Topic.Topic, i).Store)
	}
	if len(seen.turned) != 1 {
		t.Errorf("turns at %v", seen.turned)
	}
	seen.mu.Unlock()
	for i := range ill.Slots {
		must.Do(t, rdb.Del(ctx, keysOf(ill.Topic.Topic, i).Retry).Err())
	}
}

// A Backoff that blocks holds up the looks at no other topic.
func TestBackoffHoldsUpNoLook(t *testing.T) {
	t.Parallel()
	rdb := shared(t)
	c := newConsumer(t, rdb, Config{})
	n, called, release := newNotes(), make(chan struct{}), make(chan struct{})
	t.Cleanup(func() { close(release) })
	var once sync.Once
	block := func(int) time.Duration {
		once.Do(func() { close(called) })
		<-release
		return time.Second
	}
	const topics = 100 // if the looks waited for all of them, a hundred times delayHolds
	for range topics {
		topic := topicOf(t, message.KindPriority, 1)
		ghost := protocol.Turn{Keys: keysOf(topic, 0), Priority: true, Worker: "ghost", Lease: time.Millisecond, Count: 1}
		must.Do(t, rdb.ZAdd(ctx, ghost.Keys.Store, redisZ(100, "x")).Err())
		turn(t, rdb, &ghost, protocol.Batch)
		must.Do(t, c.Listen(topic, n.done(), ListenOptions{Backoff: block}))
	}
	sound := topicOf(t, message.KindPriority, 1)
	must.Do(t, c.Listen(sound, n.done(), ListenOptions{}))
	start(t, c)
	await.Signal(t, "a look has seen a batch that is to be taken over", called)
	must.Do(t, rdb.ZAdd(ctx, keysOf(sound, 0).Store, redisZ(100, "sound")).Err())
	wakeHandler{c.running}.Missed(topics)
	n.awaitAll(t, []string{"sound"})
}
