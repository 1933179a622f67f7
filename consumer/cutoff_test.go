package consumer

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/slotmq/go-rmq/internal/sharing/fleet"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/night"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/internal/worker/verdict"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/slots"
)

// cutOffLimit is within how long after the cut another worker works at the slots. When a worker
// counts as cut off is proved in virtual time: see TestAlone of internal/sharing/keeper.
func cutOffLimit(timeout time.Duration) time.Duration { return 2*timeout + 2*time.Second }

// quickly is for clients whose network is cut: they notice within a second.
func quickly(o *redis.Options) {
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout = time.Second, time.Second, time.Second
}

// pair is two workers of a topic. One of them has a network to Redis of its own.
type pair struct {
	topic     message.Topic
	sender    sender
	rdb       *redis.Client // of neither
	proxy     *servertest.Proxy
	cut, well *Consumer
	*notes
	logs  *observer.ObservedLogs // of both
	pings *pings                 // of the one that is cut off
	wrong []string               // what counts if the pair is not disturbed

	began chan *Delivery // handlers of the one that is cut off; they last until they are cancelled
	ended chan error     // why they were
}

// pings notes when Redis has last answered a PING of a worker.
type pings struct{ last atomic.Pointer[time.Time] }

func (p *pings) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	c, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return &pinging{Conn: c, pings: p}, nil
}

// pinging is a connection that carries one command at a time. (No hook sees the command PING.)
type pinging struct {
	net.Conn
	pings *pings
	asked bool
}

func (c *pinging) Write(b []byte) (int, error) {
	c.asked = string(b) == "*1\r\n$4\r\nping\r\n"
	return c.Conn.Write(b)
}

func (c *pinging) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if now := time.Now(); c.asked && n > 0 {
		c.pings.last.Store(&now) // before the worker notes it
	}
	return n, err
}

const pairSlots = 8

// lingers is how long a handler goes on that was cancelled. Another worker could take a batch
// over in less.
const lingers = 600 * time.Millisecond

// mostDisturbed is how many pairs may be disturbed. All of them are only where the session is lost
// each time, which is no matter of the machine.
const mostDisturbed = 10

// undisturbed has a pair of workers go through a scenario, and then another pair if one of them has
// lost its session with ZooKeeper meanwhile. A busy machine may cost it that, and it is another matter.
func undisturbed(t *testing.T, timeout time.Duration, scenario func(p *pair)) {
	t.Helper()
	for disturbed := range mostDisturbed {
		p := newPair(t, timeout)
		scenario(p)
		must.Do(t, closeIn(p.cut, await.Patience)) // the log is complete then
		must.Do(t, closeIn(p.well, await.Patience))
		if p.disturbed() {
			t.Logf("disturbed: %q", p.wrong)
			continue
		}
		t.Logf("%d pairs were disturbed", disturbed)
		for _, wrong := range p.wrong {
			t.Error(wrong)
		}
		return
	}
	t.Fatalf("%d pairs lost their sessions", mostDisturbed)
}

// disturbed reports whether a worker has lost its session with ZooKeeper.
func (p *pair) disturbed() bool {
	return p.logs.FilterMessage("the worker gives up its id").Len() > 0 || p.logs.FilterMessage("the session is lost").Len() > 0
}

// until returns when the condition holds, or when it may never hold as the pair is disturbed.
func (p *pair) until(t *testing.T, what string, is func() bool) {
	t.Helper()
	await.True(t, what, func() bool { return is() || p.disturbed() })
}

// await is until for what the notes tell.
func (p *pair) await(t *testing.T, what string, is func() bool) {
	t.Helper()
	p.until(t, what, func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return is()
	})
}

// errorf fails the test, unless the pair is disturbed.
func (p *pair) errorf(format string, args ...any) {
	p.wrong = append(p.wrong, fmt.Sprintf(format, args...))
}

