package rmq_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/definition"
	"github.com/slotmq/go-rmq/internal/testing/proctest"
	"github.com/slotmq/go-rmq/rmq"
)

// These tests keep several processes busy and kill, stop and add some of them
// all the while. They do not run in parallel: with a lease of a second, a worker
// that gets no processor for so long loses its batches, rightly.

// load keeps the slots of a cluster full.
type load struct {
	*cluster
	backlog   int // contents that wait or are handled, at the most
	bases     int
	evenly    map[string][]string // topic: one basis for each slot, to be used in turn
	poisonous int                 // every so many contents; 0: never
	poisoned  int                 // contents that can only die
	told      map[string]int      // topic: how many contents it got
	rate      int                 // contents a second; 0: as many as are handled
	next      time.Time           // when more are sent, at that rate
	at        map[string]int64    // of FixedTime: when, in ms
	due       map[string]int64    // in ns
	priority  map[string]int64
	random    *rand.Rand
}

func newLoad(t *testing.T, j job) *load {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	return &load{
		cluster: newCluster(t, j), backlog: 2000, bases: 128,
		told: map[string]int{}, at: map[string]int64{}, due: map[string]int64{}, priority: map[string]int64{}, random: rand.New(rand.NewPCG(seed, 0)),
	}
}

// fill sends until the backlog is full, or at the rate.
func (l *load) fill() {
	l.t.Helper()
	if now := time.Now(); l.rate > 0 {
		const together = 24
		if now.Before(l.next) || len(l.sent)-len(l.Handled)-l.poisoned > l.backlog {
			return
		}
		l.next = now.Add(together * time.Second / time.Duration(l.rate))
		l.batch(slices.MinFunc(l.job.Topics, func(a, b rmq.Topic) int { return l.told[a.Name]*b.Slots - l.told[b.Name]*a.Slots }), together)
		return
	}
	for _, t := range l.job.Topics {
		if len(l.sent)-len(l.Handled)-l.poisoned < l.backlog {
			l.batch(t, 200)
		}
	}
}

// batch sends n contents to a topic.
func (l *load) batch(t rmq.Topic, n int) {
	l.t.Helper()
	ms := make([]rmq.Message, n)
	for i := range ms {
		k := len(l.sent) + i
		basis := l.basis(t)
		s := content(basis, k)
		if l.poisonous > 0 && k%l.poisonous == 0 {
			s = content(basis, k, poison)
			l.poisoned++
		}
		ms[i] = l.message(t, basis, s)
	}
	l.send(t, ms...)
}

func (l *load) basis(t rmq.Topic) string {
	n := l.told[t.Name]
	l.told[t.Name]++
	if all := l.evenly[t.Name]; all != nil {
		return all[n%len(all)]
	}
	return fmt.Sprintf("%s-b%03d", t.Name, l.random.IntN(l.bases))
}

// message makes a message for a topic, and notes when it is due.
func (l *load) message(t rmq.Topic, basis, content string) rmq.Message {
	now := time.Now()
	l.due[content] = now.UnixNano()
	switch t.Kind {
	case rmq.KindRangeMerge:
		l.due[content] = now.Add(time.Millisecond).UnixNano()
		return rmq.RangeMerge{Content: content, SlotBasis: basis, Range: time.Millisecond}
	case rmq.KindPriority:
		l.priority[content] = 17 + l.random.Int64N(1000)
		return rmq.Priority{Content: content, SlotBasis: basis, Priority: l.priority[content]}
	}
	at := now.Add(time.Duration(200+l.random.IntN(400)) * time.Millisecond)
	l.at[content], l.due[content] = at.UnixMilli(), at.UnixNano()
	return rmq.FixedTime{Content: content, SlotBasis: basis, At: at}
}

// during keeps the slots full until cond holds.
func (l *load) during(what string, cond func() bool) {
	l.t.Helper()
	l.Await(what, func() bool {
		l.fill()
		return cond()
	})
}

// drain sends nothing more and waits until all is done or dead.
func (l *load) drain() {
	l.t.Helper()
	l.Await("everything sent is done", func() bool { return len(l.Handled)+l.poisoned == len(l.sent) })
	l.Await("what cannot be done is dead", func() bool {
		l.dead = map[string]bool{} // a kill may hide the last delivery of one
		for _, t := range l.job.Topics {
			for slot := range definition.Full(t).Slots {
				for _, content := range l.rdb.ZRange(context.Background(), fmt.Sprintf("dead{%s_%d}", t.Name, slot), 0, -1).Val() {
					l.dead[content] = true
				}
			}
		}
		return len(l.dead) == l.poisoned
	})
	l.awaitAtRest()
}

func (l *load) done() (sum int) {
	for _, n := range l.By {
		sum += n
	}
	return sum
}

