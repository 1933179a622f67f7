package gate

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/worker/breaker"
	"github.com/slotmq/go-rmq/internal/worker/schedule"
)

// probesAfter is how many different messages must fail in a row until only probes are begun.
const probesAfter = 72

// testGate is the gate of a topic with so many places.
func testGate(most int, b *breaker.Breaker) *Gate {
	x := &schedule.Topic{Name: "t", Slots: 1, Most: most, NewSlot: func(int) *schedule.Slot { return &schedule.Slot{} }}
	schedule.New(most, []*schedule.Topic{x}, time.Now, func(*schedule.Slot, time.Time) {})
	return New(Config{Places: x, Most: most, Within: time.Minute, Breaker: b, Report: func(Outage) {}})
}

// probingGate is the gate of a topic that probes: too many of its messages failed in a row.
func probingGate() *Gate {
	g := testGate(64, breaker.New(64, breaker.LongestPause))
	for i := range probesAfter {
		g.ends(Failure, Message{Content: fmt.Sprint(i)})
	}
	return g
}

// ends has a handler of one message end.
func (g *Gate) ends(e Evidence, m Message) { g.Ended(0, e, m, func() string { return "it fails" }) }

// While a topic rests nothing of it begins, for as long as the last one wanted it; then all may.
func TestRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, b := range []*breaker.Breaker{nil, breaker.New(64, breaker.LongestPause)} {
			g := testGate(64, b)
			begun := time.Now()
			g.Rest(5 * time.Second)
			g.Rest(8 * time.Second)
			g.Rest(time.Second)
			for time.Since(begun) < 8*time.Second {
				if _, ok := g.Begin(g.State()); ok || g.Places.Allowed() != 0 {
					t.Errorf("something begins after %v", time.Since(begun))
				}
				await.Pass(time.Second)
				synctest.Wait()
			}
			if pass, ok := g.Begin(g.State()); !ok || pass != 0 || g.Places.Allowed() != 64 || g.State() != breaker.Calm {
				t.Errorf("after a rest: %v, %d places", ok, g.Places.Allowed())
			}
			g.Close()
		}
	})
}

// While the next probe waits for a message, no clock runs: a timer that is over already would be
// set again and again, and this test would never end.
func TestProbeWaitsForAMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := probingGate()
		defer g.Close()
		await.Pass(time.Hour)
		if synctest.Wait(); g.Places.Allowed() != 1 || !g.alarm.IsZero() {
			t.Errorf("%d places, a timer until %v", g.Places.Allowed(), g.alarm)
		}
	})
}

// A probe is taken as one: what was taken before, or for another probe, does not begin.
func TestProbesAreTakenAsSuch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := probingGate()
		defer g.Close()
		await.Pass(100 * time.Millisecond)
		synctest.Wait()
		for _, taken := range []breaker.State{breaker.Calm, breaker.Counting, breaker.OneByOne, breaker.ProbeRetry, breaker.ProbeDrawn} {
			if _, ok := g.Begin(taken); ok {
				t.Errorf("what was taken in state %d begins as the probe of state %d", taken, g.State())
			}
		}
		if _, ok := g.Begin(breaker.ProbeLast); !ok {
			t.Error("the probe does not begin")
		}
	})
}

// What failed before others succeeded shows no outage when it fails again; what has failed
// since is.
func TestOldFailuresShowNothing(t *testing.T) {
	g := testGate(64, breaker.New(64, breaker.LongestPause))
	defer g.Close()
	taken := time.Now()
	old, since := taken.Add(-time.Minute), taken.Add(time.Minute)
	g.Succeeded(taken.UnixMicro(), taken)
	for i := range 100 {
		g.ends(Failure, Message{Content: fmt.Sprint(i), Attempt: 2, FirstFailure: old})
	}
	if m := g.State(); m >= breaker.OneByOne || g.Places.Allowed() != 64 {
		t.Errorf("old failures: %d places", g.Places.Allowed())
	}
	for i := range probesAfter {
		g.ends(Failure, Message{Content: fmt.Sprint(i), Attempt: 2, FirstFailure: since})
	}
	if m := g.State(); m != breaker.ProbeLast || g.Places.Allowed() != 0 {
		t.Errorf("new failures: %d places", g.Places.Allowed())
	}
	g.ends(NoEvidence, Message{Content: "dead"})
	if _, ok := g.Begin(g.State()); ok {
		t.Error("something begins after what is no success")
	}
	g.ends(Success, Message{Content: "good"})
	if _, ok := g.Begin(g.State()); !ok || g.Places.Allowed() != 2 {
		t.Errorf("after a success: %d places", g.Places.Allowed())
	}
}