// newPair returns two workers that have half of the slots each.
func newPair(t *testing.T, timeout time.Duration) *pair {
	t.Helper()
	server, zks := servertest.SharedRedis(t), servertest.SharedZooKeeper(t)
	p := &pair{topic: topicOf(t, message.KindFixedTime, pairSlots), proxy: servertest.NewProxy(t, server.Addr()), notes: newNotes(),
		pings: new(pings), began: make(chan *Delivery, 100), ended: make(chan error, 100)}
	core, logs := observer.New(zap.WarnLevel)
	p.rdb, p.logs = server.Client(t), logs
	p.sender = newSender(t, p.rdb, p.topic)
	cfg := Config{Slots: slots.ZooKeeper(sharedBy(t, zks, timeout)), Backoff: verdict.Schedule(time.Millisecond), Worker: "cut", Logger: zap.New(core),
		SafetyLook: 100 * time.Millisecond} // which finds nothing to look at while all slots are at work
	p.cut = work(t, p.proxy.Client(t, quickly, func(o *redis.Options) { o.Dialer = p.pings.dial }), cfg, p.topic, p.around(func(ctx context.Context, d *Delivery) error {
		if strings.HasPrefix(d.Content, "long") {
			p.began <- d
			<-ctx.Done()
			p.ended <- context.Cause(ctx)
			await.Pass(lingers)
			return context.Cause(ctx)
		}
		return nil
	}))
	cfg.Worker, cfg.SafetyLook = "well", 0
	p.well = work(t, server.Client(t), cfg, p.topic, p.done())
	p.evenly(t)
	return p
}

// why returns why the next handler was cancelled.
func (p *pair) why(t *testing.T) (cause error) {
	t.Helper()
	p.until(t, "a handler is cancelled", func() bool {
		select {
		case cause = <-p.ended:
			return true
		default:
			return false
		}
	})
	return cause
}

// evenly returns when each worker has half of the slots.
func (p *pair) evenly(t *testing.T) {
	t.Helper()
	p.until(t, "both have half of the slots", func() bool { return owned(p.cut) == pairSlots/2 && owned(p.well) == pairSlots/2 })
}

// each sends one message to each slot.
func (p *pair) each(t *testing.T, prefix string) (contents []string) {
	t.Helper()
	var ms []message.Message
	for i, basis := range basisOf(p.topic) {
		contents = append(contents, fmt.Sprint(prefix, "-", i))
		ms = append(ms, message.FixedTime{Content: contents[i], SlotBasis: basis, At: time.Now()})
	}
	_, err := p.sender.SendBatch(ctx, p.topic, ms)
	must.Do(t, err)
	return contents
}

// occupied has handlers begin in all slots of the worker that will be cut off.
func (p *pair) occupied(t *testing.T) (contents []string) {
	t.Helper()
	contents = p.each(t, "long")
	p.await(t, "each slot has its message", func() bool { return len(p.attempts) == pairSlots })
	p.await(t, "the other one is through", func() bool { return p.running == pairSlots/2 })
	return contents
}

// A worker that is cut off from Redis alone, be it that nothing passes, that connections are
// reset, or that only replies are lost, cancels its handlers and gives its slots up after two
// session timeouts, and not before. The other one works at them within 2 s after that.
// When the network is back, both have half of the slots again.
func TestCutOffFromRedis(t *testing.T) {
	t.Parallel()
	const timeout = 3 * time.Second
	for _, c := range []struct {
		name      string
		cut, mend func(p *servertest.Proxy)
	}{
		{"nothing passes", (*servertest.Proxy).Freeze, (*servertest.Proxy).Thaw},
		{"connections are reset", (*servertest.Proxy).Cut, (*servertest.Proxy).Mend},
		{"replies are lost", func(p *servertest.Proxy) { p.DropReplies(true) }, func(p *servertest.Proxy) { p.DropReplies(false) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			undisturbed(t, timeout, func(p *pair) {
				contents := p.occupied(t)
				first := p.cut.Worker()
				p.until(t, "Redis has answered a PING", func() bool { return p.pings.last.Load() != nil })
				begun := time.Now()
				c.cut(p.proxy)
				p.cancelled(t, 2*timeout)
				p.await(t, "the other one handles what it had in hand", func() bool {
					return !slices.ContainsFunc(contents, func(c string) bool { return len(p.attempts[c]) < 1 }) && p.total >= pairSlots*3/2
				})
				night.AtMost(t, "until the other one had taken over all slots", time.Since(begun), cutOffLimit(timeout))
				if err := p.cut.Health(); !errors.Is(err, fleet.ErrCutOff) {
					p.errorf("its health is %v", err)
				}
				must.Do(t, p.cut.Alive())
				fresh := p.each(t, "meanwhile")
				p.awaitAll(t, fresh)
				if p.cut.Worker() != first {
					p.errorf("it came back although it is cut off")
				}
				c.mend(p.proxy)
				p.evenly(t)
				if p.cut.Worker() == first {
					p.errorf("it has kept its id")
				}
				await.True(t, "it is healthy", func() bool { return p.cut.Health() == nil })
				p.awaitAll(t, p.each(t, "back"))
				wantEmpty(t, p.rdb, p.topic)
				p.wantHalfAgain()
			})
		})
	}
}

