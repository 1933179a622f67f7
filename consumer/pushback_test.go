package consumer

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/worker/breaker"
	"github.com/slotmq/go-rmq/internal/worker/schedule"
	"github.com/slotmq/go-rmq/internal/worker/verdict"
	"github.com/slotmq/go-rmq/message"
)

// What is pushed back comes again as if it had not been delivered, whatever its kind and however it is
// handled, and it is no failure, however often that happens. Nothing of the topic begins meanwhile.
func TestPushback(t *testing.T) {
	t.Parallel()
	rdb := shared(t)
	const rest = 100 * time.Millisecond
	full := errors.New("full")
	for says, result := range map[string]error{
		"Pushback": Pushback(rest, full),
		"no cause": Pushback(rest, nil),
		"wrapped":  fmt.Errorf("the shop: %w", Pushback(rest, full)),
		"joined":   errors.Join(full, Pushback(rest, full)),
	} {
		for name, listen := range map[string]wayToListen{"serial": oneAfterTheOther, "parallel": sideBySide, "together": together} {
			t.Run(says+" "+name, func(t *testing.T) {
				t.Parallel()
				for _, kind := range kinds {
					topic := topicOf(t, kind, 4)
					l, n := newLedger(t), newNotes()
					contents := numbered("m", 40)
					newSender(t, rdb, topic).send(t, contents...)
					c := newConsumer(t, rdb, Config{Observers: []message.Observer{l}, MaxAttempts: 1})
					pushed, last := map[string]int{}, map[string]time.Time{}
					must.Do(t, listen(c, topic, n.around(func(ctx context.Context, d *Delivery) error {
						n.mu.Lock()
						defer n.mu.Unlock()
						if at := last[d.Content]; !at.IsZero() && time.Since(at) < rest {
							t.Errorf("%v, %s, %s: %s begins after %v of rest", kind, says, name, d.Content, time.Since(at))
						}
						if d.Attempt != 1 || d.LastError != "" || !d.Last {
							t.Errorf("%v, %s, %s: delivery %+v", kind, says, name, d)
						}
						if pushed[d.Content]++; pushed[d.Content] <= 2 && len(pushed) <= 4 {
							last[d.Content] = time.Now()
							if got := OutcomeOf(ctx, d, result); got != message.HandedBack {
								t.Errorf("%s: %v", says, got)
							}
							return result
						}
						return nil
					})))
					start(t, c)
					n.awaitAll(t, contents)
					wantEmpty(t, rdb, topic)
					must.Do(t, closeIn(c, await.Patience))
					l.mu.Lock()
					for _, x := range l.items {
						if x.What == message.HandedBack && x.Reason != "" && (!errors.Is(x.Err, ErrPushedBack) || says != "no cause" && !errors.Is(x.Err, full) || !strings.Contains(result.Error(), x.Reason)) {
							t.Errorf("%v, %s, %s: %+v", kind, says, name, x)
						}
					}
					if l.ends[message.Failed]+l.ends[message.Died] > 0 || l.ends[message.HandedBack] == 0 {
						t.Errorf("%v, %s, %s: %v", kind, says, name, l.ends)
					}
					l.mu.Unlock()
				}
			})
		}
	}
}

// testGate is the gate of a topic with so many places.
func testGate(most int, b *breaker.Breaker) (*gate, *schedule.Schedule) {
	x := &schedule.Topic{Name: "t", Slots: 1, Most: most, NewSlot: func(int) *schedule.Slot { return &schedule.Slot{} }}
	s := schedule.New(most, []*schedule.Topic{x}, time.Now, func(*schedule.Slot, time.Time) {})
	return &gate{most: most, within: time.Minute, breaker: b, places: x, report: func(outage) {}}, s
}

// probingGate is the gate of a topic that probes: too many of its messages failed in a row.
func probingGate() (*gate, *schedule.Schedule) {
	g, s := testGate(64, breaker.New(64, breaker.LongestPause))
	for i := range probesAfter {
		g.ends(failure, Delivery{Content: fmt.Sprint(i)})
	}
	return g, s
}