const kills = 20

// Two processes, then three; then one is killed in the middle of a batch and
// replaced, twenty times, without a pause in the load.
func TestProcessesKilledInTheMiddle(t *testing.T) {
	topic := rmq.Topic{Name: "prices", Kind: rmq.KindRangeMerge, Slots: 16}
	l := newLoad(t, job{Topics: []rmq.Topic{topic}, Lease: time.Second, Work: 8 * time.Millisecond, Backoff: 10 * time.Millisecond})
	l.poisonous = 1000
	alive := l.run(2)
	l.share(alive)
	alive = append(alive, l.run(1)...)
	l.share(alive[2:])
	begun := time.Now()

	spare := l.warm()
	hits := 0
	for victims := 0; hits < kills; victims++ {
		if victims == 2*kills {
			t.Fatalf("%d processes were killed and only %d while they handled something", victims, hits)
		}
		before := l.done()
		at := -1
		l.during("a worker handles something", func() bool {
			i := l.random.IntN(len(alive))
			if l.done() >= before+250 && l.Open(alive[i].Name) > 0 {
				at = i
			}
			return at >= 0
		})
		victim := alive[at]
		victim.Kill()
		l.goAll(spare)
		alive[at], spare = spare, l.warm()
		if l.Open(victim.Name) > 0 {
			hits++
		}
	}
	took := time.Since(begun)
	l.drain()
	r := l.check()
	if r.MidBatch < kills {
		t.Errorf("%d kills hit a batch, want %d", r.MidBatch, kills)
	}
	if len(l.sent) < 10_000 {
		t.Errorf("%d contents were sent, want 10000 or more", len(l.sent))
	}
	if r.Dead > l.poisoned {
		t.Errorf("%d contents are dead, want the %d poisonous ones at most", r.Dead, l.poisoned)
	}
	if len(r.Frozen) > 0 && r.Stalls == 0 {
		t.Errorf("handlers overlap, and no stall of the machine explains it: %+v", r.Frozen)
	}
	l.repeatsByKill(r)
	killed, _ := proctest.Pauses(l.Events())
	t.Logf("%d kills in %v; a slot stood still after a kill, with a lease of %v: %s", kills, took.Round(time.Millisecond), l.job.Lease, proctest.Spread(killed))
}

// share waits until the workers have their shares, which newcomers have after a trial,
// and fails the test unless each does its part of what comes then.
func (l *load) share(workers []*proctest.Process) {
	l.t.Helper()
	for _, w := range workers {
		l.during(w.Name+" has a share", func() bool { return l.By[w.Name] > 0 })
	}
	before := l.done()
	l.during("they share the work", func() bool { return l.done() >= before+3000 })
	for _, w := range workers {
		if l.By[w.Name] < 300 {
			l.t.Errorf("%s has done %d of 3000", w.Name, l.By[w.Name])
		}
	}
	l.t.Logf("shares: %v", l.By)
}

// repeatsByKill fails the test if a kill repeats more than one batch of a slot.
func (l *load) repeatsByKill(r proctest.Report) {
	l.t.Helper()
	type slot struct {
		worker string
		index  int
	}
	fences := map[slot]map[int64]bool{}
	byWorker := map[string]int{}
	most := 0
	for _, a := range r.Again {
		k := slot{a.Was.Worker, a.Was.Slot}
		if fences[k] == nil {
			fences[k] = map[int64]bool{}
		}
		fences[k][a.Was.Fence] = true
		if len(fences[k]) > 1 {
			l.t.Errorf("more than one batch of slot %d of %s is repeated: %v", k.index, k.worker, fences[k])
		}
		byWorker[a.Was.Worker]++
		most = max(most, byWorker[a.Was.Worker])
	}
	l.t.Logf("%d contents were done again, at most %d by one kill", len(r.Again), most)
}

// A process is killed while there is nothing to do, twenty times: that costs
// only the time until the others notice.
func TestProcessesKilledIdle(t *testing.T) {
	topic := rmq.Topic{Name: "idle", Kind: rmq.KindRangeMerge, Slots: 16}
	l := newLoad(t, job{Topics: []rmq.Topic{topic}, Lease: time.Second, Work: 2 * time.Millisecond, Backoff: 10 * time.Millisecond})
	const each = 4
	alive := l.run(each + 1)
	slowest := time.Duration(0)
	for killed := 0; killed < kills; killed += each {
		l.batch(topic, 200)
		l.drain()
		spares := make([]*proctest.Process, each)
		for i := range spares {
			spares[i] = l.warm()
		}
		for _, p := range spares {
			l.AwaitKind(p.Name, proctest.Warm)
		}
		for _, p := range alive[:each] {
			p.Kill()
		}
		alive = append(alive[each:], spares...) // the one that lived is the next to go
		l.goAll(spares...)
		begun := time.Now()
		l.batch(topic, 200)
		l.drain()
		slowest = max(slowest, time.Since(begun))
	}
	r := l.check()
	if r.Stalls == 0 { // one that lasts a lease costs attempts, rightly
		l.untouched(r)
	}
	if r.MidBatch != 0 {
		t.Errorf("%d kills hit a handler; this test is about the others", r.MidBatch)
	}
	t.Logf("%d processes were killed idle; all slots worked again within %v, with a lease of %v", kills, slowest.Round(time.Millisecond), l.job.Lease)
}

