package consumer

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/internal/worker/schedule"
	"github.com/slotmq/go-rmq/internal/worker/verdict"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/slots"
)

// sharedBy is a way of sharing on a ZooKeeper server, below a root of the test's.
func sharedBy(t testing.TB, zks *servertest.ZooKeeperServer, timeout time.Duration) slots.ZooKeeperConfig {
	return slots.ZooKeeperConfig{Servers: zks.Servers(), Root: zks.Chroot(t), SessionTimeout: timeout}
}

// lasting is the timeout of sessions that must not end by themselves, however busy the machine is.
const lasting = 30 * time.Second

// cutFrom is the same through a network of the test's own.
func cutFrom(t testing.TB, timeout time.Duration) (slots.ZooKeeperConfig, *servertest.Proxy) {
	zks := servertest.SharedZooKeeper(t)
	proxy := servertest.NewProxy(t, zks.Addr())
	how := sharedBy(t, zks, timeout)
	how.Servers = []string{proxy.Addr()}
	return how, proxy
}

// believes has a worker believe that its session lasts for so long, while it lasts longer: so ZooKeeper
// does not end it, however busy the machine is.
func believes(how *slots.ZooKeeperConfig, timeout time.Duration) {
	how.SessionTimeout = lasting
	how.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, addr)
		return &welcomed{Conn: conn, granted: binary.BigEndian.AppendUint32(nil, uint32(timeout.Milliseconds()))}, err
	}
}

// welcomed is a connection on which the server's welcome grants another timeout. It stands after a length
// and a version, of four bytes each.
type welcomed struct {
	net.Conn
	granted []byte
	read    int
}

func (w *welcomed) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	for i := range p[:n] {
		if at := w.read + i - 8; at >= 0 && at < len(w.granted) {
			p[i] = w.granted[at]
		}
	}
	w.read += n
	return n, err
}

// expire ends the session of a worker at once.
func expire(t testing.TB, zks *servertest.ZooKeeperServer, c *Consumer) {
	t.Helper()
	// The id is name-session-random.
	parts := strings.Split(c.Worker(), "-")
	var session int64
	if _, err := fmt.Sscanf(parts[len(parts)-2], "%x", &session); err != nil {
		t.Fatalf("session of %s: %v", c.Worker(), err)
	}
	zks.ExpireSession(t, session)
}

// Two workers share the slots evenly, one leaves under load, another comes: every
// message is handled once, none of them at the same time as another of its slot, and
// no attempt is spent.
func TestSessionsShareSlots(t *testing.T) {
	t.Parallel()
	rdb, zks := shared(t), servertest.SharedZooKeeper(t)
	topic := topicOf(t, message.KindPriority, 16)
	n := newNotes()
	cfg := Config{Slots: slots.ZooKeeper(sharedBy(t, zks, lasting))}
	start := func(name string) *Consumer {
		cfg.Worker = name
		return work(t, rdb, cfg, topic, n.around(func(context.Context, *Delivery) error {
			await.Pass(time.Millisecond)
			return nil
		}))
	}
	a := start("a")
	await.True(t, "the only worker has all slots", func() bool { return owned(a) == 16 })
	b := start("b")
	await.True(t, "both have half of them", func() bool { return owned(a) == 8 && owned(b) == 8 })
	if a.Worker() == b.Worker() || !strings.HasPrefix(a.Worker(), "a-") {
		t.Errorf("ids %s and %s", a.Worker(), b.Worker())
	}

	contents := numbered("m", 600)
	s := newSender(t, rdb, topic)
	s.send(t, contents[:300]...)
	n.await(t, "some are handled", func() bool { return n.total > 50 })
	must.Do(t, closeIn(a, await.Patience))
	await.True(t, "the other one has all", func() bool { return owned(b) == 16 })
	c := start("c")
	s.send(t, contents[300:]...)
	await.True(t, "the new one has half", func() bool { return owned(b) == 8 && owned(c) == 8 })
	n.awaitAll(t, contents)
	n.wantOnce(t, contents)
	wantEmpty(t, rdb, topic)
	if sharing := rdb.HGet(ctx, "rmq:def{"+topic.Name+"}", "sharing").Val(); sharing != "zookeeper" {
		t.Errorf("the definition says sharing %q", sharing)
	}
}

