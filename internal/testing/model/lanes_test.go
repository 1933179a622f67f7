package model

import (
	"testing"

	"github.com/slotmq/go-rmq/internal/testing/night"
	"github.com/slotmq/go-rmq/internal/testing/sharetest"
)

// laneWorlds are those of the walks: by leases and by ZooKeeper, and with a Redis that forgets.
func laneWorlds() []LaneOptions {
	leases, zk := WideLanes(false), WideLanes(true)
	forgets, zkForgets := leases, zk
	forgets.Forgets, zkForgets.Forgets = true, true
	return []LaneOptions{leases, zk, forgets, zkForgets}
}

// TestLaneWalks looks for a violation of the protocol with lanes, and ends each walk in a drain.
func TestLaneWalks(t *testing.T) {
	t.Parallel()
	seed := uint64(sharetest.Seed(t))
	walks := night.Times(4_000, 100_000)
	for _, o := range laneWorlds() {
		total, longest := 0, 0
		for n := range uint64(walks) {
			steps, drained, trace := WalkLanes(o, seed, n)
			total, longest = total+steps, max(longest, drained)
			if trace != nil {
				trace.shrink()
				t.Fatalf("walk %d of RMQ_SEED=%d: %v", n, seed, trace)
			}
		}
		t.Logf("ZooKeeper %v, forgets %v: %d walks, %d steps, the longest drain %d", o.ZooKeeper, o.Forgets, walks, total, longest)
	}
}

// laneRules are the rules with lanes, each with what happens without it. The walks are those of one of the
// laneWorlds, by its place, from a start where it is rare.
var laneRules = []struct {
	name  string
	off   func(*LaneRules)
	world int
	finds string
	start []step
}{
	{"TakeByHolder", func(r *LaneRules) { r.TakeByHolder = false }, 0, "NOT-HELD", nil},
	{"SkipFlying", func(r *LaneRules) { r.SkipFlying = false }, 0, "RESTARTED", nil},
	{"SuspectAlone", func(r *LaneRules) { r.SuspectAlone = false }, 0, "CROWDED", nil},
	{"NothingBesideSuspect", func(r *LaneRules) { r.NothingBesideSuspect = false }, 0, "CROWDED", nil},
	{"SuspectLasts", func(r *LaneRules) { r.SuspectLasts = false }, 0, "NEIGHBOUR", suspectFails},
	{"ListedOnly", func(r *LaneRules) { r.ListedOnly = false }, 0, "LOST", nil},
	{"RestGoesOn", func(r *LaneRules) { r.RestGoesOn = false }, 0, "NOT-HELD", nil},
	{"RollingNumber", func(r *LaneRules) { r.RollingNumber = false }, 0, "AGAIN", asksAgain},
	{"GoesOnRenews", func(r *LaneRules) { r.GoesOnRenews = false }, 0, "CONCURRENT", nil},
	{"IdleTellsAgain", func(r *LaneRules) { r.IdleTellsAgain = false }, 2, "LOST", failsInPause},
	{"NumberOutgrows", func(r *LaneRules) { r.NumberOutgrows = false }, 2, "FENCE", nil},
	{"OneOfEntity", func(r *LaneRules) { r.OneOfEntity = false }, 0, "ENTITY", nil},
	{"TellKeepsRunning", func(r *LaneRules) { r.TellKeepsRunning = false }, 0, "RESTARTED", nil},
	{"ListedIsOver", func(r *LaneRules) { r.ListedIsOver = false }, 1, "LOST", nil},
	{"BackDoesNotBegin", func(r *LaneRules) { r.BackDoesNotBegin = false }, 0, "NOT-HELD", nil},
	{"MarkHasNumber", func(r *LaneRules) { r.MarkHasNumber = false }, 3, "JOURNAL-LOST", toldOldTake},
	{"LateStops by leases", func(r *LaneRules) { r.LateStops = false }, 0, "NOT-HELD", nil},
	{"LateStops by sessions", func(r *LaneRules) { r.LateStops = false }, 1, "NOT-HELD", nil},
	{"TurnOutdatesTouch", func(r *LaneRules) { r.TurnOutdatesTouch = false }, 0, "CUT", nil},
	{"HelperLeaves", func(r *LaneRules) { r.HelperLeaves = false }, 0, "STRANDED", nil},
	{"ToldIsAll", func(r *LaneRules) { r.ToldIsAll = false }, 2, "LOST", runsForgotten},
	{"AskHolder", func(r *LaneRules) { r.AskHolder = false }, 3, "STRANDED", helperForgotten},
}

// asksAgain: w0 runs A, has asked for more and got nothing, and a duplicate of that turn is under way.
var asksAgain = []step{
	{Op: send}, {Op: turn, Value: laneContents}, {Op: arrive}, {Op: hear}, {Op: begin},
	{Op: turn, Value: laneContents}, {Op: duplicate}, {Op: arrive}, {Op: hear},
}

