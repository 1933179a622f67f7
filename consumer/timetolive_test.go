package consumer

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/servers/frozen"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/night"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/internal/testing/sharetest"
	"github.com/slotmq/go-rmq/internal/worker/verdict"
	"github.com/slotmq/go-rmq/message"
)

// What is past its time to live is not handled but dead, with a reason, or gone; what is not is
// handled. So it is however messages are handled, and in every kind.
func TestTimeToLive(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds {
		for _, how := range waysToHandle {
			for _, expired := range []Expired{ExpiredDead, ExpiredDrop} {
				testTimeToLive(t, notedTopic(t, kind, 1), how, expired)
			}
		}
	}
}

func testTimeToLive(t *testing.T, topic message.Topic, how string, expired Expired) {
	rdb := shared(t)
	now := rdb.Time(ctx).Val()
	over, inTime := numbered("over", 60), numbered("in-time", 60)
	notes := map[string]string{}
	for i := range over {
		notes[over[i]] = ending(now.Add(-time.Duration(i) * time.Second))
		notes[inTime[i]] = ending(now.Add(time.Hour))
	}
	put(t, rdb, topic, 0, notes)
	core, logs := observer.New(zap.InfoLevel)
	seen, n := newLedger(t), newNotes()
	listenNoted(t, rdb, Config{Logger: zap.New(core), Observers: []message.Observer{seen}}, topic, how, ListenOptions{Expired: expired}, n.around(func(_ context.Context, d *Delivery) error {
		if strings.HasPrefix(d.Content, "over") {
			t.Errorf("%s is handled", d.Content)
		}
		return nil
	}))
	what := map[Expired]message.What{ExpiredDead: message.Died, ExpiredDrop: message.Dropped}[expired]
	seen.await("all have ended", func() bool { return seen.ends[what] == len(over) && seen.ends[message.Done] == len(inTime) })
	seen.mu.Lock()
	for _, x := range seen.items {
		if x.What == what && (!strings.HasPrefix(x.Content, "over") || !strings.HasPrefix(x.Reason, "expired: its time to live ended 2") || x.Took != 0 || x.Err != ErrExpired) {
			t.Errorf("%s: %s, after %v: %v", x.What, x.Reason, x.Took, x.Err)
		}
	}
	seen.mu.Unlock()
	await.True(t, "the log names as many as came too late", func() bool {
		said := 0
		for _, line := range logs.FilterMessageSnippet("messages came too late").All() {
			said += int(line.ContextMap()["messages"].(int64))
		}
		return said == len(over)
	})
	awaitNotes(t, rdb, topic, 0)
	if died := rdb.ZCard(ctx, keysOf(topic, 0).Dead).Val(); died != map[Expired]int64{ExpiredDead: int64(len(over))}[expired] {
		t.Errorf("%v %s, expired %v: %d are dead", topic.Kind, how, expired, died)
	}
	must.Do(t, rdb.Del(ctx, keysOf(topic, 0).Dead).Err())
	wantEmpty(t, rdb, topic)
}

// A time to live that ends while a message waits for its retry ends the message.
func TestTimeToLiveEndsBeforeARetry(t *testing.T) {
	t.Parallel()
	for _, how := range waysToHandle {
		rdb, topic := shared(t), notedTopic(t, message.KindPriority, 1)
		put(t, rdb, topic, 0, map[string]string{"m": ending(time.Now().Add(time.Hour))})
		n := newNotes()
		listenNoted(t, rdb, Config{}, topic, how, ListenOptions{}, n.around(func(_ context.Context, d *Delivery) error {
			rdb.HSet(ctx, protocol.NoteKey(topic.Name, 0), "m", ending(rdb.Time(ctx).Val().Add(time.Millisecond)))
			return verdict.RetryError(2*time.Millisecond, errors.New("oops"))
		}))
		why := awaitDead(t, rdb, topic, 0, "m")
		if !strings.HasPrefix(why.Reason, "expired: its time to live ended") || why.Attempts != 2 || n.total != 1 {
			t.Errorf("%s: %+v, after %d deliveries", how, why, n.total)
		}
	}
}

// A worker dies with a message, and the time to live is over when another one takes it over.
func TestTimeToLiveEndsBeforeATakeover(t *testing.T) {
	t.Parallel()
	rdb, topic := shared(t), notedTopic(t, message.KindFixedTime, 1)
	put(t, rdb, topic, 0, map[string]string{"m": ending(time.Now().Add(time.Millisecond))})
	turn := protocol.Turn{Keys: keysOf(topic, 0), Worker: "dies", Lease: time.Millisecond, Count: 10}
	if a := takeTurn(t, rdb, &turn); a.Code == protocol.Number {
		turn.Fence = a.Fence
		takeTurn(t, rdb, &turn)
	}
	n := newNotes()
	work(t, rdb, Config{}, topic, n.done(), ListenOptions{Backoff: verdict.Schedule(time.Millisecond), SafetyLook: 20 * time.Millisecond})
	if why := awaitDead(t, rdb, topic, 0, "m"); !strings.HasPrefix(why.Reason, "expired: its time to live ended") || why.Attempts != 2 || n.total > 0 {
		t.Errorf("%+v, after %d deliveries", why, n.total)
	}
}