// A worker whose session has ended cancels its handlers, and gets another id. The
// message is handled again under that, or by another worker: not before the old
// id is proven dead, and what the old handler reports in the end is refused. The
// rest of its batch is not begun.
func TestSessionLost(t *testing.T) {
	t.Parallel()
	rdb, zks := shared(t), servertest.SharedZooKeeper(t)
	topic := topicOf(t, message.KindFixedTime, 1)
	n := newNotes()
	begun, release, cancelled := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	var once sync.Once
	t.Cleanup(func() { once.Do(func() { close(release) }) })
	cfg := Config{Slots: slots.ZooKeeper(sharedBy(t, zks, lasting)), Backoff: verdict.Schedule(time.Millisecond), Worker: "w"}
	c := work(t, rdb, cfg, topic, n.around(func(ctx context.Context, d *Delivery) error {
		if d.Content == "m-0" && d.Attempt == 1 {
			close(begun)
			<-ctx.Done()
			cancelled <- context.Cause(ctx)
			<-release // it does not heed it
		}
		return nil
	}))
	contents := numbered("m", 3)
	at := time.Now().Add(500 * time.Millisecond)
	var ms []message.Message
	for _, c := range contents {
		ms = append(ms, message.FixedTime{Content: c, At: at})
	}
	_, err := newSender(t, rdb, topic).SendBatch(ctx, topic, ms)
	must.Do(t, err)
	await.Signal(t, "the first message is in its handler", begun)
	first := c.Worker()
	expire(t, zks, c)
	if cause := await.Signal(t, "the handler is cancelled", cancelled); !errors.Is(cause, verdict.ErrLeaseLost) {
		t.Errorf("the handler's context ended with %v", cause)
	}
	n.await(t, "the messages are delivered under the new id, while the old handler hangs", func() bool {
		return len(n.attempts["m-0"]) == 2 && len(n.attempts["m-1"]) == 1 && len(n.attempts["m-2"]) == 1
	})
	if second := c.Worker(); second == first || !strings.HasPrefix(second, "w-") {
		t.Errorf("the id was %s, and is %s", first, second)
	}
	once.Do(func() { close(release) })
	n.await(t, "all handlers return", func() bool { return n.running == 0 })
	wantEmpty(t, rdb, topic)
	n.mu.Lock()
	defer n.mu.Unlock()
	if !slices.Equal(n.attempts["m-0"], []int{1, 2}) || n.total != 4 {
		t.Errorf("deliveries %v", n.attempts)
	}
}

