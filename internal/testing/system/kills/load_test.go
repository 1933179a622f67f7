package kills

import (
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/night"
	"github.com/slotmq/go-rmq/internal/testing/proctest"
	"github.com/slotmq/go-rmq/internal/testing/system/workers"
	"github.com/slotmq/go-rmq/rmq"
)

// Two processes, then three; then one is killed in the middle of a batch and
// replaced, by night twenty times, without a pause in the load.
func TestProcessesKilledInTheMiddle(t *testing.T) {
	t.Parallel()
	kills := night.Times(4, 20)
	topic := rmq.Topic{Name: "prices", Kind: rmq.KindRangeMerge, Slots: 16}
	l := workers.NewLoad(t, workers.Job{Topics: []rmq.Topic{topic}, Lease: 4 * time.Second, Work: 8 * time.Millisecond, Backoff: 10 * time.Millisecond})
	l.Poisonous = 1000
	alive := l.Work(2)
	share(l, alive)
	alive = append(alive, l.Work(1)...)
	share(l, alive[2:])
	begun := time.Now()

	spare := l.Warm()
	hits := 0
	for victims := 0; hits < kills; victims++ {
		if victims == 2*kills {
			t.Fatalf("%d processes were killed and only %d while they handled something", victims, hits)
		}
		before := l.Done()
		at := -1
		l.During("a worker handles something", func() bool {
			i := l.Random.IntN(len(alive))
			if l.Done() >= before+250 && l.Open(alive[i].Name) > 0 {
				at = i
			}
			return at >= 0
		})
		victim := alive[at]
		victim.Kill()
		l.GoAll(spare)
		alive[at], spare = spare, l.Warm()
		if l.Open(victim.Name) > 0 {
			hits++
		}
	}
	took := time.Since(begun)
	l.Drain()
	r := l.Check()
	if r.MidBatch < kills {
		t.Errorf("%d kills hit a batch, want %d", r.MidBatch, kills)
	}
	if least := night.Times(2000, 10_000); len(l.Sent) < least {
		t.Errorf("%d contents were sent, want %d or more", len(l.Sent), least)
	}
	if r.Dead > l.Poisoned {
		t.Errorf("%d contents are dead, want the %d poisonous ones at most", r.Dead, l.Poisoned)
	}
	if len(r.Frozen) > 0 && r.Stalls == 0 {
		t.Errorf("handlers overlap, and no stall of the machine explains it: %+v", r.Frozen)
	}
	repeatsByKill(l, r)
	killed, _ := proctest.Pauses(l.Events())
	t.Logf("%d kills in %v; a slot stood still after a kill, with a lease of %v: %s", kills, took.Round(time.Millisecond), l.Job.Lease, proctest.Spread(killed))
}

// share waits until the workers have their shares, which newcomers have after a trial,
// and fails the test unless each does its part of what comes then.
func share(l *workers.Load, ps []*proctest.Process) {
	l.T.Helper()
	for _, w := range ps {
		l.During(w.Name+" has a share", func() bool { return l.By[w.Name] > 0 })
	}
	before, many := l.Done(), night.Times(600, 3000)
	l.During("they share the work", func() bool { return l.Done() >= before+many })
	for _, w := range ps {
		l.During(w.Name+" does its part", func() bool { return l.By[w.Name] >= many/10 })
	}
	l.T.Logf("shares: %v", l.By)
}

// repeatsByKill fails the test if a kill repeats more than one batch of a slot.
func repeatsByKill(l *workers.Load, r proctest.Report) {
	l.T.Helper()
	type slot struct {
		worker string
		index  int
	}
	fences := map[slot]map[int64]bool{}
	byWorker := map[string]int{}
	most := 0
	for _, a := range r.Again {
		if a.Cause != proctest.Kill { // a worker that stood still for its lease repeats one, too
			continue
		}
		k := slot{a.Was.Worker, a.Was.Slot}
		if fences[k] == nil {
			fences[k] = map[int64]bool{}
		}
		fences[k][a.Was.Fence] = true
		if len(fences[k]) > 1 {
			l.T.Errorf("more than one batch of slot %d of %s is repeated: %v", k.index, k.worker, fences[k])
		}
		byWorker[a.Was.Worker]++
		most = max(most, byWorker[a.Was.Worker])
	}
	l.T.Logf("%d contents were done again, at most %d by one kill", len(r.Again), most)
}