// movingClock is the clock of an in-memory Redis. It stands still but while a batch is taken, its
// notes are read, and its lease is kept: then it may have moved for any time.
type movingClock struct {
	server *miniredis.Miniredis

	mu   sync.Mutex
	now  time.Time
	step func() time.Duration
}

func (c *movingClock) read() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *movingClock) move() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(c.step())
	c.server.SetTime(c.now)
}

func (c *movingClock) before(cmd redis.Cmder) {
	a := cmd.Args()
	if turn := cmd.Name() == "evalsha" && fmt.Sprint(a[2]) == "6"; turn || cmd.Name() == "hmget" {
		c.move()
	}
}

func (c *movingClock) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (c *movingClock) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		c.before(cmd)
		return next(ctx, cmd)
	}
}

func (c *movingClock) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		for _, cmd := range cmds {
			c.before(cmd)
		}
		return next(ctx, cmds)
	}
}

// However the time passes, nothing is handled when its time to live is over, at a first delivery
// or a retry, and nothing expires before.
func TestNeverHandledAfterItsTimeToLive(t *testing.T) {
	t.Parallel()
	draw := sharetest.Rand(t)
	var mu sync.Mutex
	random := func(n int) int {
		mu.Lock()
		defer mu.Unlock()
		return draw.IntN(n)
	}
	var expiredAt [18]atomic.Int64 // by attempt
	for range night.Times(4, 12) {
		for _, how := range []string{"one by one", "together"} {
			server, rdb := servertest.Memory(t)
			topic := notedTopic(t, message.KindFixedTime, 1)
			clock := &movingClock{server: server, now: time.Now().Truncate(time.Second)}
			server.SetTime(clock.now)
			clock.step = func() time.Duration { return time.Duration(random(3)) * time.Millisecond }
			frozen.Set(rdb, clock.read)
			t.Cleanup(func() { frozen.Forget(rdb) })
			all := map[string]string{}
			ends := map[string]time.Time{}
			for _, content := range numbered("m", 50) {
				ends[content] = clock.now.Add(time.Duration(random(100)) * time.Millisecond)
				all[content] = ending(ends[content])
			}
			put(t, rdb, topic, 0, all)
			rdb.AddHook(clock)
			n := newNotes()
			ended := message.ObserverFunc(func(e *message.Event) {
				for _, x := range e.Items {
					if x.What == message.Dropped && clock.read().Before(ends[x.Content]) {
						t.Errorf("%s expires %v before its end", x.Content, ends[x.Content].Sub(clock.read()))
					}
					if x.What == message.Dropped {
						expiredAt[x.Attempt].Add(1)
					}
				}
			})
			listenNoted(t, rdb, Config{Observers: []message.Observer{ended}}, topic, how, ListenOptions{Expired: ExpiredDrop}, n.around(func(_ context.Context, d *Delivery) error {
				if end := ends[d.Content]; !clock.read().Before(end) || !d.Expires().Equal(end) {
					t.Errorf("%s, attempt %d, handled %v after its end; told %v", how, d.Attempt, clock.read().Sub(end), d.Expires())
				}
				if how == "one by one" && random(2) == 0 {
					clock.move()
				}
				if random(3) > 0 {
					return verdict.RetryError(time.Duration(1+random(5))*time.Millisecond, errors.New("oops"))
				}
				return nil
			}))
			wantEmpty(t, rdb, topic)
		}
	}
	if expiredAt[1].Load() == 0 || expiredAt[2].Load() == 0 {
		t.Error("not all of it happened")
	}
}

// lateRenewal has the lease of a batch be over when its notes are told, as if the process had stood
// still. Its renewal, for which the first handler has to wait, takes time by the clock of Redis.
type lateRenewal struct {
	*movingClock
	stoodStill func()
}

func (h *lateRenewal) before(cmd redis.Cmder) {
	switch a := cmd.Args(); {
	case cmd.Name() == "hmget":
		h.stoodStill()
	case cmd.Name() == "evalsha" && fmt.Sprint(a[2]) == "1" && strings.HasPrefix(fmt.Sprint(a[3]), "meta{"):
		h.move()
	}
}

func (h *lateRenewal) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		h.before(cmd)
		return next(ctx, cmd)
	}
}

func (h *lateRenewal) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		for _, cmd := range cmds {
			h.before(cmd)
		}
		return next(ctx, cmds)
	}
}