// When ZooKeeper is silent for two thirds of the session timeout, no handler is
// begun any more: not the next one of a batch, and no batch. When the time is over,
// the handlers are cancelled. When ZooKeeper is back and has not ended the session, the work
// goes on under the same id, and handlers that begin then are not cancelled.
func TestSilenceStops(t *testing.T) {
	t.Parallel()
	rdb, topic := shared(t), topicOf(t, message.KindFixedTime, 2)
	how, network := cutFrom(t, lasting)
	believes(&how, 6*time.Second)
	n := newNotes()
	begun, release, ended := make(chan struct{}, 1), make(chan struct{}), make(chan error, 1)
	cfg := Config{Slots: slots.ZooKeeper(how), Backoff: verdict.Schedule(time.Millisecond)}
	c := work(t, rdb, cfg, topic, n.around(func(ctx context.Context, d *Delivery) error {
		switch {
		case d.Content == "in hand" && d.Attempt == 1:
			begun <- struct{}{}
			<-release
		case d.Content == "waits" && d.Attempt == 1:
			begun <- struct{}{}
			<-ctx.Done()
			ended <- context.Cause(ctx)
		}
		return context.Cause(ctx)
	}))
	s := newSender(t, rdb, topic)
	at := time.Now().Add(500 * time.Millisecond)
	// Two messages of one batch in one slot, and one in the other.
	_, err := s.SendBatch(ctx, topic, []message.Message{
		message.FixedTime{Content: "in hand", SlotBasis: basisOf(topic)[0], At: at},
		message.FixedTime{Content: "next of the batch", SlotBasis: basisOf(topic)[0], At: at.Add(time.Millisecond)},
		message.FixedTime{Content: "waits", SlotBasis: basisOf(topic)[1], At: at},
	})
	must.Do(t, err)
	for range 2 {
		await.Signal(t, "a handler has begun", begun)
	}
	first := c.running.fleet.Present()
	cancelled := make(chan time.Time, 1)
	context.AfterFunc(first.Handlers(), func() { cancelled <- time.Now() })
	network.Freeze()
	stopped := time.Now()
	for first.MayStart(stopped) { // asked before it comes to that, when handlers are not cancelled either
		stopped = stopped.Add(time.Millisecond)
	}
	await.True(t, "nothing may be started any more", func() bool { return !first.MayStart(time.Now()) })
	close(release)
	s.send(t, "sent in the silence")
	if cause := await.Signal(t, "the other handler is cancelled", ended); !errors.Is(cause, verdict.ErrLeaseLost) {
		t.Errorf("the context of the handler ended with %v", cause)
	}
	if at := await.Signal(t, "handlers are cancelled", cancelled); at.Sub(stopped) < 100*time.Millisecond {
		t.Errorf("handlers are cancelled %v after the last may begin", at.Sub(stopped))
	}
	n.mu.Lock()
	if n.attempts["next of the batch"] != nil || n.attempts["sent in the silence"] != nil {
		t.Errorf("handlers were begun in the silence: %v", n.attempts)
	}
	n.mu.Unlock()
	network.Thaw()
	all := []string{"in hand", "next of the batch", "waits", "sent in the silence"}
	n.await(t, "all are handled when ZooKeeper is back", func() bool {
		return n.running == 0 && len(n.attempts) == len(all) && len(n.attempts["waits"]) == 2
	})
	wantEmpty(t, rdb, topic)
	if c.Worker() != first.Worker() {
		t.Error("the worker has given up an id that ZooKeeper knows")
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if !slices.Equal(n.attempts["next of the batch"], []int{1}) {
		t.Errorf("what had not been begun has lost attempts: %v", n.attempts)
	}
}

// A turn that Redis answers late, after two thirds of the session timeout without a
// word from ZooKeeper: what it has taken is given back, with its attempt, and no
// other turn takes anything.
func TestSilenceBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	how, network := cutFrom(t, 6*time.Second)
	proxy, rdb := servertest.NewProxy(t, server.Addr()), server.Client(t)
	topic := topicOf(t, message.KindFixedTime, 1)
	n := newNotes()
	c := work(t, proxy.Client(t, func(o *redis.Options) { o.ReadTimeout = time.Minute }),
		Config{Slots: slots.ZooKeeper(how)}, topic, n.done())
	sleeps := func() bool {
		x := c.topics[0].scheduled.Status()[0]
		return x.State == schedule.Asleep && !x.Until.IsZero()
	}
	s, content, sent := newSender(t, rdb, topic), "", 0
	for { // until Redis falls silent while the slot sleeps to a message, which a busy machine may miss
		content = fmt.Sprint("m-", sent)
		_, err := s.Send(ctx, topic, message.FixedTime{Content: content, At: time.Now().Add(time.Second)})
		must.Do(t, err)
		sent++
		handled := func() bool { n.mu.Lock(); defer n.mu.Unlock(); return n.running == 0 && n.total == sent }
		await.True(t, "the slot sleeps until the message is due", func() bool { return sleeps() || handled() })
		if proxy.Freeze(); sleeps() && !handled() {
			break
		}
		proxy.Thaw()
		await.True(t, "it is handled", handled)
	}
	k := keysOf(topic, 0)
	last := rdb.HGet(ctx, k.Meta, "batch").Val()
	network.Freeze()
	first := c.running.fleet.Present()
	handlers := first.Handlers()
	await.True(t, "nothing may be started any more", func() bool { return !first.MayStart(time.Now()) })
	before := calls(t, rdb)["evalsha"]
	proxy.Thaw()
	await.True(t, "the message was taken, and is given back", func() bool {
		return rdb.HGet(ctx, k.Meta, "batch").Val() != last && rdb.HGet(ctx, k.Meta, "holder").Val() == ""
	})
	await.Signal(t, "the deadline comes", handlers.Done())
	if why := context.Cause(handlers); !errors.Is(why, verdict.ErrLeaseLost) {
		t.Errorf("the handlers were cancelled by %v", why)
	}
	if n.mu.Lock(); n.total >= sent {
		t.Error("the message was handled in the silence")
	}
	n.mu.Unlock()
	if turns := calls(t, rdb)["evalsha"] - before; turns > 100 { // thousands, if it went on to take
		t.Errorf("%d turns in the silence", turns)
	}
	network.Thaw()
	n.awaitAll(t, []string{content})
	n.wantOnce(t, numbered("m", sent))
}

