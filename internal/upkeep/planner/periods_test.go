package planner

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/night"
	"github.com/slotmq/go-rmq/internal/testing/sharetest"
	"github.com/slotmq/go-rmq/internal/upkeep/plan"
	"github.com/slotmq/go-rmq/message"
)

// Three workers and thousands of periods. Workers come, die, and believe to have a slot that is
// another's; answers get lost; what a worker has read is sent long after, or twice; old and new
// programs declare rules of the same name; handlers are slow at times. After each period Redis has
// what a simple account says: each time was sent once or merged, and one copy waits at most.

// account is what must be, told without Redis.
type account struct {
	rule    int // of the rules
	base    time.Time
	planned time.Time
	waits   int64 // the score of the copy that waits; 0: none
	sent    int   // times that were sent, merged ones included
	handled int
}

type periods struct {
	*world
	*rand.Rand
	account
	workers []*worker
	late    []*firing   // read by some worker, perhaps long ago
	by      []*worker   // who read it
	read    []time.Time // when something was, since the planned time has come
	count   map[string]int
}

var rules = []message.Recurring{
	{Name: "p", Content: "report", Period: time.Second},
	{Name: "p", Content: "report", Delay: 300 * time.Millisecond, Period: 700 * time.Millisecond},
	{Name: "p", Content: "report", Cron: "* * * * *", Zone: "Europe/Berlin"},
}

func TestThousandsOfPeriods(t *testing.T) {
	t.Parallel()
	n := night.Times(3_000, 30_000)
	d := &periods{world: newWorld(t, message.Topic{Name: "reports", Kind: message.KindFixedTime, Slots: 1}), Rand: sharetest.Rand(t), count: map[string]int{}}
	d.rule = -1
	for range 3 {
		d.workers = append(d.workers, newWorker(d.world, zap.NewNop(), time.Hour))
	}
	began := time.Now()
	d.declare(0)
	for range n {
		d.period()
	}
	t.Logf("%d periods in %v: %d sent, %d handled, %v", n, time.Since(began).Round(time.Millisecond), d.sent, d.handled, d.count)
	for _, what := range []string{"declared", "another rule", "died", "alone", "lost an answer", "late", "two at once", "sent by a bad look", "nobody", "merged", "missed"} {
		if d.count[what] == 0 {
			t.Errorf("this never happened: %s", what)
		}
	}
}

// period goes on to the next time of the rule, and lets all kinds of things happen there.
func (d *periods) period() {
	d.at(later(d.now, d.planned).Add(time.Duration(d.Int64N(2)*d.Int64N(50)) * time.Millisecond))
	if d.IntN(200) == 0 { // no worker runs for a while
		d.at(d.now.Add(time.Duration(d.Int64N(5000)) * time.Millisecond))
		d.count["missed"]++
	}
	for range d.IntN(3) {
		before := d.sent
		d.mishap()
		d.compare("after a mishap", false)
		d.count["sent by a bad look"] += d.sent - before
	}
	if d.IntN(20) == 0 {
		d.count["nobody"]++
		d.at(d.now.Add(time.Duration(d.Int64N(3000)) * time.Millisecond))
	} else {
		d.owner().looks(0)
		d.compare("after a look", true)
	}
	busy := d.count["nobody"]/10%3 == 2 // a time of slow handlers
	if d.waits != 0 && d.IntN(20) < map[bool]int{true: 1, false: 18}[busy] {
		if got := d.ZRem(ctx, d.keys(0).Store, "report").Val(); got != 1 {
			d.t.Fatal("what waits is not there")
		}
		d.waits, d.handled = 0, d.handled+1
	}
	if d.IntN(50) == 0 {
		d.declare(d.IntN(len(rules)))
	}
}

// owner has some worker have the slot, and perhaps another one that believes to have it.
func (d *periods) owner() *worker {
	x := d.workers[d.IntN(len(d.workers))]
	x.has(0)
	return x
}

