package kills

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/proctest"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/internal/testing/system/workers"
	"github.com/slotmq/go-rmq/rmq"
)

// The five crash cases: what each may cost, and that nothing gets lost. The
// worker that fails has one slot and one batch, so that every figure is exact.

// oneSlot is a topic whose batches come in a known order.
var oneSlot = rmq.Topic{Name: "orders", Kind: rmq.KindPriority, Slots: 1}

// crashLease is longer than any hiccup of a busy machine: where attempts are
// counted, a worker must not lose its lease by accident.
const crashLease = 5 * time.Second

func newCrash(t *testing.T) *crash {
	t.Helper()
	t.Parallel()
	c := &crash{Group: workers.New(t, workers.Job{Topics: []rmq.Topic{oneSlot}, Lease: crashLease, Backoff: 10 * time.Millisecond})}
	c.proxy = servertest.NewProxy(t, c.Server.Addr())
	return c
}

type crash struct {
	*workers.Group
	proxy *servertest.Proxy
}

// victim starts a worker behind the proxy, and returns when its first look, which
// finds nothing, was executed: whatever is ordered later is taken by a turn after it.
func (c *crash) victim() *proctest.Process {
	c.T.Helper()
	// The server must know the script, or the first turn would have to be sent twice.
	leaves := &protocol.Turn{Keys: protocol.KeysOf("elsewhere", 0), Worker: "warm"}
	scripts := protocol.New(c.Redis)
	turn := scripts.TurnCmd(context.Background(), leaves)
	if scripts.Exec(context.Background(), turn); turn.Err() != nil {
		c.T.Fatal(turn.Err())
	}
	p := c.Warm(func(j *workers.Job) { j.Redis = c.proxy.Addr() })
	c.GoAll(p)
	c.Await("a first look", func() bool {
		return strings.Contains(c.Redis.Info(context.Background(), "commandstats").Val(), "cmdstat_zcard:")
	})
	return p
}

// order sends contents in the order they shall be handled in, in one batch.
func (c *crash) order(contents ...string) {
	c.T.Helper()
	c.Send(oneSlot, inOrder("shop", contents)...)
}

// inOrder are messages of one basis, to be handled one after the other.
func inOrder(basis string, contents []string) []rmq.Message {
	ms := make([]rmq.Message, len(contents))
	for i, s := range contents {
		ms[i] = rmq.Priority{Content: s, SlotBasis: basis, Priority: int64(1000 - i)}
	}
	return ms
}

const inFlightKey = "prepare{orders_0}"

// inFlight is how many contents are.
func (c *crash) inFlight() int64 { return c.Redis.ZCard(context.Background(), inFlightKey).Val() }

// onTurn has decide look at each turn of the victim before it is forwarded. A safety
// look names the same key, and is none.
func (c *crash) onTurn(decide func() (forward bool)) {
	c.proxy.OnRequest(func(b []byte) bool {
		text := string(b)
		return !strings.Contains(text, inFlightKey) || !strings.Contains(text, "eval") || decide()
	})
}

// holdFinish has act decide, once, about the turn that finishes a batch, and
// returns a channel that is closed then. Everything the victim sends later is
// swallowed.
func (c *crash) holdFinish(act func() (forward bool)) <-chan struct{} {
	finishing := make(chan struct{})
	var seen atomic.Bool
	c.onTurn(func() bool {
		switch {
		case seen.Load():
			return false
		case c.inFlight() == 0: // not a finish: nothing is in flight
			return true
		}
		seen.Store(true)
		defer close(finishing)
		return act()
	})
	return finishing
}

// attempts fails the test unless the worker was given exactly these contents,
// all with one attempt number and above a fence.
func (c *crash) attempts(worker string, attempt int, above int64, want ...string) {
	c.T.Helper()
	got := map[string]int{}
	for _, e := range starts(c.Events(), worker) {
		got[e.Content]++
		if e.Attempt != attempt || e.Fence <= above {
			c.T.Errorf("%s was given %q as attempt %d with fence %d; want attempt %d and a fence above %d",
				worker, e.Content, e.Attempt, e.Fence, attempt, above)
		}
	}
	for _, s := range want {
		if got[s] != 1 {
			c.T.Errorf("%s was given %q %d times, want once", worker, s, got[s])
		}
	}
	if len(got) != len(want) {
		c.T.Errorf("%s was given %d contents, want %d: %v", worker, len(got), len(want), got)
	}
}

// takeover tells how long the slot stood still.
func (c *crash) takeover(from proctest.Event, by string) {
	c.T.Helper()
	first := starts(c.Events(), by)
	if len(first) == 0 {
		c.T.Fatalf("%s was given nothing", by)
	}
	c.T.Logf("taken over %v after the %s, with a lease of %v", workers.Between(from, first[0]), from.Kind, c.Job.Lease)
}

func (c *crash) killOf(p *proctest.Process) proctest.Event {
	c.T.Helper()
	return c.AwaitEvent("kill", func(e proctest.Event) bool { return e.Kind == proctest.Kill && e.Note == p.Name })
}

