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

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/internal/worker/verdict"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/slots"
)

// While a handler hangs, and its worker changes its id for that, the turn of another
// slot has no answer: one that nobody has ever worked at, and so has no number yet.
// The old session must end all the same, or the message that hangs comes never again.
func TestNewIDDuringAFirstTurn(t *testing.T) {
	t.Parallel()
	rdb, zks := shared(t), servertest.SharedZooKeeper(t)
	proxy := servertest.NewProxy(t, servertest.SharedRedis(t).Addr())
	topic := topicOf(t, message.KindPriority, 2)
	n := newNotes()
	release := make(chan struct{})
	var once sync.Once
	open := func() { once.Do(func() { close(release) }) }
	t.Cleanup(open)
	c := newConsumer(t, proxy.Client(t, func(o *redis.Options) { o.ReadTimeout = time.Minute }),
		Config{Slots: slots.ZooKeeper(sharedBy(t, zks, lasting)), Backoff: verdict.Schedule(time.Millisecond)})
	must.Do(t, c.Listen(topic, n.around(func(_ context.Context, d *Delivery) error {
		if d.Attempt == 1 {
			<-release
		}
		return nil
	}), ListenOptions{Timeout: 100 * time.Millisecond, hung: time.Second}))
	start(t, c)
	first := c.running.fleet.Present()
	_, err := newSender(t, rdb, topic).Send(ctx, topic, message.Priority{Content: "hangs", SlotBasis: basisOf(topic)[0], Priority: 100})
	must.Do(t, err)
	n.await(t, "it hangs", func() bool { return n.running == 1 })
	proxy.Freeze()
	c.topics[0].scheduled.Wake(1, 0)
	await.True(t, "the id is given up", func() bool { return setAside(c) == 2 })
	proxy.Thaw()
	n.await(t, "the message is delivered again", func() bool { return len(n.attempts["hangs"]) == 2 })
	if why := context.Cause(first.Handlers()); errors.Is(why, verdict.ErrLeaseLost) {
		t.Errorf("the session was not ended, but lost: %v", why)
	}
	open()
	n.await(t, "all handlers return", func() bool { return n.running == 0 })
	wantEmpty(t, rdb, topic)
	await.True(t, "nothing is left of the old term", func() bool { return setAside(c) == 0 })
}

// A topic that is defined differently now is not worked at. The worker's other topics go
// on, also under the next id, and so does this one when its definition agrees again.
func TestNewIDBesideAConflict(t *testing.T) {
	t.Parallel()
	rdb, zks := shared(t), servertest.SharedZooKeeper(t)
	good, bad := topicOf(t, message.KindPriority, 2), topicOf(t, message.KindPriority, 2)
	n := newNotes()
	how := sharedBy(t, zks, lasting)
	c := newConsumer(t, rdb, Config{Slots: slots.ZooKeeper(how)})
	for _, topic := range []message.Topic{good, bad} {
		must.Do(t, c.Listen(topic, n.done(), ListenOptions{}))
	}
	start(t, c)
	first := c.Worker()
	node := how.Root + "/topics/" + bad.Name
	conn := zks.Client(t, lasting)
	agreed, _, err := conn.Get(node)
	must.Do(t, err)
	_, err = conn.Set(node, []byte(strings.Replace(string(agreed), `"slots":2`, `"slots":4`, 1)), -1)
	must.Do(t, err)
	expire(t, zks, c)
	await.True(t, "the worker has another id", func() bool { return c.Worker() != first })
	newSender(t, rdb, good).send(t, "good")
	n.awaitAll(t, []string{"good"})
	newSender(t, rdb, bad).send(t, "bad")
	await.True(t, "it has all slots of one topic", func() bool { return owned(c) == 2 })
	n.mu.Lock()
	if n.attempts["bad"] != nil {
		t.Error("a topic whose definition differs is worked at")
	}
	n.mu.Unlock()

	_, err = conn.Set(node, agreed, -1)
	must.Do(t, err)
	second := c.Worker()
	expire(t, zks, c)
	await.True(t, "the worker has another id", func() bool { return c.Worker() != second })
	n.awaitAll(t, []string{"good", "bad"})
}