// mishap is one of the things that may go wrong.
func (d *periods) mishap() {
	switch x := d.owner(); d.IntN(5) {
	case 0: // it dies, with what it was about to do still in the network
		d.reads(x)
		d.workers[d.IntN(len(d.workers))] = newWorker(d.world, zap.NewNop(), time.Hour)
		d.count["died"]++
	case 1: // an answer gets lost, to a question or to what it sends
		which := []func(redis.Cmder) bool{fires, func(redis.Cmder) bool { return true }}[d.IntN(2)]
		d.answersGetLost(which)
		x.looks(0)
		d.answersGetLost(nil)
		d.count["lost an answer"]++
	case 2: // what was read is sent now, perhaps once more, or after its rule was changed
		d.reads(x)
		if len(d.late) == 0 { // at first, and another mishap has sent it
			return
		}
		i := d.IntN(len(d.late))
		if d.IntN(2) == 0 {
			i = len(d.late) - 1 - d.IntN(min(3, len(d.late)))
		}
		d.by[i].fire(ctx, []*firing{d.late[i]})
		d.count["late"]++
	case 3: // all believe to have the slot
		var all sync.WaitGroup
		for _, x := range d.workers {
			x.has(0)
			all.Go(func() { x.looks(0) })
		}
		all.Wait()
		d.count["two at once"]++
	case 4: // it loses the slot
		x.has()
		x.looks(0)
		d.count["alone"]++
	}
}

// reads has a worker ask what is due, and do nothing about it yet.
func (d *periods) reads(x *worker) {
	cmd := x.Scripts.DuePlansCmd(ctx, d.keys(0), 1)
	x.Scripts.Exec(ctx, cmd)
	due, err := protocol.DuePlansAnswer(d.keys(0), cmd)
	must.Do(d.t, err)
	all, _ := x.decide(place{x.topic, 0}, due)
	d.read = append(d.read, d.now)
	for _, f := range all {
		d.late, d.by = append(d.late, f), append(d.by, x)
	}
	if len(d.late) > 20 {
		d.late, d.by = d.late[5:], d.by[5:]
	}
}

// declare is the start of a program that knows one of the rules.
func (d *periods) declare(rule int) {
	d.set(0, rules[rule])
	d.count["declared"]++
	if rule == d.rule {
		return
	}
	d.count["another rule"]++
	d.rule, d.base = rule, d.now
	if owes := !d.planned.IsZero() && !d.planned.After(d.now); !owes { // else the rule sends what the one before owes
		d.planned = d.after(d.now)
	}
}

// after is the next time of the rule.
func (d *periods) after(now time.Time) time.Time {
	r, err := plan.New(d.topic, rules[d.rule], 1000)
	must.Do(d.t, err)
	next, _ := r.Next(d.base, now)
	return next
}

// movedTo is the next time as a worker has computed it that looked now, or before: then it may be
// over already, and is due.
func (d *periods) movedTo(next int64) time.Time {
	for _, then := range d.read {
		if at := d.after(then); at.UnixMilli() == next {
			if !at.After(d.now) {
				d.count["moved to a time that is over"]++
			}
			return at
		}
	}
	return d.after(d.now)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func (d *periods) storedNext() int64 { return int64(d.ZScore(ctx, d.keys(0).Plan, "p").Val()) }

// compare compares Redis with the account. What is due has been sent, if it must be.
func (d *periods) compare(when string, must bool) {
	d.t.Helper()
	stored := d.stored(0)
	moved := d.storedNext() != d.planned.UnixMilli()
	if must && !moved && !d.planned.After(d.now) {
		d.t.Fatalf("%s: what was due at %v is not sent at %v", when, d.planned, d.now)
	}
	if moved {
		d.sent++
		if d.waits == 0 {
			d.waits = d.planned.UnixMilli()
		} else {
			d.count["merged"]++
		}
		d.planned = d.movedTo(d.storedNext())
		d.read = nil
	}
	want := "map[]"
	if d.waits != 0 {
		want = fmt.Sprint(map[string]int64{"report": d.waits})
	}
	if got := fmt.Sprint(stored); got != want || d.storedNext() != d.planned.UnixMilli() {
		d.t.Fatalf("%s, period %d: %s waits, the next is at %d; want %s and %d", when, d.sent, got, d.storedNext(), want, d.planned.UnixMilli())
	}
}