// A worker that coasts does not notice that ZooKeeper is away.
func TestCoast(t *testing.T) {
	t.Parallel()
	rdb, zks := shared(t), servertest.ZooKeeper(t)
	topic := topicOf(t, message.KindPriority, 4)
	n := newNotes()
	how := sharedBy(t, zks, 2*time.Second)
	how.OnOutage = slots.Coast
	c := work(t, rdb, Config{Slots: slots.ZooKeeper(how)}, topic, n.done())
	s := newSender(t, rdb, topic)
	await.True(t, "it has all slots", func() bool { return owned(c) == 4 })
	first := c.Worker()
	zks.Kill()
	end := time.Now().Add(6 * time.Second) // three session timeouts
	contents := numbered("m", 30)
	for i, content := range contents {
		s.send(t, content)
		n.await(t, "it is handled without ZooKeeper", func() bool { return n.running == 0 && n.total == i+1 })
		await.Pass(time.Until(end) / time.Duration(len(contents)-i))
	}
	n.wantOnce(t, contents)
	if c.Worker() != first {
		t.Error("it has another id")
	}
	zks.Restart(t)
	s.send(t, "afterwards")
	n.await(t, "it goes on when ZooKeeper is back", func() bool { return n.total == len(contents)+1 })
}

// A handler that never returns costs its worker the id and the others nothing: other
// handlers end in peace, and its message is given to the next one.
func TestHangingHandlerCostsTheID(t *testing.T) {
	t.Parallel()
	rdb, zks := shared(t), servertest.SharedZooKeeper(t)
	topic := topicOf(t, message.KindFixedTime, 1)
	patient := topicOf(t, message.KindFixedTime, 1) // whose handler is not given up, however busy the machine is
	n := newNotes()
	release, long := make(chan struct{}), make(chan struct{})
	var once sync.Once
	open := func() { once.Do(func() { close(release) }) }
	t.Cleanup(open)
	cfg := Config{Slots: slots.ZooKeeper(sharedBy(t, zks, lasting)), Backoff: verdict.Schedule(time.Millisecond)}
	c := newConsumer(t, rdb, cfg)
	must.Do(t, c.Listen(topic, n.around(func(ctx context.Context, d *Delivery) error {
		if d.Content == "hangs" && d.Attempt == 1 {
			<-release
		}
		return nil
	}), ListenOptions{Timeout: 100 * time.Millisecond, hung: time.Second}))
	must.Do(t, c.Listen(patient, n.around(func(context.Context, *Delivery) error {
		<-long
		return nil
	}), ListenOptions{hung: time.Hour}))
	start(t, c)
	first := c.Worker()
	newSender(t, rdb, patient).send(t, "long")
	n.await(t, "one takes long", func() bool { return n.attempts["long"] != nil })
	s, at := newSender(t, rdb, topic), time.Now().Add(300*time.Millisecond)
	s.sendAt(t, at, "hangs")
	s.sendAt(t, at.Add(time.Millisecond), "behind it")
	n.await(t, "another one hangs", func() bool { return n.attempts["hangs"] != nil })
	await.True(t, "the worker has another id", func() bool { return c.Worker() != first })
	close(long)
	n.await(t, "the message is delivered to another handler", func() bool {
		return len(n.attempts["hangs"]) == 2 && n.attempts["behind it"] != nil
	})
	open()
	n.await(t, "all handlers return", func() bool { return n.running == 0 })
	wantEmpty(t, rdb, topic)
	wantEmpty(t, rdb, patient)
	n.mu.Lock()
	defer n.mu.Unlock()
	if !slices.Equal(n.attempts["long"], []int{1}) || !slices.Equal(n.attempts["hangs"], []int{1, 2}) {
		t.Errorf("deliveries %v", n.attempts)
	}
}