// A worker that comes back to another ensemble, where its servers' names lead now, knows
// nobody there, and would take all others for dead. It waits until it finds the old one.
func TestNewIDInAnotherTree(t *testing.T) {
	t.Parallel()
	rdb, zks, other := shared(t), servertest.SharedZooKeeper(t), servertest.ZooKeeper(t)
	topic := topicOf(t, message.KindPriority, 2)
	n := newNotes()
	how := sharedBy(t, zks, 5*time.Second)
	how.Root = "/" + topic.Name // a node that can be made at both
	release := make(chan struct{})
	var once sync.Once
	open := func() { once.Do(func() { close(release) }) }
	stays := how
	stays.SessionTimeout = lasting
	a := work(t, rdb, Config{Slots: slots.ZooKeeper(stays), Worker: "stays"}, topic, n.around(func(ctx context.Context, _ *Delivery) error {
		select {
		case <-release:
			return nil
		case <-ctx.Done(): // else a itself would begin again beside it, under its next id
			return ctx.Err()
		}
	}))
	var moved atomic.Bool
	how.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		if moved.Load() {
			addr = other.Addr()
		}
		return new(net.Dialer).DialContext(ctx, network, addr)
	}
	core, logs := observer.New(zap.ErrorLevel)
	b := work(t, rdb, Config{Slots: slots.ZooKeeper(how), Worker: "moves", Logger: zap.New(core)}, topic, n.done())
	t.Cleanup(open)
	await.True(t, "each has a slot", func() bool { return owned(a) == 1 && owned(b) == 1 })
	contents := numbered("m", 8)
	newSender(t, rdb, topic).send(t, contents...)
	n.await(t, "one is handled, and takes its time", func() bool { return n.running == 1 && n.total > 1 })
	moved.Store(true)
	expire(t, zks, b)
	await.True(t, "it finds another tree", func() bool {
		n.mu.Lock()
		defer n.mu.Unlock()
		if n.overlaps > 0 {
			t.Fatal("two handlers at one slot")
		}
		for _, line := range logs.All() {
			if strings.Contains(fmt.Sprint(line.ContextMap()), "the tree was") {
				return true
			}
		}
		return false
	})
	moved.Store(false)
	await.True(t, "each has a slot again", func() bool { return owned(a) == 1 && owned(b) == 1 })
	open()
	n.awaitAll(t, contents)
	n.wantOnce(t, contents)
}

// A worker that closes while its last session waits for a handler ends both sessions when
// all have returned: the one before may be the coordinator's.
func TestCloseEndsTheSessionBeforeToo(t *testing.T) {
	t.Parallel()
	rdb, zks := shared(t), servertest.SharedZooKeeper(t)
	n := newNotes()
	how := sharedBy(t, zks, lasting)
	c := newConsumer(t, rdb, Config{Slots: slots.ZooKeeper(how)})
	hangs, takesLong := make(chan struct{}), make(chan struct{})
	send := map[string]func(){}
	for content, x := range map[string]struct {
		ends <-chan struct{}
		most time.Duration // only one of the two is given up, however busy the machine is
	}{"hangs": {hangs, time.Second}, "takes long": {takesLong, time.Hour}} {
		topic := topicOf(t, message.KindPriority, 1)
		must.Do(t, c.Listen(topic, n.around(func(context.Context, *Delivery) error {
			<-x.ends
			return nil
		}), ListenOptions{Timeout: 100 * time.Millisecond, hung: x.most}))
		send[content] = func() {
			newSender(t, rdb, topic).send(t, content)
			n.await(t, content, func() bool { return n.attempts[content] != nil })
		}
	}
	start(t, c)
	first := c.Worker()
	send["takes long"]()
	send["hangs"]()
	await.True(t, "the worker has another id", func() bool { return c.Worker() != first })
	closed := make(chan error, 1)
	go func() { closed <- closeIn(c, await.Patience) }()
	await.Signal(t, "it closes", c.running.life.Background.Done())
	close(hangs)
	await.True(t, "one slot is left", func() bool { return setAside(c) == 1 })
	close(takesLong)
	must.Do(t, await.Signal(t, "it has closed", closed))
	if left := zks.Nodes(t).Children(how.Root + "/workers"); len(left) > 0 {
		t.Errorf("workers are left: %v", left)
	}
}