// suspectFails: w0 has died with A and C, and C has failed at w1.
var suspectFails = []step{
	{Op: send}, {Op: send, Content: 2}, {Op: turn, Value: laneContents}, {Op: arrive}, {Op: hear}, {Op: crash}, {Op: leaseEnds},
	{Op: turn, Worker: 1, Value: laneContents}, {Op: arrive, Worker: 1}, {Op: hear, Worker: 1},
	{Op: turn, Worker: 1, Value: laneContents}, {Op: arrive, Worker: 1}, {Op: hear, Worker: 1},
	{Op: begin, Worker: 1, Content: 2}, {Op: fail, Worker: 1, Content: 2}, {Op: send, Content: 1},
}

// failsInPause: A has failed at w0, which has reported it and got nothing else.
var failsInPause = []step{
	{Op: send}, {Op: turn, Value: laneContents}, {Op: arrive}, {Op: hear}, {Op: begin}, {Op: fail},
	{Op: pause}, {Op: turn, Value: laneContents}, {Op: arrive}, {Op: hear},
}

// toldOldTake: w0 has handled A and C, taken by two turns, and takes A again. Redis knows nothing of either.
var toldOldTake = []step{
	{Op: send}, {Op: turn, Value: laneContents}, {Op: arrive}, {Op: hear}, {Op: begin}, {Op: send}, {Op: send, Content: 2},
	{Op: turn, Value: laneContents}, {Op: arrive}, {Op: hear}, {Op: begin, Content: 2}, {Op: succeed}, {Op: succeed, Content: 2},
	{Op: turn, Value: laneContents}, {Op: arrive}, {Op: hear}, {Op: rollback, Value: 1},
}

// runsForgotten: w0 holds C, and runs A, of which Redis knows nothing.
var runsForgotten = []step{
	{Op: send, Content: 2}, {Op: turn, Value: laneContents}, {Op: arrive}, {Op: hear},
	{Op: send}, {Op: turn, Value: laneContents}, {Op: arrive}, {Op: hear}, {Op: begin}, {Op: rollback, Value: 2},
	{Op: turn, Value: laneContents}, {Op: arrive}, {Op: hear},
}

// helperForgotten: the helper has left, and Redis does not know.
var helperForgotten = []step{
	{Op: send}, {Op: turn, Worker: helper, Value: laneContents}, {Op: arrive, Worker: helper}, {Op: hear, Worker: helper},
	{Op: begin, Worker: helper}, {Op: succeed, Worker: helper},
	{Op: leave, Worker: helper}, {Op: arrive, Worker: helper}, {Op: hear, Worker: helper}, {Op: rollback, Value: 1},
}

// TestEveryLaneRuleIsNeeded switches off one rule at a time and demands to see it missed, in walks of a fixed
// seed. From each of the starts the whole protocol must do.
func TestEveryLaneRuleIsNeeded(t *testing.T) {
	t.Parallel()
	const seed, most = 20, 20_000
	left := AllLaneRules()
	for _, rule := range laneRules {
		o := laneWorlds()[rule.world]
		o.Start = rule.start
		for n := range uint64(500) {
			if _, _, trace := WalkLanes(o, seed, n); trace != nil {
				t.Fatalf("%s: with the rule, walk %d: %v", rule.name, n, trace)
			}
		}
		rule.off(&left)
		rule.off(&o.LaneRules)
		if n := missed(o, seed, most, rule.finds); n < most {
			t.Logf("%-22s %s in walk %d", rule.name, rule.finds, n)
		} else {
			t.Errorf("%s: %s not found in %d walks", rule.name, rule.finds, most)
		}
	}
	if left != (LaneRules{}) {
		t.Errorf("not in the table: %+v", left)
	}
}

// missed is the first walk that violates this, or most.
func missed(o LaneOptions, seed, most uint64, finds string) uint64 {
	for n := range most {
		if _, _, trace := WalkLanes(o, seed, n); trace != nil && trace.Name() == finds {
			return n
		}
	}
	return most
}

// TestLanesExhaustive visits the states of small worlds of two workers breadth first, and drains a sample of them.
func TestLanesExhaustive(t *testing.T) {
	t.Parallel()
	for _, zk := range []bool{false, true} {
		for _, bounds := range []LaneBounds{
			{Workers: 2, Sends: 1}, {Workers: 2, Sends: 1, Faults: 1}, {Workers: 2, Sends: 2}, {Workers: 2, Sends: 2, Faults: 1},
		} {
			o := LaneOptions{LaneRules: AllLaneRules(), ZooKeeper: zk, Retries: 1, Max: bounds}
			smallest := !zk && bounds.Sends == 1 && bounds.Faults == 0
			limit := night.Times(80_000, 6_000_000)
			if smallest {
				limit = 200_000
			}
			found, drains, trace := SearchLanes(o, limit, 200)
			t.Logf("ZooKeeper %v, %+v: %d states, complete %v, depth %d, %d drains", zk, bounds, found.States, found.Complete, found.Depth, drains)
			if trace != nil {
				t.Fatal(trace)
			}
			if smallest && !found.Complete {
				t.Errorf("only %d states", found.States)
			}
		}
	}
}