// A worker that has given up its id, since a handler hangs, loses ZooKeeper at that moment. The other
// handlers of that id are cancelled at its deadline, however long ZooKeeper stays away.
func TestSilenceAfterTheIDWasGivenUp(t *testing.T) {
	t.Parallel()
	rdb := shared(t)
	hanging, patient := topicOf(t, message.KindPriority, 1), topicOf(t, message.KindPriority, 1)
	how, network := cutFrom(t, lasting)
	believes(&how, 4*time.Second)
	var leaving atomic.Int32
	network.OnRequest(func(b []byte) bool { // the mark is made, and nothing comes through any more
		const create = 1
		for len(b) >= 12 { // each request has its length, a number and what it is
			n := min(len(b), 4+int(binary.BigEndian.Uint32(b)))
			if binary.BigEndian.Uint32(b[8:]) == create && bytes.Contains(b[:n], []byte("!leaving")) {
				leaving.Add(1)
			}
			b = b[n:]
		}
		return leaving.Load() < 2
	})
	release, begun, cancelled := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	defer close(release)
	c := newConsumer(t, rdb, Config{Slots: slots.ZooKeeper(how)})
	must.Do(t, c.Listen(hanging, ListenerFunc(func(context.Context, *Delivery) error {
		<-release
		return nil
	}), ListenOptions{Timeout: 100 * time.Millisecond, hung: time.Second}))
	must.Do(t, c.Listen(patient, ListenerFunc(func(ctx context.Context, _ *Delivery) error {
		close(begun)
		<-ctx.Done()
		cancelled <- context.Cause(ctx)
		return nil
	}), ListenOptions{Timeout: time.Hour, hung: time.Hour}))
	start(t, c)
	newSender(t, rdb, patient).send(t, "long")
	await.Signal(t, "one takes long", begun)
	newSender(t, rdb, hanging).send(t, "hangs")
	if cause := await.Signal(t, "it is cancelled", cancelled); !errors.Is(cause, verdict.ErrLeaseLost) {
		t.Errorf("the handler's context ended with %v", cause)
	}
	network.OnRequest(nil)
}

// A worker that closes while ZooKeeper is away leaves its slots all the same, and
// within its time.
func TestCloseWithoutZooKeeper(t *testing.T) {
	t.Parallel()
	rdb, topic := shared(t), topicOf(t, message.KindPriority, 4)
	how, network := cutFrom(t, lasting)
	n := newNotes()
	c, err := New(rdb, Config{Slots: slots.ZooKeeper(how)})
	must.Do(t, err)
	must.Do(t, c.Listen(topic, n.done(), ListenOptions{}))
	start(t, c)
	newSender(t, rdb, topic).send(t, numbered("m", 20)...)
	n.awaitAll(t, numbered("m", 20))
	network.Freeze()
	err = closeIn(c, 4*time.Second) // time enough to leave the slots in Redis
	if err == nil || !strings.Contains(err.Error(), "ZooKeeper does not answer") {
		t.Errorf("close: %v", err)
	}
	for slot := range topic.Slots {
		if holder := rdb.HGet(ctx, keysOf(topic, slot).Meta, "holder").Val(); holder != "" {
			t.Errorf("slot %d still has holder %s", slot, holder)
		}
	}
	network.Cut()
	c.running.life.WaitLate()
}