// A worker that coasts goes on without ZooKeeper, also when one of its handlers hangs: it
// cannot have another id, and keeps the one it has until it can.
func TestHangingHandlerWhileCoasting(t *testing.T) {
	t.Parallel()
	rdb, zks := shared(t), servertest.ZooKeeper(t)
	topic := topicOf(t, message.KindPriority, 2)
	n := newNotes()
	how := sharedBy(t, zks, 2*time.Second)
	how.OnOutage = slots.Coast
	release := make(chan struct{})
	c := newConsumer(t, rdb, Config{Slots: slots.ZooKeeper(how), Backoff: verdict.Schedule(time.Millisecond)})
	t.Cleanup(sync.OnceFunc(func() { close(release) }))
	must.Do(t, c.Listen(topic, n.around(func(_ context.Context, d *Delivery) error {
		if d.Content == "hangs" && d.Attempt == 1 {
			<-release
		}
		return nil
	}), ListenOptions{Timeout: 100 * time.Millisecond, hung: time.Second}))
	start(t, c)
	await.True(t, "it has all slots", func() bool { return owned(c) == 2 })
	zks.Kill()
	first, s := c.Worker(), newSender(t, rdb, topic)
	send := func(content string, slot int) {
		t.Helper()
		_, err := s.Send(ctx, topic, message.Priority{Content: content, SlotBasis: basisOf(topic)[slot], Priority: 100})
		must.Do(t, err)
		n.await(t, content+" is delivered", func() bool { return n.attempts[content] != nil })
	}
	send("hangs", 0)
	await.True(t, "it is given up", func() bool {
		return c.topics[0].scheduled.Status()[0].Hung || setAside(c) > 0
	})
	begun := time.Now()
	for i := 0; time.Since(begun) < 4*time.Second; i++ {
		send(fmt.Sprint("in the outage ", i), 1)
		await.Pass(20 * time.Millisecond)
	}
	if c.Worker() != first {
		t.Error("it has another id")
	}
	zks.Restart(t)
	n.await(t, "the message is delivered again", func() bool { return len(n.attempts["hangs"]) == 2 })
	send("afterwards", 1)
}

// The answer to a turn that leaves a slot gets lost. The repeated turn is refused, which
// looks like a batch that was taken over, and is none: nothing is said of that, and a
// worker that coasts keeps its id.
func TestLostReplyOfALeave(t *testing.T) {
	t.Parallel()
	server, zks := servertest.SharedRedis(t), servertest.SharedZooKeeper(t)
	proxy, rdb := servertest.NewProxy(t, server.Addr()), server.Client(t)
	topic := topicOf(t, message.KindPriority, 2)
	n := newNotes()
	how := sharedBy(t, zks, lasting)
	how.OnOutage = slots.Coast
	core, logs := observer.New(zap.InfoLevel)
	begun, release := make(chan struct{}), make(chan struct{})
	c := work(t, proxy.Client(t, func(o *redis.Options) { o.MaxRetries = -1 }), Config{Slots: slots.ZooKeeper(how), Logger: zap.New(core)}, topic,
		n.around(func(context.Context, *Delivery) error {
			close(begun)
			<-release
			return nil
		}))
	await.True(t, "it has all slots", func() bool { return owned(c) == 2 })
	newSender(t, rdb, topic).send(t, "m")
	await.Signal(t, "the message is in its handler", begun)
	first, store := c.Worker(), keysOf(topic, slotOf(topic, "m")).Store
	c.topics[0].scheduled.Assign(c.running.fleet.Present(), nil)
	lost := proxy.LoseNextReply("evalsha", store)
	close(release)
	await.Signal(t, "the reply is lost", lost)
	must.Do(t, c.settle(ctx))
	must.Do(t, closeIn(c, await.Patience))
	if c.Worker() != first {
		t.Error("the worker has another id")
	}
	said := ""
	for _, line := range logs.All() {
		if strings.Contains(line.Message, "another worker has proven it dead") || strings.Contains(line.Message, "gives up its id") ||
			strings.Contains(line.Message, "was taken over before") {
			t.Errorf("it says %q", line.Message)
		}
		if strings.Contains(line.Message, "answers of Redis got lost") {
			said = line.Message
		}
	}
	if said == "" {
		t.Errorf("nothing is said of the repeated turn: %v", logs.All())
	}
	n.wantOnce(t, []string{"m"})
	wantEmpty(t, rdb, topic)
}