// Processes are killed while there is nothing to do, by night twenty: that costs
// only the time until the others notice.
func TestProcessesKilledIdle(t *testing.T) {
	t.Parallel()
	topic := rmq.Topic{Name: "idle", Kind: rmq.KindRangeMerge, Slots: 16}
	l := workers.NewLoad(t, workers.Job{Topics: []rmq.Topic{topic}, Lease: 4 * time.Second, Work: 2 * time.Millisecond, Backoff: 10 * time.Millisecond})
	const each = 4
	kills := night.Times(each, 5*each)
	alive := l.Work(each + 1)
	slowest := time.Duration(0)
	for killed := 0; killed < kills; killed += each {
		l.Batch(topic, 200)
		l.Drain()
		spares := make([]*proctest.Process, each)
		for i := range spares {
			spares[i] = l.Warm()
		}
		for _, p := range spares {
			l.AwaitKind(p.Name, proctest.Warm)
		}
		for _, p := range alive[:each] {
			p.Kill()
		}
		alive = append(alive[each:], spares...) // the one that lived is the next to go
		l.GoAll(spares...)
		begun := time.Now()
		l.Batch(topic, 200)
		l.Drain()
		slowest = max(slowest, time.Since(begun))
	}
	r := l.Check()
	if r.Stalls == 0 { // one that lasts a lease costs attempts, rightly
		l.Untouched(r)
	}
	if r.MidBatch != 0 {
		t.Errorf("%d kills hit a handler; this test is about the others", r.MidBatch)
	}
	t.Logf("%d processes were killed idle; all slots worked again within %v, with a lease of %v", kills, slowest.Round(time.Millisecond), l.Job.Lease)
}

// A process is added and another asked to stop, by night twenty times, in the middle of
// the load. It costs nothing: no attempt, no repetition, no priority, no time.
func TestProcessesStopPolitely(t *testing.T) {
	t.Parallel()
	stops := night.Times(4, 20)
	l := workers.NewLoad(t, workers.Job{
		Topics: []rmq.Topic{
			{Name: "pictures", Kind: rmq.KindPriority, Slots: 4},
			{Name: "reminders", Kind: rmq.KindFixedTime, Slots: 4},
		},
		// Much longer than the test may take: nothing here waits for a lease.
		Lease: 5 * time.Minute, Work: 4 * time.Millisecond, Backoff: 10 * time.Millisecond,
	})
	alive := l.Work(3)
	for range stops {
		before := l.Done()
		next := l.Warm()
		l.During("the work goes on", func() bool { return l.Done() >= before+400 })
		l.AwaitKind(next.Name, proctest.Warm)
		next.Go()
		l.During("another joins", l.Seen(next.Name, proctest.Ready))
		leaver := alive[0]
		leaver.Term()
		l.During("one has left", func() bool { gone, _ := leaver.Gone(); return gone })
		if _, err := leaver.Gone(); err != nil {
			t.Errorf("%s did not stop politely: %v", leaver.Name, err)
		}
		l.During("it has closed", l.Seen(leaver.Name, proctest.Closed))
		alive = append(alive[1:], next)
	}
	l.Drain()
	r := l.Check()
	l.Untouched(r)
	if least := night.Times(2000, 10_000); len(l.Sent) < least {
		t.Errorf("%d contents were sent, want %d or more", len(l.Sent), least)
	}
	l.InTime()
	events := l.Events()
	var closing []time.Duration
	began := map[string]proctest.Event{}
	for _, e := range events {
		switch e.Kind {
		case proctest.Closing:
			began[e.Worker] = e
		case proctest.Closed:
			closing = append(closing, workers.Between(began[e.Worker], e))
		}
	}
	_, left := proctest.Pauses(events)
	t.Logf("%d of %d workers were stopped while they handled something", inTheMiddle(events), len(closing))
	t.Logf("a slot stood still when its worker left: %s", proctest.Spread(left))
	t.Logf("Close took, by worker: %s", proctest.Spread(closing))
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