// starts are the deliveries that a worker has begun.
func starts(events []proctest.Event, worker string) (found []proctest.Event) {
	for _, e := range events {
		if e.Kind == proctest.Start && e.Worker == worker {
			found = append(found, e)
		}
	}
	return found
}

func numbered(n int) (contents []string) {
	for i := range n {
		contents = append(contents, workers.Content("shop", i))
	}
	return contents
}

// The reply of a take gets lost: the batch is in flight, and its worker does
// not know. It costs nothing but a repetition of the turn.
func TestProcessLosesTheReplyOfATake(t *testing.T) {
	c := newCrash(t)
	worker := c.victim()
	// From the turn that takes the batch on, no reply gets through.
	var taken atomic.Bool
	ordered, done := context.WithCancel(t.Context())
	defer done()
	c.onTurn(func() bool {
		<-ordered.Done() // or a turn might find nothing here, and all of it at the server
		if c.Redis.ZCard(context.Background(), "orders_0").Val() > 0 && taken.CompareAndSwap(false, true) {
			c.proxy.DropReplies(true)
		}
		return true
	})
	contents := numbered(8)
	c.order(contents...)
	done()
	c.Await("the batch is taken", func() bool { return c.inFlight() == 8 })
	c.proxy.Cut()
	if !taken.Load() {
		t.Error("the turn that took the batch was not seen")
	}
	if n := len(starts(c.Events(), worker.Name)); n != 0 {
		t.Errorf("%d handlers have begun without a reply", n)
	}
	c.proxy.DropReplies(false)
	c.proxy.Mend()
	c.AwaitHandled()
	c.AwaitAtRest()
	r := c.Check()
	c.attempts(worker.Name, 1, 0, contents...)
	if r.Deliveries != 8 || len(r.Again) != 0 || r.Burnt != 0 {
		t.Errorf("a lost reply cost something: %v", &r)
	}
}

// The worker is killed before its handler has done anything. What it had done of
// the batch is done again, and every content of the batch has spent an attempt.
func TestProcessKilledBeforeTheWork(t *testing.T) {
	c := newCrash(t)
	a := c.victim()
	b := c.Warm()
	contents := numbered(8)
	contents[3] += " " + workers.Hang // begins, and does nothing
	c.order(contents...)
	begun := c.AwaitEvent("the handler has begun", func(e proctest.Event) bool { return e.Kind == proctest.Start && e.Content == contents[3] })
	a.Kill()
	c.GoAll(b)
	c.AwaitHandled()
	c.Await("the batch is done by the other", func() bool { return c.By[b.Name] == 8 })
	c.AwaitAtRest()
	r := c.Check()
	c.attempts(a.Name, 1, 0, contents[:4]...)
	c.attempts(b.Name, 2, begun.Fence, contents...)
	if r.Deliveries != 12 || len(r.Again) != 3 {
		t.Errorf("%d deliveries and %d repetitions, want 12 and the 3 that were done before the crash", r.Deliveries, len(r.Again))
	}
	c.takeover(c.killOf(a), b.Name)
}

// The worker is killed after the work was done: the turn that finishes the
// batch was sent, but has not arrived. The batch is repeated, once.
func TestProcessKilledBeforeTheFinish(t *testing.T) {
	c := newCrash(t)
	a := c.victim()
	b := c.Warm()
	contents := numbered(8)
	finishing := c.holdFinish(func() bool { return false })
	c.order(contents...)
	await.Signal(t, "the batch is being finished", finishing)
	a.Kill()
	c.GoAll(b)
	c.Await("the batch is done by the other", func() bool { return c.By[b.Name] == 8 })
	c.AwaitAtRest()
	r := c.Check()
	c.attempts(a.Name, 1, 0, contents...)
	c.attempts(b.Name, 2, starts(c.Events(), a.Name)[0].Fence, contents...)
	if r.Deliveries != 16 || len(r.Again) != 8 {
		t.Errorf("%d deliveries and %d repetitions, want 16 and 8", r.Deliveries, len(r.Again))
	}
	c.takeover(c.killOf(a), b.Name)
}

// The worker is killed after its finish was executed, before it could know: it
// costs nothing.
func TestProcessKilledAfterTheFinish(t *testing.T) {
	c := newCrash(t)
	a := c.victim()
	b := c.Warm()
	contents := numbered(8)
	finishing := c.holdFinish(func() bool { c.proxy.DropReplies(true); return true })
	c.order(contents...)
	await.Signal(t, "the batch is being finished", finishing)
	c.AwaitAtRest()
	a.Kill()
	c.GoAll(b)
	c.order(workers.Content("shop", 100))
	c.AwaitHandled()
	c.AwaitAtRest()
	r := c.Check()
	c.attempts(a.Name, 1, 0, contents...)
	c.attempts(b.Name, 1, starts(c.Events(), a.Name)[0].Fence, workers.Content("shop", 100))
	if r.Deliveries != 9 || len(r.Again) != 0 || r.Burnt != 0 {
		t.Errorf("a batch that was finished cost something: %v", &r)
	}
}

