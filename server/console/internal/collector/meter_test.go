package collector

import (
	"context"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
)

// What a processor works beside a reading is not counted, and readings at the same time share what it works.
func TestProcessor(t *testing.T) {
	t.Parallel()
	var s processor
	at, sum := time.Unix(1e9, 0), time.Duration(0)
	pass := func(seconds int, works time.Duration, reading int) time.Duration {
		before := s.forEach
		at, sum = at.Add(time.Duration(seconds)*time.Second), sum+works
		s.note(worked{at, sum}, reading)
		return (s.forEach - before).Round(time.Millisecond)
	}
	pass(0, 0, 0)
	if got := pass(1, 100*time.Millisecond, 1); got != 100*time.Millisecond {
		t.Errorf("%v, of 100ms, as nothing else is known", got)
	}
	at, sum = at.Add(time.Millisecond), sum+time.Millisecond
	s.note(worked{at, sum}, 0)
	if got := pass(1, 100*time.Millisecond, 1); got != 100*time.Millisecond {
		t.Errorf("%v, of 100ms, though it was alone for a moment only, in which it worked", got)
	}
	pass(10, time.Second, 0)
	if got := pass(1, 150*time.Millisecond, 1); got != 50*time.Millisecond {
		t.Errorf("%v, of 150ms, of which 100ms are worked anyway", got)
	}
	if got := pass(1, 300*time.Millisecond, 4); got != 50*time.Millisecond {
		t.Errorf("%v, which is not the part of four readings", got)
	}
	for range 30 { // it works more now
		pass(10, 5*time.Second, 0)
	}
	if got := pass(1, 550*time.Millisecond, 1); got.Round(10*time.Millisecond) != 50*time.Millisecond {
		t.Errorf("%v: what was long ago still counts", got)
	}
	s.note(worked{at.Add(-time.Second), sum - time.Second}, 1) // it was asked before, and answered later
	if got := pass(1, 510*time.Millisecond, 1); got.Round(10*time.Millisecond) != 10*time.Millisecond {
		t.Errorf("%v behind an answer that came late", got)
	}
	if got := pass(1, -sum, 1); got != 0 {
		t.Errorf("%v of a server that was restarted", got)
	}
}

// A long reading that lets Redis rest costs little; one that makes it work costs that work.
func TestMeter(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	way := servertest.NewProxy(t, server.Addr())
	rdb := way.Client(t)
	p := newProcessors(rdb)
	measure := func(read func()) (cost, took, worked time.Duration) {
		t.Helper()
		for tries := 1; ; tries++ {
			before := server.CPU(t)
			end := p.meter(t.Context())
			began := time.Now()
			read()
			took = time.Since(began)
			cost, known := end(took)
			if known {
				return cost, took, server.CPU(t) - before
			}
			if tries == 10 { // a server is asked within 2 s, which a busy machine may not make at once
				t.Fatal("the cost is not known")
			}
			p = newProcessors(rdb)
		}
	}
	if cost, took, _ := measure(func() { rdb.BLPop(t.Context(), time.Second, "nothing") }); cost > took/4 {
		t.Errorf("to wait for %v costs %v", took, cost)
	}
	cost, _, worked := measure(func() {
		must.Do(t, rdb.Eval(t.Context(), "local n = 0 for i = 1, 1e7 do n = n + i end return n", nil).Err())
	})
	if cost < worked/2 || cost > worked {
		t.Errorf("work of %v costs %v", worked, cost)
	}
	way.Delay(10 * time.Millisecond)
	if cost, took, _ := measure(func() {
		for range 50 {
			must.Do(t, rdb.Ping(t.Context()).Err())
		}
	}); cost > took/4 {
		t.Errorf("50 questions that take %v over a slow network cost %v", took, cost)
	}
}

// If a server does not say how much it works, a reading costs at most the time it
// takes.
func TestMeterOfSilentServer(t *testing.T) {
	t.Parallel()
	_, rdb := servertest.Memory(t)
	if cost, known := newProcessors(rdb).meter(t.Context())(time.Second); cost != time.Second || known {
		t.Error(cost, known)
	}
}

// A master that does not answer is not asked before each reading, and the others are.
func TestMeterOfCluster(t *testing.T) {
	t.Parallel()
	c := servertest.Cluster(t, 3, 0)
	p := newProcessors(c.Client(t))
	if _, known := p.meter(t.Context())(time.Second); !known || len(p.servers) != 3 {
		t.Fatal(known, p.servers)
	}
	hung := c.Nodes()[0]
	hung.Pause()
	defer hung.Resume()
	if _, known := p.meter(t.Context())(time.Second); !known {
		t.Error("two masters answer, and the cost is not known")
	}
	for addr, s := range p.servers {
		if (addr == hung.Addr()) == p.asks(addr) {
			t.Errorf("%s: %+v, and %s hangs", addr, s, hung.Addr())
		}
	}
	if p.reading != 0 {
		t.Errorf("%d readings are under way", p.reading)
	}
}

// A reading that was too long says nothing of the server; and one of a server that is away costs nothing.
func TestMeterOfAnOutage(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	p := newProcessors(server.Client(t))
	over, cancel := context.WithCancel(t.Context())
	end := p.meter(over)
	cancel()
	end(time.Second)
	if p.silent() {
		t.Error("the server is taken to be away, since a reading was ended")
	}
	server.Kill()
	if cost, known := p.meter(t.Context())(time.Hour); cost != 0 || known || !p.silent() {
		t.Error("a server that is away", cost, known)
	}
}