// A topic is shared out in one way.
func TestWaysOfSharingDoNotMix(t *testing.T) {
	t.Parallel()
	rdb, zks := shared(t), servertest.SharedZooKeeper(t)
	how := slots.ZooKeeper(sharedBy(t, zks, lasting))
	for _, c := range []struct{ first, second slots.Sharing }{{nil, how}, {how, nil}} {
		topic := topicOf(t, message.KindPriority, 4)
		work(t, rdb, Config{Slots: c.first}, topic, newNotes().done())
		other := newConsumer(t, rdb, Config{Slots: c.second})
		must.Do(t, other.Listen(topic, newNotes().done(), ListenOptions{}))
		err := other.Start(ctx)
		if !errors.Is(err, message.ErrTopicConflict) || !strings.Contains(fmt.Sprint(err), "sharing of slots") {
			t.Errorf("start gives %v", err)
		}
	}
	// Redis may have forgotten a definition that ZooKeeper knows.
	topic := topicOf(t, message.KindPriority, 4)
	work(t, rdb, Config{Slots: how}, topic, newNotes().done())
	must.Do(t, rdb.Del(ctx, "rmq:def{"+topic.Name+"}").Err())
	topic.Slots = 8
	other := newConsumer(t, rdb, Config{Slots: how})
	must.Do(t, other.Listen(topic, newNotes().done(), ListenOptions{}))
	if err := other.Start(ctx); !errors.Is(err, message.ErrTopicConflict) || !strings.Contains(fmt.Sprint(err), "Slots") {
		t.Errorf("start gives %v", err)
	}
}

// A start that fails leaves nothing behind, and can be repeated.
func TestStartWithoutZooKeeper(t *testing.T) {
	t.Parallel()
	rdb, topic := shared(t), topicOf(t, message.KindPriority, 4)
	how, network := cutFrom(t, 2*time.Second)
	n := newNotes()
	network.Cut()
	c := newConsumer(t, rdb, Config{Slots: slots.ZooKeeper(how)})
	must.Do(t, c.Listen(topic, n.done(), ListenOptions{}))
	err := c.Start(ctx)
	if err == nil || !strings.Contains(err.Error(), network.Addr()) {
		t.Fatalf("start without ZooKeeper: %v", err)
	}
	network.Mend()
	await.Nil(t, "it starts", func() error { return c.Start(ctx) }) // on a busy machine not at once
	newSender(t, rdb, topic).send(t, "m")
	n.awaitAll(t, []string{"m"})
}

func TestZooKeeperConfigIsChecked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		cfg   slots.ZooKeeperConfig
		field string
	}{
		{slots.ZooKeeperConfig{}, "ZooKeeperConfig.Servers"},
		{slots.ZooKeeperConfig{Servers: []string{"zk:2181/chroot"}}, "ZooKeeperConfig.Servers"},
		{slots.ZooKeeperConfig{Servers: []string{"zk:2181"}, Root: "rmq"}, "ZooKeeperConfig.Root"},
		{slots.ZooKeeperConfig{Servers: []string{"zk:2181"}, Auth: "me"}, "ZooKeeperConfig.Auth"},
		{slots.ZooKeeperConfig{Servers: []string{"zk:2181"}, SessionTimeout: -1}, "ZooKeeperConfig.SessionTimeout"},
		{slots.ZooKeeperConfig{Servers: []string{"zk:2181"}, Weight: -1}, "ZooKeeperConfig.Weight"},
	} {
		_, err := New(shared(t), Config{Slots: slots.ZooKeeper(c.cfg)})
		var invalid *message.InvalidError
		if !errors.As(err, &invalid) || invalid.Field != c.field {
			t.Errorf("%+v: %v, want a complaint about %s", c.cfg, err, c.field)
		}
	}
}
