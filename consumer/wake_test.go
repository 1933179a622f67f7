package consumer

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/servers/wakeups"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/night"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
)

// In these tests the safety look comes once an hour unless said otherwise: a
// wake-up that got lost would make them hang.

// Every send wakes its slot: one message after the other, each sent when the
// one before is handled and all slots sleep or are about to.
func TestSendsWake(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds {
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			rdb, topic := shared(t), topicOf(t, kind, 4)
			s, n := newSender(t, rdb, topic), newNotes()
			work(t, rdb, Config{}, topic, n.done())
			contents := numbered("m", night.Times(60, 150))
			if kind == message.KindFixedTime {
				contents = contents[:30] // each is due in 50 ms
			}
			for _, c := range contents {
				s.send(t, c)
				n.awaitAll(t, []string{c})
			}
			n.wantOnce(t, contents)
		})
	}
}

// Who fills a topic by plain ZADD sends no wake-up: the safety look finds what
// is due now, what is due later, priorities, retries of literal topics, and the
// very content it has seen there before.
func TestSafetyLookFindsPlainWrites(t *testing.T) {
	t.Parallel()
	rdb := shared(t)
	for _, c := range []struct {
		kind    message.Kind
		literal bool
		score   func() float64
		attempt int
	}{
		{message.KindFixedTime, false, func() float64 { return float64(time.Now().UnixMilli() - 1) }, 1},
		{message.KindFixedTime, false, func() float64 { return float64(time.Now().UnixMilli() + 200) }, 1},
		{message.KindRangeMerge, true, func() float64 { return 12 }, 6},
		{message.KindPriority, false, func() float64 { return 1 << 52 }, 1},
		{message.KindPriority, true, func() float64 { return 16 }, 2},
	} {
		topic := topicOf(t, c.kind, 2)
		topic.Literal = c.literal
		n := newNotes()
		work(t, rdb, Config{}, topic, n.done(), ListenOptions{SafetyLook: 50 * time.Millisecond})
		for i := range 4 { // the same content and, for priorities, the same score
			must.Do(t, rdb.ZAdd(ctx, keysOf(topic, 1).Store, redisZ(c.score(), "x")).Err())
			n.await(t, fmt.Sprint(c.kind, " is found"), func() bool { return len(n.attempts["x"]) == i+1 && n.running == 0 })
		}
		n.mu.Lock()
		if n.attempts["x"][0] != c.attempt {
			t.Errorf("%v: attempt %v, want %d", c.kind, n.attempts["x"], c.attempt)
		}
		n.mu.Unlock()
	}
}

// timeHook counts safety looks: each asks for the time of the server.
type timeHook struct{ looks *atomic.Int64 }

func (h timeHook) DialHook(next redis.DialHook) redis.DialHook { return next }
func (h timeHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		h.count(cmd)
		return err
	}
}
func (h timeHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		h.count(cmds...)
		return err
	}
}

func (h timeHook) count(cmds ...redis.Cmder) {
	for _, cmd := range cmds {
		if cmd.Name() == "time" {
			h.looks.Add(1)
		}
	}
}

// However large the contents are, a look reads less than 100 bytes for each slot.
func TestSafetyLookReadsNoContents(t *testing.T) {
	t.Parallel()
	rdb := servertest.Redis(t).Client(t)
	for _, kind := range []message.Kind{message.KindFixedTime, message.KindPriority} {
		topic := topicOf(t, kind, 16)
		later, never := float64(time.Now().Add(time.Hour).UnixMilli()), newNotes()
		for slot := range topic.Slots {
			k, large := keysOf(topic, slot), strings.Repeat("x", 256<<10)
			must.Do(t, rdb.ZAdd(ctx, k.Retry, redisZ(later*100+16, large)).Err())
			if kind != message.KindPriority {
				must.Do(t, rdb.ZAdd(ctx, k.Store, redisZ(later, large+"y")).Err())
			}
		}
		var looks atomic.Int64
		worker := redis.NewClient(rdb.Options())
		t.Cleanup(func() { worker.Close() })
		worker.AddHook(timeHook{&looks})
		c := work(t, worker, Config{}, topic, never.done(), ListenOptions{SafetyLook: 50 * time.Millisecond})
		look := func(n int64) {
			from := looks.Load()
			await.True(t, "looks go on", func() bool { return looks.Load() >= from+n })
		}
		must.Do(t, c.settle(ctx))
		look(2)
		sent := func() (bytes int64) {
			info, err := rdb.Info(ctx, "stats").Result()
			must.Do(t, err)
			_, err = fmt.Sscanf(info[strings.Index(info, "total_net_output_bytes:"):], "total_net_output_bytes:%d", &bytes)
			must.Do(t, err)
			return bytes
		}
		before, first := sent(), looks.Load()
		look(10)
		after, last := sent(), looks.Load()
		if each := float64(after-before) / float64(last-first) / float64(topic.Slots); each > 1000 { // a content has 256 KiB
			t.Errorf("%v: a look reads %.0f bytes for each slot", kind, each)
		}
		must.Do(t, closeIn(c, await.Patience))
		never.mu.Lock()
		if never.total > 0 {
			t.Errorf("%v: %d deliveries", kind, never.total)
		}
		never.mu.Unlock()
	}
}