// A time to live that ends while the worker asks whether the batch is still its own has ended.
func TestTimeToLiveEndsWhileTheLeaseIsRenewed(t *testing.T) {
	t.Parallel()
	server, rdb := servertest.Memory(t)
	topic := notedTopic(t, message.KindFixedTime, 1)
	clock := &movingClock{server: server, now: time.Now().Truncate(time.Second), step: func() time.Duration { return time.Minute }}
	server.SetTime(clock.now)
	frozen.Set(rdb, clock.read)
	t.Cleanup(func() { frozen.Forget(rdb) })
	began := clock.now
	put(t, rdb, topic, 0, map[string]string{"m": ending(began.Add(time.Minute))})
	c := newConsumer(t, rdb, Config{})
	rdb.AddHook(&lateRenewal{clock, func() {
		for _, x := range c.running.schedule.Assigned(c.topics[0].scheduled) {
			asSlot(x).watchdog.Doubt()
		}
	}})
	must.Do(t, c.Listen(topic, ListenerFunc(func(_ context.Context, d *Delivery) error {
		t.Errorf("%s is handled %v after its end", d.Content, clock.read().Sub(d.Expires()))
		return nil
	}), ListenOptions{Expired: ExpiredDrop}))
	start(t, c)
	wantEmpty(t, rdb, topic)
	if !clock.read().Equal(began.Add(time.Minute)) {
		t.Errorf("the lease was not renewed once: %v have passed", clock.read().Sub(began))
	}
}

// lostTake has the first take of a batch wait, until a time to live has ended that it gives the
// message, and then loses the answer.
type lostTake struct {
	lost func() bool // does so; it is false if there was no batch
	once bool
}

func (h *lostTake) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h *lostTake) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if a := cmd.Args(); !strings.HasPrefix(cmd.Name(), "eval") || fmt.Sprint(a[2]) != "6" || h.once || !h.lost() {
			return err
		}
		h.once = true
		cmd.SetErr(errors.New("no answer"))
		return cmd.Err()
	}
}

func (h *lostTake) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// The answer of a take gets lost, and the batch is told again: its number is of before, and says
// nothing of what time it is by then.
func TestTimeToLiveEndsBeforeABatchIsToldAgain(t *testing.T) {
	t.Parallel()
	other, rdb, topic := shared(t), shared(t), notedTopic(t, message.KindPriority, 1)
	put(t, other, topic, 0, map[string]string{"m": ""})
	rdb.AddHook(&lostTake{lost: func() bool {
		if other.ZCard(ctx, keysOf(topic, 0).Prepare).Val() == 0 {
			return false
		}
		end := other.Time(ctx).Val().Add(500 * time.Millisecond)
		must.Do(t, other.HSet(ctx, protocol.NoteKey(topic.Name, 0), "m", ending(end)).Err())
		await.True(t, "its time to live is over", func() bool { return other.Time(ctx).Val().After(end) })
		return true
	}})
	n := newNotes()
	work(t, rdb, Config{}, topic, n.done())
	if why := awaitDead(t, other, topic, 0, "m"); !strings.HasPrefix(why.Reason, "expired: its time to live ended") || n.total > 0 {
		t.Errorf("%+v, after %d deliveries", why, n.total)
	}
}

// Redis forgets in a failover that a batch was done, and tells it again to the worker that had it:
// the number is of long before.
func TestTimeToLiveEndsBeforeAForgottenFinish(t *testing.T) {
	t.Parallel()
	rdb, topic := shared(t), notedTopic(t, message.KindPriority, 1)
	keys := keysOf(topic, 0)
	put(t, rdb, topic, 0, map[string]string{"m": ""})
	n := newNotes()
	work(t, rdb, Config{}, topic, n.done(), ListenOptions{SafetyLook: 20 * time.Millisecond})
	n.awaitAll(t, []string{"m"})
	await.True(t, "it is done", func() bool { return rdb.Exists(ctx, keys.Prepare).Val() == 0 })
	now := rdb.Time(ctx).Val()
	end := now.Add(500 * time.Millisecond)
	await.True(t, "its time to live is over", func() bool { return rdb.Time(ctx).Val().After(end) })
	_, err := rdb.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
		pipe.ZAdd(ctx, keys.Prepare, redisZ(float64(now.Unix()*1000+16), "m"))
		pipe.HSet(ctx, protocol.NoteKey(topic.Name, 0), "m", ending(end))
		pipe.ZAdd(ctx, keys.Store, redisZ(1000, "wakes the slot"))
		return nil
	})
	must.Do(t, err)
	why := awaitDead(t, rdb, topic, 0, "m")
	n.mu.Lock() // the other one may be handled just now
	defer n.mu.Unlock()
	if !strings.HasPrefix(why.Reason, "expired: its time to live ended") || len(n.attempts["m"]) != 1 {
		t.Errorf("%+v, after %d deliveries", why, len(n.attempts["m"]))
	}
}