// A batch is taken over from a worker that lives, as its turn finds out. Its id has been
// proven dead then. One that coasts hears that in no other way, and takes another id. One
// that does not coast hears it from ZooKeeper, and goes by that alone.
func TestTakenOverWhileItLives(t *testing.T) {
	t.Parallel()
	for _, outage := range []slots.Outage{slots.Coast, slots.Stop} {
		t.Run(fmt.Sprint(outage), func(t *testing.T) {
			t.Parallel()
			rdb, topic := shared(t), topicOf(t, message.KindPriority, 1)
			n := newNotes()
			how := sharedBy(t, servertest.SharedZooKeeper(t), lasting)
			how.OnOutage = outage
			begun, release := make(chan struct{}, 2), make(chan struct{})
			c := work(t, rdb, Config{Slots: slots.ZooKeeper(how)}, topic, n.around(func(context.Context, *Delivery) error {
				begun <- struct{}{}
				<-release
				return nil
			}))
			newSender(t, rdb, topic).send(t, "m")
			await.Signal(t, "the message is in its handler", begun)
			first := c.Worker()
			other := protocol.Turn{Keys: keysOf(topic, 0), Priority: true, Worker: "other", DeadHolder: first, Count: 1, TakeoverDelay: 300 * time.Millisecond}
			scripts := protocol.New(rdb)
			turn := scripts.TurnCmd(ctx, &other)
			scripts.Exec(ctx, turn)
			close(release)
			must.Do(t, turn.Err())
			n.await(t, "it comes again", func() bool { return n.total == 2 && n.running == 0 })
			if outage == slots.Coast {
				await.True(t, "another id", func() bool { return c.Worker() != first })
			} else if c.Worker() != first {
				t.Error("it has another id")
			}
			wantEmpty(t, rdb, topic)
		})
	}
}

// Several handlers of a parallel batch that ignore their context cost no place, either.
func TestHungHandlersOfABatchLeaveTheirPlaces(t *testing.T) {
	t.Parallel()
	rdb, zks := shared(t), servertest.SharedZooKeeper(t)
	for way, sharing := range map[string]slots.Sharing{"leases": nil, "ZooKeeper": slots.ZooKeeper(sharedBy(t, zks, lasting))} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			topic := topicOf(t, message.KindFixedTime, 1)
			n := newNotes()
			release := make(chan struct{})
			c := newConsumer(t, rdb, Config{Slots: sharing, Concurrency: 4, Lease: time.Second, Backoff: verdict.Schedule(time.Millisecond)})
			t.Cleanup(sync.OnceFunc(func() { close(release) }))
			must.Do(t, c.Listen(topic, n.around(func(_ context.Context, d *Delivery) error {
				if d.Attempt == 1 {
					<-release
				}
				return nil
			}), ListenOptions{Parallel: true, Timeout: 100 * time.Millisecond, hung: time.Second}))
			start(t, c)
			contents := numbered("m", 4)
			at := time.Now().Add(300 * time.Millisecond)
			var ms []message.Message
			for _, content := range contents {
				ms = append(ms, message.FixedTime{Content: content, At: at})
			}
			_, err := newSender(t, rdb, topic).SendBatch(ctx, topic, ms)
			must.Do(t, err)
			n.await(t, "all are delivered to others while the first ones hang", func() bool {
				for _, content := range contents {
					if len(n.attempts[content]) < 2 {
						return false
					}
				}
				return n.running == len(contents)
			})
			await.True(t, "all places are free", func() bool {
				return places(c) == 0
			})
		})
	}
}
