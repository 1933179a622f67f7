package model

import (
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/night"
)

// searchOptions is the world of the searches: small enough to be visited whole. One lease is so
// much longer than the other that judging its holder by the asker's would cut it.
func searchOptions(c cell) Options {
	return Options{
		Rules: AllRules(), Kind: c.kind, ZooKeeper: c.zooKeeper, Retries: 1,
		Delay:    1,
		Leases:   [maxWorkers]int8{3, 1},
		Max:      Bounds{Contents: 1, Workers: 2, Sends: 2, Faults: 1, Ticks: 4},
		HandBack: true,
	}
}

// small is the world of a search by day, which is visited whole in a second or two: by leases less time
// passes and a content is sent once, and by ZooKeeper there is less time still. By night it is all of o.
func small(o Options) Options {
	switch {
	case night.Is():
	case o.ZooKeeper:
		o.Max.Ticks = 2
	default:
		o.Max.Sends, o.Max.Ticks = 1, 3
	}
	return o
}

// TestExhaustive visits every state of the six protocols. By night the worlds are larger, so that
// some are cut off, and all of them are visited with two faults, too, up to a limit. That takes some
// minutes and three gigabytes.
func TestExhaustive(t *testing.T) {
	t.Parallel()
	limit := night.Times(1_500_000, 12_000_000)
	exhausted := 0
	for _, c := range cells() {
		found := exhaust(t, small(searchOptions(c)), limit)
		if found.Complete {
			exhausted++
		}
		if found.States < night.Times(150_000, 500_000) {
			t.Errorf("only %d states", found.States)
		}
		if night.Is() {
			wider := searchOptions(c)
			wider.Max.Faults = 2
			exhaust(t, wider, limit)
		}
	}
	if exhausted < night.Times(6, 4) {
		t.Errorf("only %d spaces were visited whole", exhausted)
	}
}

// TestExhaustiveSnooze visits every state of the six protocols whose handlers put back what they
// want later, by leases in worlds without faults.
func TestExhaustiveSnooze(t *testing.T) {
	t.Parallel()
	for _, c := range cells() {
		o := searchOptions(c)
		o.Snooze, o.Max.Faults = true, 0
		if c.zooKeeper {
			o.Max.Sends, o.Max.Faults, o.Max.Ticks = int8(night.Times(1, 2)), 1, 2
		}
		if found := exhaust(t, o, 2_000_000); !found.Complete {
			t.Errorf("%v: cut off", &o)
		}
	}
}

func exhaust(t *testing.T, o Options, limit int) Found {
	t.Helper()
	began := time.Now()
	found := Search(o, limit, nil)
	how := "cut off"
	if found.Complete {
		how = "complete"
	}
	t.Logf("%-22v faults %d: %8d states, %s at depth %d, %v",
		&o, o.Max.Faults, found.States, how, found.Depth, time.Since(began).Round(time.Millisecond))
	if found.Trace != nil {
		t.Errorf("%v", found.Trace)
	}
	return found
}

// oldMemberList: w1 joined and was given the slot, which was then given to w0, whose member list is
// still the one before w1 joined.
func oldMemberList(w *world) {
	w.Workers[1].Sees = idOf(1, 0)
	w.Workers[0].Members = [maxWorkers]int8{1}
}

// oldAssignment: w1 still believes that the slot is its own.
func oldAssignment(w *world) { w.Workers[1].Sees = idOf(1, 0) }

// TestDirectedSearches begins where random walks hardly ever get: two rules are missed by hundreds
// of thousands of walks, and by searches from the ordinary start.
func TestDirectedSearches(t *testing.T) {
	t.Parallel()
	for _, d := range []struct {
		name   string
		start  func(*world)
		bounds Bounds
		off    func(*Rules)
		finds  string
	}{
		{
			"quorum write before a claim", oldMemberList,
			Bounds{Contents: 1, Workers: 2, Sends: 2, Faults: 0, Ticks: 2},
			func(r *Rules) { r.QuorumWrite = false }, "CONCURRENT",
		},
		{
			"BUSY hides the number", oldAssignment,
			Bounds{Contents: 1, Workers: 2, Sends: 2, Faults: 1, Ticks: 0},
			func(r *Rules) { r.BusyHidesNumber = false }, "STRANDED",
		},
	} {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			o := searchOptions(cell{Priority, true})
			o.Max, o.HandBack = d.bounds, false
			with := Search(o, 1_000_000, d.start)
			if with.Trace != nil || !with.Complete {
				t.Errorf("with the rule: %d states, complete %v, %v", with.States, with.Complete, with.Trace)
			}
			d.off(&o.Rules)
			without := Search(o, 1_000_000, d.start)
			if without.Trace == nil || without.Trace.Name() != d.finds {
				t.Fatalf("without the rule: %v, want %s", without.Trace, d.finds)
			}
			t.Logf("with the rule %d states, complete; without it, after %d states: %v",
				with.States, without.States, without.Trace)
		})
	}
}

func TestHashSet(t *testing.T) {
	t.Parallel()
	var h hashSet
	for x := range uint64(10_000) {
		if !h.add(x<<40|2) || h.add(x<<40|2) {
			t.Fatalf("%d: must be new once", x)
		}
	}
}