// untouched fails the test unless everything was delivered once, as attempt 1.
func (l *load) untouched(r proctest.Report) {
	l.t.Helper()
	if r.Deliveries != len(l.sent) || len(r.Again) != 0 || r.Burnt != 0 || r.Dead != 0 {
		l.t.Errorf("%d contents were sent; a stop or a start of a worker cost something: %v", len(l.sent), &r)
	}
	for _, e := range l.Events() {
		switch {
		case e.Kind == proctest.Fail:
			l.t.Errorf("a handler was cut short: %+v", e)
		case e.Kind == proctest.Start && e.Attempt != 1:
			l.t.Errorf("an attempt was spent: %+v", e)
		}
	}
}

// A process is added and another asked to stop, twenty times, in the middle of
// the load. It costs nothing: no attempt, no repetition, no priority, no time.
func TestProcessesStopPolitely(t *testing.T) {
	l := newLoad(t, job{
		Topics: []rmq.Topic{
			{Name: "pictures", Kind: rmq.KindPriority, Slots: 4},
			{Name: "reminders", Kind: rmq.KindFixedTime, Slots: 4},
		},
		// Much longer than the test may take: nothing here waits for a lease.
		Lease: 5 * time.Minute, Work: 4 * time.Millisecond, Backoff: 10 * time.Millisecond,
	})
	alive := l.run(3)
	for range kills {
		before := l.done()
		next := l.warm()
		l.during("the work goes on", func() bool { return l.done() >= before+400 })
		l.AwaitKind(next.Name, proctest.Warm)
		next.Go()
		l.during("another joins", l.saw(next.Name, proctest.Ready))
		leaver := alive[0]
		leaver.Term()
		l.during("one has left", func() bool { gone, _ := leaver.Gone(); return gone })
		if _, err := leaver.Gone(); err != nil {
			t.Errorf("%s did not stop politely: %v", leaver.Name, err)
		}
		l.during("it has closed", l.saw(leaver.Name, proctest.Closed))
		alive = append(alive[1:], next)
	}
	l.drain()
	r := l.check()
	l.untouched(r)
	if len(l.sent) < 10_000 {
		t.Errorf("%d contents were sent, want 10000 or more", len(l.sent))
	}
	l.intime()
	events := l.Events()
	var closing []time.Duration
	began := map[string]proctest.Event{}
	for _, e := range events {
		switch e.Kind {
		case proctest.Closing:
			began[e.Worker] = e
		case proctest.Closed:
			closing = append(closing, between(began[e.Worker], e))
		}
	}
	_, left := proctest.Pauses(events)
	t.Logf("%d of %d workers were stopped while they handled something", inTheMiddle(events), len(closing))
	t.Logf("a slot stood still when its worker left: %s", proctest.Spread(left))
	t.Logf("Close took, by worker: %s", proctest.Spread(closing))
}

// intime fails the test if something was delivered early, or with another priority:
// only a retry's may be unknown.
func (l *load) intime() {
	l.t.Helper()
	for _, e := range l.Events() {
		if e.Kind != proctest.Start {
			continue
		}
		if e.Priority != l.priority[e.Content] && (e.Attempt == 1 || e.Priority != 0) {
			l.t.Errorf("a priority was not kept: %+v, want %d", e, l.priority[e.Content])
		}
		if at, timed := l.at[e.Content]; timed && e.At/1e6 < at {
			l.t.Errorf("delivered %d ms early: %+v", at-e.At/1e6, e)
		}
	}
}

// inTheMiddle counts the workers that ran a handler when they were to stop.
func inTheMiddle(events []proctest.Event) (n int) {
	running := map[string]int{}
	for _, e := range events {
		switch e.Kind {
		case proctest.Start:
			running[e.Worker]++
		case proctest.Done, proctest.Fail:
			running[e.Worker]--
		case proctest.Closing:
			n += min(1, running[e.Worker])
		}
	}
	return n
}

// saw is a condition: an event of a worker was read.
func (l *load) saw(worker string, kind proctest.Kind) func() bool {
	return func() bool { return l.Saw(worker, kind) }
}