// cancelled checks why the handlers of the one that is cut off are cancelled, and that they are not
// before it has had no answer for so long.
func (p *pair) cancelled(t *testing.T, after time.Duration) {
	t.Helper()
	for range pairSlots / 2 {
		if cause := p.why(t); !errors.Is(cause, verdict.ErrLeaseLost) || !errors.Is(cause, fleet.ErrCutOff) {
			p.errorf("the handler's context ended with %v", cause)
		}
	}
	if last := p.pings.last.Load(); last != nil && time.Since(*last) < after {
		p.errorf("it gave up %v after the last answer", time.Since(*last))
	}
}

// wantHalfAgain checks that the messages of half of the slots were handled twice, and not at the same time.
func (p *pair) wantHalfAgain() {
	p.mu.Lock()
	defer p.mu.Unlock()
	again := 0
	for _, a := range p.attempts {
		if !slices.Equal(a, []int{1}) {
			again++
		}
		if !slices.Equal(a, []int{1}) && !slices.Equal(a, []int{1, 2}) {
			p.errorf("attempts %v", a)
		}
	}
	if again != pairSlots/2 || p.overlaps > 0 {
		p.errorf("%d messages were handled again, and %d at the same time", again, p.overlaps)
	}
}

// Redis is away for all, for longer than two session timeouts. No worker gives anything up: what
// was in hand is reported when it is back, by the same ids, and nothing is handled again.
func TestRedisAwayForAll(t *testing.T) {
	t.Parallel()
	const timeout = 3 * time.Second
	server, zks := servertest.Redis(t), servertest.SharedZooKeeper(t)
	topic := topicOf(t, message.KindFixedTime, pairSlots)
	n, goOn := newNotes(), make(chan struct{})
	var workers []*Consumer
	core, logs := observer.New(zap.WarnLevel)
	cfg := Config{Slots: slots.ZooKeeper(sharedBy(t, zks, timeout)), Backoff: verdict.Schedule(time.Millisecond), Logger: zap.New(core)}
	for range 2 {
		workers = append(workers, work(t, server.Client(t, quickly), cfg, topic, n.around(func(context.Context, *Delivery) error {
			<-goOn
			return nil
		})))
	}
	a, b := workers[0], workers[1]
	await.True(t, "both have half of the slots", func() bool { return owned(a) == pairSlots/2 && owned(b) == pairSlots/2 })
	s := newSender(t, server.Client(t), topic)
	p := &pair{topic: topic, sender: s, notes: n}
	contents := p.each(t, "in hand")
	n.await(t, "all are in their handlers", func() bool { return n.running == len(contents) })
	ids := []string{a.Worker(), b.Worker()}
	server.Pause()
	begun := time.Now()
	close(goOn) // what they come to cannot be reported
	n.await(t, "all handlers have returned", func() bool { return n.running == 0 })
	await.Pass(timeout*7/2 - time.Since(begun))
	server.Resume()
	back := time.Now()
	contents = append(contents, p.each(t, "back")...)
	n.awaitAll(t, contents)
	t.Logf("all slots were worked at %v after Redis was back", time.Since(back).Round(time.Millisecond))
	await.Pass(timeout) // nor does anybody give up afterwards
	wantEmpty(t, server.Client(t), topic)
	if lost(t, logs) {
		return
	}
	n.wantOnce(t, contents)
	if now := []string{a.Worker(), b.Worker()}; !slices.Equal(now, ids) {
		t.Errorf("the workers were %v and are %v", ids, now)
	}
}

// A worker keeps its id if it has nothing to do, also while others do, and if it is cut off
// and no other has its topic.
func TestNotCutOff(t *testing.T) {
	t.Parallel()
	const timeout = 4 * time.Second
	server, zks := servertest.SharedRedis(t), servertest.SharedZooKeeper(t)
	core, logs := observer.New(zap.WarnLevel)
	cfg := Config{Slots: slots.ZooKeeper(sharedBy(t, zks, timeout)), Logger: zap.New(core)}
	topic := topicOf(t, message.KindPriority, pairSlots)
	n := newNotes()
	a, b := work(t, server.Client(t), cfg, topic, n.done()), work(t, server.Client(t), cfg, topic, n.done())
	(&pair{cut: a, well: b, logs: logs}).evenly(t)
	proxy := servertest.NewProxy(t, server.Addr())
	alone := work(t, proxy.Client(t, quickly), cfg, topicOf(t, message.KindPriority, pairSlots), newNotes().done())
	ids := []string{a.Worker(), b.Worker(), alone.Worker()}
	proxy.Freeze()
	sender := newSender(t, server.Client(t), topic)
	for begun, i := time.Now(), 0; time.Since(begun) < 3*timeout; i++ { // only one of the two has something to do
		content := fmt.Sprint("m-", i)
		_, err := sender.Send(ctx, topic, message.Priority{Content: content, SlotBasis: basisOf(topic)[0], Priority: 100})
		must.Do(t, err)
		n.await(t, "it is handled", func() bool { return len(n.attempts[content]) > 0 && n.running == 0 })
		await.Pass(20 * time.Millisecond)
	}
	for _, c := range []*Consumer{a, b, alone} {
		if errors.Is(c.Health(), fleet.ErrCutOff) {
			t.Errorf("%s has given its slots up", c.Worker())
		}
	}
	proxy.Thaw()
	if now := []string{a.Worker(), b.Worker(), alone.Worker()}; !lost(t, logs) && !slices.Equal(now, ids) {
		t.Errorf("the workers were %v and are %v", ids, now)
	}
}

