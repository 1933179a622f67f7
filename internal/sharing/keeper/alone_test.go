package keeper

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slotmq/go-rmq/internal/sharing/keeper/session"
	"github.com/slotmq/go-rmq/internal/testing/await"
)

// neighbours answer for others, in virtual time: they have answers while served is true, at
// most a quarter of the session timeout apart, and write in each beat.
type neighbours struct {
	timeout time.Duration
	served  func(now time.Time) bool
	broken  func(now time.Time) bool // ZooKeeper does not answer
	begun   time.Time
	looks   int
}

var errBrokenForTest = errors.New("no answer")

// The mark is the time, in ns.
func (n *neighbours) mark(context.Context) (int64, error) {
	if n.broken != nil && n.broken(time.Now()) {
		return 0, errBrokenForTest
	}
	return time.Since(n.begun).Nanoseconds() + 1, nil
}

func (n *neighbours) answered(_ context.Context, mark int64, quiet time.Duration) (bool, error) {
	n.looks++
	if n.broken != nil && n.broken(time.Now()) {
		return false, errBrokenForTest
	}
	beat, answer := n.timeout/session.Beats, n.timeout/4
	wrote := time.Since(n.begun).Truncate(beat)
	if wrote.Nanoseconds() < mark {
		return false, nil
	}
	for at := wrote.Truncate(answer); at >= 0; at -= answer {
		if n.served(n.begun.Add(at)) {
			return wrote-at <= quiet, nil
		}
	}
	return false, nil
}

// A worker is alone after two session timeouts without an answer, if others had some.
// In an outage for all no worker is, however long it lasts, and not when all come back
// one after the other.
func TestAlone(t *testing.T) {
	t.Parallel()
	const timeout = 8 * time.Second
	always := func(time.Duration) bool { return true }
	outside := func(from, to time.Duration) func(time.Duration) bool {
		return func(at time.Duration) bool { return at <= from || at >= to }
	}
	for _, c := range []struct {
		name         string
		mine, others func(at time.Duration) bool // when there are answers
		zooKeeper    func(at time.Duration) bool
		from, to     time.Duration // it is alone then; 0: never
	}{
		{name: "all is well", mine: always, others: always},
		{name: "cut off", mine: outside(time.Minute, time.Hour), others: always, from: time.Minute + 2*timeout, to: time.Minute + 2*timeout + timeout/8},
		{name: "from the beginning", mine: outside(-1, time.Hour), others: always, from: 2 * timeout, to: 2*timeout + timeout/8},
		{name: "for a little less than two timeouts", mine: outside(time.Minute, time.Minute+2*timeout-50*time.Millisecond), others: always},
		{name: "again and again", mine: func(at time.Duration) bool { return at%(timeout*15/8) < time.Second }, others: always},
		{name: "an outage for all", mine: outside(time.Minute, 10*time.Minute), others: outside(time.Minute, 10*time.Minute)},
		{name: "others have answers a little longer", mine: outside(time.Minute, 10*time.Minute), others: outside(time.Minute+timeout/4, 10*time.Minute)},
		{name: "others have answers again a little earlier", mine: outside(time.Minute, 10*time.Minute), others: outside(time.Minute, 10*time.Minute-timeout/4)},
		{name: "both", mine: outside(time.Minute, 10*time.Minute), others: outside(time.Minute+timeout/4, 10*time.Minute-timeout/4)},
		{name: "it stays away when all others are back", mine: outside(time.Minute, time.Hour), others: outside(time.Minute, 10*time.Minute),
			from: 10*time.Minute + timeout/2, to: 10*time.Minute + timeout*5/4},
		{name: "others had answers for a while, and are back", mine: outside(time.Minute, 10*time.Minute), others: outside(time.Minute+timeout, 10*time.Minute-timeout/4)},
		{name: "ZooKeeper is away, too, for a while", mine: outside(time.Minute, time.Hour), others: always, zooKeeper: outside(time.Minute, 2*time.Minute),
			from: 2*time.Minute + timeout/2, to: 2*time.Minute + timeout*5/4},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				n := &neighbours{timeout: timeout, begun: begun, served: func(now time.Time) bool { return c.others(now.Sub(begun)) }}
				if c.zooKeeper != nil {
					n.broken = func(now time.Time) bool { return !c.zooKeeper(now.Sub(begun)) }
				}
				// It may have an answer every 10 ms.
				last, looked := time.Duration(0), time.Duration(0)
				quiet := func() time.Duration {
					now := time.Since(begun)
					for ; looked <= now; looked += 10 * time.Millisecond {
						if c.mine(looked) {
							last = looked
						}
					}
					return now - last
				}
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Minute)
				defer cancel()
				d := doubt{others: n, quiet: quiet, timeout: func() time.Duration { return timeout }}
				alone := d.wait(ctx)
				at := time.Since(begun)
				switch {
				case alone != (c.to > 0):
					t.Errorf("it is alone: %t, after %v", alone, at)
				case alone && (at < c.from-20*time.Millisecond || at > c.to+20*time.Millisecond):
					t.Errorf("it is alone after %v, want %v to %v", at, c.from, c.to)
				}
				t.Logf("alone %t after %v, with %d looks", alone, at, n.looks)
			})
		})
	}
}

// What others write of their answers counts if it is new, and if they have a topic in common.
func TestWhoHasAnswers(t *testing.T) {
	t.Parallel()
	cfg, _ := shared(t)
	k := New(cfg)
	quiet := func(d time.Duration) func() time.Duration { return func() time.Duration { return d } }
	prices := Topic{Name: "prices", Kind: "priority", Slots: 4}
	in := func(q func() time.Duration, topics ...Topic) *Member {
		w := worker(topics...)
		w.Quiet = q
		m := join(t, k, w)
		for _, topic := range topics {
			m.Show(topic.Name, nil)
		}
		return m
	}
	doubting := in(quiet(time.Hour), orders)
	others := &peers{session: doubting.session, pulse: doubting.pulse, tree: doubting.tree, id: doubting.id, topics: []Topic{orders}}
	mark := func() int64 {
		t.Helper()
		at, err := others.mark(await.Context(t))
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	want := func(what string, from int64, most time.Duration, is bool) {
		t.Helper()
		if got, err := others.answered(await.Context(t), from, most); err != nil || got != is {
			t.Errorf("%s: others have answers: %t, %v", what, got, err)
		}
	}
	write := func(m *Member) {
		t.Helper()
		if _, err := m.pulse.Write(await.Context(t)); err != nil {
			t.Fatal(err)
		}
	}
	want("it is the only one", 0, 2*time.Hour, false)
	before := mark()
	other, silent, elsewhere := in(quiet(time.Second), orders, prices), in(nil, orders), in(quiet(0), prices)
	write(silent)
	write(elsewhere)
	want("none has written of a topic in common", before, time.Second/2, false)
	write(other)
	want("one had an answer a second ago", before, time.Second, true)
	want("one had an answer a second ago, which is too long", before, time.Second-time.Millisecond, false)
	after := int64(0)
	await.True(t, "it has not written since a mark", func() bool { // unless it beats just now
		after = mark()
		got, err := others.answered(await.Context(t), after, time.Second)
		return err == nil && !got
	})
	write(other)
	want("it has", after, time.Second, true)
}