// The connection of the subscription is cut while messages are sent. They are
// found when it is there again.
func TestSubscriptionCut(t *testing.T) {
	t.Parallel()
	rdb := servertest.Redis(t).Client(t)
	topic := topicOf(t, message.KindPriority, 16)
	s, n := newSender(t, rdb, topic), newNotes()
	work(t, rdb, Config{}, topic, n.done())
	var contents []string
	for round := range 20 {
		killed, err := rdb.ClientKillByFilter(ctx, "TYPE", "pubsub").Result()
		must.Do(t, err)
		if killed != 1 {
			t.Errorf("%d subscriptions were cut", killed)
		}
		these := numbered(fmt.Sprint(round), 20)
		contents = append(contents, these...)
		s.send(t, these...)
		n.awaitAll(t, these)
		await.True(t, "it is subscribed again", func() bool {
			return rdb.PubSubNumSub(ctx, protocol.WakeChannel(topic.Name)).Val()[protocol.WakeChannel(topic.Name)] == 1
		})
	}
	n.wantOnce(t, contents)
}

// A subscription that is silent is asked for a sign of life.
func TestSilence(t *testing.T) {
	t.Parallel()
	rdb, topic := servertest.Redis(t).Client(t), topicOf(t, message.KindPriority, 1)
	c := newConsumer(t, rdb, Config{})
	if want := wakeups.SilenceOf(rdb); c.silence != want {
		t.Errorf("it asks after %v, want %v", c.silence, want)
	}
	c.silence = 5 * time.Millisecond
	n := newNotes()
	must.Do(t, c.Listen(topic, n.done(), ListenOptions{}))
	start(t, c)
	asked := calls(t, rdb)["ping"]
	await.True(t, "the silent server is asked again and again", func() bool { return calls(t, rdb)["ping"] > asked+30 })
	newSender(t, rdb, topic).send(t, "x")
	n.awaitAll(t, []string{"x"})
}

// Scripts are forgotten all the time while messages flow.
func TestScriptsForgotten(t *testing.T) {
	t.Parallel()
	messages := night.Times(3_000, 10_000)
	rdb := servertest.Redis(t).Client(t)
	topic := topicOf(t, message.KindPriority, 16)
	s, n := newSender(t, rdb, topic), newNotes()
	work(t, rdb, Config{}, topic, n.done())
	stop := make(chan struct{})
	var flushing sync.WaitGroup
	flushing.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				await.Pass(time.Millisecond)
				rdb.ScriptFlush(ctx)
			}
		}
	})
	contents := numbered("m", messages)
	for i := 0; i < messages; i += 200 {
		s.send(t, contents[i:i+200]...)
	}
	n.awaitAll(t, contents)
	close(stop)
	flushing.Wait()
	n.wantOnce(t, contents)
}