// A worker that is cut off while it closes gives its slots up as well, although Close may wait
// for longer; and Close returns when the network is back.
func TestCutOffWhileClosing(t *testing.T) {
	t.Parallel()
	const timeout = 3 * time.Second
	undisturbed(t, timeout, func(p *pair) {
		contents := p.occupied(t)
		closed := make(chan error, 1)
		go func() { closed <- closeIn(p.cut, await.Patience) }()
		p.until(t, "it has given its slots to the other one", func() bool { return owned(p.well) == pairSlots })
		begun := time.Now()
		p.proxy.Freeze()
		p.await(t, "the other one handles what it had in hand", func() bool { return p.total == len(contents)*3/2 && p.running == 0 })
		night.AtMost(t, "until the other one had taken over all slots", time.Since(begun), cutOffLimit(timeout))
		p.proxy.Thaw()
		if err := await.Signal(t, "it has closed", closed); err != nil {
			p.errorf("close: %v", err)
		}
		wantEmpty(t, p.rdb, p.topic)
		if p.overlaps > 0 {
			p.errorf("%d handlers at the same time", p.overlaps)
		}
	})
}

// A worker that is cut off while it starts, when it has its session already, does not keep it.
func TestCutOffWhileStarting(t *testing.T) {
	t.Parallel()
	const timeout = 3 * time.Second
	undisturbed(t, timeout, func(p *pair) {
		all := func() bool { return owned(p.well) == pairSlots }
		must.Do(t, closeIn(p.cut, await.Patience))
		p.until(t, "the other one has all slots", all)
		patient := p.proxy.Client(t, func(o *redis.Options) { o.ReadTimeout = time.Minute })
		c := newConsumer(t, patient, Config{Slots: p.well.cfg.Slots, Worker: "late", Logger: p.well.cfg.Logger})
		must.Do(t, c.Listen(p.topic, p.done(), ListenOptions{}))
		tree := p.rdb.HGet(ctx, "rmq:def{"+p.topic.Name+"}", "tree").Val()
		p.proxy.OnRequest(func(b []byte) bool {
			if tree != "" && strings.Contains(string(b), tree) { // it knows that from its session
				p.proxy.DropReplies(true)
			}
			return true
		})
		within, end := context.WithCancel(ctx)
		started := make(chan error, 1)
		go func() { started <- c.Start(within) }()
		p.until(t, "Start gives up", func() bool { return len(started) > 0 })
		end()
		if err := await.Signal(t, "Start gives up", started); !errors.Is(err, fleet.ErrCutOff) {
			p.errorf("start: %v", err)
		}
		p.until(t, "the other one has all slots", all)
		p.awaitAll(t, p.each(t, "m"))
		p.proxy.OnRequest(nil)
		p.proxy.DropReplies(false)
		start(t, c)
		p.until(t, "it has its share", func() bool { return owned(c) == pairSlots/2 })
		must.Do(t, closeIn(c, await.Patience))
	})
}

// lost fails the test when a worker took itself for cut off from Redis. It tells whether one has
// lost its session with ZooKeeper, which a very busy machine may cost it: that is another matter.
func lost(t *testing.T, logs *observer.ObservedLogs) bool {
	t.Helper()
	for _, line := range logs.FilterMessageSnippet("cut off from Redis").All() {
		t.Errorf("%s: %v", line.Message, line.ContextMap())
	}
	over := logs.FilterMessage("the worker gives up its id").All()
	for _, line := range over {
		t.Logf("%s: %v", line.Message, line.ContextMap())
	}
	return len(over) > 0
}