// ends has a handler of one message end.
func (g *gate) ends(s sign, d Delivery) {
	g.ended(&batch{slot: &slot{results: make([]verdict.Verdict, 1)}, deliveries: []Delivery{d}, batches: &batches{}}, 0, s)
}

// While a topic rests nothing of it begins, for as long as the last one wanted it; then all may.
func TestRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, b := range []*breaker.Breaker{nil, breaker.New(64, breaker.LongestPause)} {
			g, _ := testGate(64, b)
			begun := time.Now()
			g.rest(5 * time.Second)
			g.rest(8 * time.Second)
			g.rest(time.Second)
			for time.Since(begun) < 8*time.Second {
				if _, ok := g.begin(g.mood.Load()); ok || g.places.Allowed() != 0 {
					t.Errorf("something begins after %v", time.Since(begun))
				}
				await.Pass(time.Second)
				synctest.Wait()
			}
			if permit, ok := g.begin(g.mood.Load()); !ok || permit != 0 || g.places.Allowed() != 64 || g.mood.Load() != breaker.Calm {
				t.Errorf("after a rest: %v, %d places", ok, g.places.Allowed())
			}
			g.close()
		}
	})
}

// While the next probe waits for a message, no clock runs: a timer that is over already would be
// set again and again, and this test would never end.
func TestProbeWaitsForAMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, _ := probingGate()
		defer g.close()
		await.Pass(time.Hour)
		if synctest.Wait(); g.places.Allowed() != 1 || !g.alarm.IsZero() {
			t.Errorf("%d places, a timer until %v", g.places.Allowed(), g.alarm)
		}
	})
}

// A probe is taken as one: what was taken before, or for another probe, does not begin.
func TestProbesAreTakenAsSuch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, _ := probingGate()
		defer g.close()
		await.Pass(100 * time.Millisecond)
		synctest.Wait()
		for _, taken := range []breaker.Mood{breaker.Calm, breaker.Counting, breaker.OneByOne, breaker.ProbeRetry, breaker.ProbeDrawn} {
			if _, ok := g.begin(taken); ok {
				t.Errorf("what was taken in mood %d begins as the probe of mood %d", taken, g.mood.Load())
			}
		}
		if _, ok := g.begin(breaker.ProbeLast); !ok {
			t.Error("the probe does not begin")
		}
	})
}

// What failed before others succeeded is no sign of an outage when it fails again; what has failed
// since is.
func TestOldFailuresAreNoSign(t *testing.T) {
	g, _ := testGate(64, breaker.New(64, breaker.LongestPause))
	defer g.close()
	taken := time.Now()
	old, since := taken.Add(-time.Minute), taken.Add(time.Minute)
	g.succeeded(taken.UnixMicro(), taken)
	for i := range 100 {
		g.ends(failure, Delivery{Content: fmt.Sprint(i), Attempt: 2, FirstFailure: old})
	}
	if m := g.mood.Load(); m >= breaker.OneByOne || g.places.Allowed() != 64 {
		t.Errorf("old failures: %d places", g.places.Allowed())
	}
	for i := range probesAfter {
		g.ends(failure, Delivery{Content: fmt.Sprint(i), Attempt: 2, FirstFailure: since})
	}
	if m := g.mood.Load(); m != breaker.ProbeLast || g.places.Allowed() != 0 {
		t.Errorf("new failures: %d places", g.places.Allowed())
	}
	g.ends(neither, Delivery{Content: "dead"})
	if _, ok := g.begin(g.mood.Load()); ok {
		t.Error("something begins after what is no success")
	}
	g.ends(success, Delivery{Content: "good"})
	if _, ok := g.begin(g.mood.Load()); !ok || g.places.Allowed() != 2 {
		t.Errorf("after a success: %d places", g.places.Allowed())
	}
}