// The handler failed, and the worker is killed before it could report that. The
// content is delivered again; the failure and the crash spend one attempt, not
// two.
func TestProcessKilledBeforeTheFailureIsReported(t *testing.T) {
	c := newCrash(t)
	a := c.victim()
	b := c.Warm()
	contents := numbered(3)
	contents[1] += " " + workers.FailOnce
	finishing := c.holdFinish(func() bool { return false })
	c.order(contents...)
	await.Signal(t, "the batch is being finished", finishing)
	a.Kill()
	c.GoAll(b)
	c.Await("the batch is done by the other", func() bool { return c.By[b.Name] == 3 })
	c.AwaitAtRest()
	r := c.Check()
	c.attempts(a.Name, 1, 0, contents...)
	c.attempts(b.Name, 2, starts(c.Events(), a.Name)[0].Fence, contents...)
	if r.Deliveries != 6 || len(r.Again) != 2 || r.Burnt != 0 {
		t.Errorf("%d deliveries, %d repetitions, %d attempts burnt; want 6, 2 and 0", r.Deliveries, len(r.Again), r.Burnt)
	}
	c.takeover(c.killOf(a), b.Name)
}

// The worker is frozen in a handler for longer than its lease. Another takes
// over. The frozen one is told by its context when it goes on; what it reports
// then is refused, and it works on with what is its share.
func TestProcessFrozenLongerThanItsLease(t *testing.T) {
	for _, order := range []string{workers.Hang, workers.HangDone} {
		t.Run(order, func(t *testing.T) {
			c := newCrash(t)
			topic := rmq.Topic{Name: "orders", Kind: rmq.KindPriority, Slots: 8}
			c.Job.Topics, c.Job.Lease = []rmq.Topic{topic}, crashLease
			a := c.Work(1)[0]
			b := c.Warm()
			c.AwaitKind(b.Name, proctest.Warm)
			contents := numbered(4)
			contents[1] += " " + order
			c.spread(topic, "shop", contents...)
			isA := func(kinds ...proctest.Kind) func(proctest.Event) bool {
				return func(e proctest.Event) bool {
					return e.Worker == a.Name && e.Content == contents[1] && fmt.Sprint(kinds) == fmt.Sprint([]proctest.Kind{e.Kind})
				}
			}
			begun := c.AwaitEvent("the handler has begun", isA(proctest.Start))
			a.Freeze()
			c.GoAll(b)
			c.Await("the batch is done by the other", func() bool { return c.By[b.Name] == 4 })
			c.attempts(b.Name, 2, begun.Fence, contents...)
			frozen := c.AwaitKind("test", proctest.Freeze)
			c.takeover(frozen, b.Name)

			// A repetition is in flight when the frozen worker reports.
			again := workers.Content("shop", 50, workers.Slow)
			c.spread(topic, "shop", again)
			c.AwaitEvent("the slot is busy with another", func(e proctest.Event) bool {
				return e.Worker == b.Name && e.Kind == proctest.Start && e.Content == again
			})
			a.Thaw()
			end := proctest.Fail
			if order == workers.HangDone {
				end = proctest.Done
			}
			ended := c.AwaitEvent("the frozen handler has ended", isA(end))
			if ended.Note != rmq.ErrLeaseLost.Error() {
				t.Errorf("the context of the frozen handler ended by %q, want %q", ended.Note, rmq.ErrLeaseLost)
			}
			// Both work on, each with its share.
			c.Await("the frozen worker has work again", func() bool {
				i := 1000 + len(c.Sent)
				c.spread(topic, fmt.Sprint("basis", i%32), workers.Content(fmt.Sprint("basis", i%32), i))
				return c.By[a.Name] >= 10 && c.By[b.Name] >= 20
			})
			c.AwaitHandled()
			c.AwaitAtRest()
			over := c.AwaitEvent("the repetition is done", func(e proctest.Event) bool { return e.Kind == proctest.Done && e.Content == again })
			if over.Worker != b.Name || over.Attempt != 1 || over.At < ended.At {
				t.Errorf("the late report hit the batch in flight, or came too late to prove that it does not: %+v", over)
			}
			r := c.Check()
			for _, o := range r.Frozen {
				if o.Earlier.Worker != a.Name || o.Earlier.Content != contents[1] {
					t.Errorf("overlap of a handler that was not frozen: %+v", o)
				}
			}
			if len(r.Frozen) == 0 {
				t.Error("the frozen handler overlaps with none, so this test proves nothing")
			}
			if limit := 2; len(r.Again) > limit { // the batch held 4, the frozen one was its second
				t.Errorf("%d repetitions, want at most %d", len(r.Again), limit)
			}
			if r.Burnt != 2 { // of the two that had not begun
				t.Errorf("%d attempts were burnt unseen, want 2", r.Burnt)
			}
		})
	}
}

// spread sends contents of one basis to a topic of several slots.
func (c *crash) spread(topic rmq.Topic, basis string, contents ...string) {
	c.T.Helper()
	c.Send(topic, inOrder(basis, contents)...)
}