// Slots that are idle cost no turns, and one command a look for all of them; the next due
// message is slept to.
func TestIdleCost(t *testing.T) {
	t.Parallel()
	rdb := servertest.Redis(t).Client(t)
	topic := topicOf(t, message.KindFixedTime, 16)
	s, n := newSender(t, rdb, topic), newNotes()
	var looks atomic.Int64
	worker := redis.NewClient(rdb.Options())
	defer worker.Close()
	worker.AddHook(lookHook{func() { looks.Add(1) }})
	c := work(t, worker, Config{Lease: time.Hour}, topic, n.done(), ListenOptions{SafetyLook: 100 * time.Millisecond}) // so that it is not listed again meanwhile
	defer func() { must.Do(t, closeIn(c, await.Patience)) }()
	s.send(t, numbered("m", 100)...)
	n.await(t, "all are handled", func() bool { return n.total == 100 && n.running == 0 })
	must.Do(t, c.settle(ctx))

	look := func(k int64) {
		from := looks.Load()
		await.True(t, "looks go on", func() bool { return looks.Load() >= from+k })
	}
	look(2) // the first after the messages may wake slots
	must.Do(t, c.settle(ctx))
	before, first := calls(t, rdb), looks.Load()
	look(10)
	after, last := calls(t, rdb), looks.Load()
	if turns := after["evalsha"] - before["evalsha"]; turns != 0 {
		t.Errorf("%d turns while idle", turns)
	}
	if reads := after["exists"] - before["exists"]; reads == 0 || int64(reads) > last-first+1 || after["zcount"] > before["zcount"] {
		t.Errorf("%d reads in %d looks", reads, last-first)
	}

	before = after
	_, err := s.Send(ctx, topic, message.FixedTime{Content: "later", At: time.Now().Add(300 * time.Millisecond)})
	must.Do(t, err)
	n.awaitAll(t, []string{"later"})
	must.Do(t, c.settle(ctx)) // 16 turns
	// A storm would be hundreds.
	if turns := calls(t, rdb)["evalsha"] - before["evalsha"] - topic.Slots; turns > 2*topic.Slots {
		t.Errorf("%d turns for one message", turns)
	}
}

// lookHook notes each pipeline that looks at empty slots.
type lookHook struct{ look func() }

func (h lookHook) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (h lookHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }
func (h lookHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		if cmds[0].Name() == "exists" {
			h.look()
		}
		return err
	}
}

// calls reads how often each command was called from outside scripts. (Those
// that scripts call count as well, except for EVALSHA itself, which none calls.)
func calls(t testing.TB, rdb *redis.Client) map[string]int {
	t.Helper()
	info, err := rdb.Info(ctx, "commandstats").Result()
	must.Do(t, err)
	counts := map[string]int{}
	for line := range strings.Lines(info) {
		if name, stats, ok := strings.Cut(strings.TrimPrefix(line, "cmdstat_"), ":calls="); ok {
			n := 0
			_, err := fmt.Sscanf(stats, "%d,", &n)
			must.Do(t, err)
			counts[name] = n
		}
	}
	return counts
}

// A start heeds its context, cancelled or with a deadline, though Redis does not
// answer.
func TestStartHeedsItsContext(t *testing.T) {
	t.Parallel()
	server := servertest.SharedRedis(t)
	proxy := servertest.NewProxy(t, server.Addr())
	topic := topicOf(t, message.KindPriority, 4)
	n := newNotes()
	c := newConsumer(t, proxy.Client(t, func(o *redis.Options) {
		o.ReadTimeout, o.MaxRetries = 100*time.Millisecond, -1
	}), Config{})
	must.Do(t, c.Listen(topic, n.done(), ListenOptions{}))
	proxy.OnRequest(func(b []byte) bool { return !strings.Contains(string(b), "subscribe") })
	for _, how := range []func() (context.Context, context.CancelFunc){
		func() (context.Context, context.CancelFunc) { return context.WithTimeout(ctx, 50*time.Millisecond) },
		func() (context.Context, context.CancelFunc) {
			ending, cancel := context.WithCancel(ctx)
			time.AfterFunc(50*time.Millisecond, cancel)
			return ending, cancel
		},
	} {
		ending, cancel := how()
		if err := c.Start(ending); err == nil || errors.Is(err, errRunning) {
			t.Errorf("start: %v", err)
		}
		cancel()
	}
	proxy.OnRequest(nil)
	await.True(t, "it starts", func() bool { return c.Start(ctx) == nil }) // a busy server may take longer than the client waits
	newSender(t, server.Client(t), topic).send(t, "x")
	n.awaitAll(t, []string{"x"})
}
