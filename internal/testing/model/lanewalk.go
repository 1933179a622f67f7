package model

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

const (
	laneSteps      = 90  // of a walk, before its drain
	laneDrainSteps = 600 // within which a drain ends all that is owed
)

// WideLanes is the world of the random walks: everything that may happen does.
func WideLanes(zooKeeper bool) LaneOptions {
	return LaneOptions{
		LaneRules: AllLaneRules(), ZooKeeper: zooKeeper, Retries: 2,
		Max: LaneBounds{Workers: maxWorkers, Sends: 7, Faults: 5, Pauses: 1}, Touches: true,
	}
}

// LaneTrace is a way from the start to a violation.
type LaneTrace struct {
	Options   LaneOptions
	Violation string
	steps     []step
}

// WalkLanes takes the n-th random walk of a seed, and then a drain. It returns how many steps both took.
func WalkLanes(o LaneOptions, seed, n uint64) (steps, drained int, found *LaneTrace) {
	r := rand.New(rand.NewPCG(seed, n))
	w := startLanes(&o)
	w.remember()
	t := &LaneTrace{Options: o}
	for _, s := range o.Start {
		t.follow(w, s)
	}
	w.Sends, w.Faults = o.Max.Sends, o.Max.Faults
	var weights [laneOps]int
	for i := range weights {
		weights[i] = []int{1, 4, 16, 32}[r.IntN(4)]
		switch op(i) {
		case crash, deadline, duplicate, loseReply, stale, metaLost, pause:
			weights[i] = []int{1, 1, 4, 16}[r.IntN(4)]
		case rollback:
			weights[i] = 1
		}
	}
	var possible []step
	for range laneSteps {
		if possible = w.steps(possible[:0]); len(possible) == 0 || w.violation != "" {
			break
		}
		t.follow(w, choose(possible, weights[:], r))
	}
	before := len(t.steps)
	if w.violation == "" {
		w.drain(r, t)
	}
	if w.violation == "" {
		return before, len(t.steps) - before, nil
	}
	t.Violation = w.violation
	return before, len(t.steps) - before, t
}

// drain goes on without sends and faults, each possible step as likely as any other, until Redis is empty.
func (w *laneWorld) drain(r *rand.Rand, t *LaneTrace) {
	t.follow(w, step{Op: drain})
	var possible []step
	for n := 0; n < laneDrainSteps && !w.settled() && w.violation == ""; n++ {
		if possible = w.steps(possible[:0]); len(possible) == 0 {
			break
		}
		t.follow(w, possible[r.IntN(len(possible))])
	}
	if !w.settled() {
		w.violate("STRANDED", -1)
	}
}

func (t *LaneTrace) follow(w *laneWorld, s step) {
	t.steps = append(t.steps, s)
	w.exec(s)
	w.check()
}

func (t *LaneTrace) shrink() {
	if nameOf(t.Violation) != "STRANDED" { // which is not a matter of single steps
		t.steps, t.Violation = shorten(t.steps, t.Violation, t.replay)
	}
}

// replay reports what the steps violate, and after how many of them. It stops at one that is not possible.
func (t *LaneTrace) replay(steps []step) (string, int) {
	w := startLanes(&t.Options)
	w.remember()
	w.Sends, w.Faults = 100, 100 // those of the start are not counted
	for n, s := range steps {
		if s.Op != drain && !slices.Contains(w.steps(nil), s) {
			return "", n
		}
		w.exec(s)
		if w.check(); w.violation != "" {
			return w.violation, n + 1
		}
	}
	return "", len(steps)
}

var laneWords = map[op]string{
	leaseEnds: "the lease ends", metaLost: "meta is deleted", pause: "paused, or resumed", stale: "its lease is over before the answer",
	touchComes: "touch reaches Redis", touchHeard: "hears of its touch", begin: "begins", fail: "handler fails", send: "send",
	turn: "turns", rollback: "Redis goes back",
}

// String reports the trace in words, one step a line.
func (t *LaneTrace) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "ZooKeeper %v, %d steps:\n", t.Options.ZooKeeper, len(t.steps))
	w := startLanes(&t.Options)
	w.remember()
	for n, s := range t.steps {
		w.exec(s)
		words := laneWords[s.Op]
		if words == "" && s.Op < ops {
			words = opWords[s.Op]
		}
		k := &w.Workers[s.Worker]
		fmt.Fprintf(&b, "%4d  w%d %s %c/%d low %v  number %d of w%d, prepare %v, lanes %v, reply %v\n", n+1, s.Worker, words,
			letter(int(s.Content)), s.Value, s.Low, w.Number, w.Holder, w.Prepare.Left, k.Lanes, k.Reply)
	}
	fmt.Fprintf(&b, "   => %s", t.Violation)
	return b.String()
}

// Name of the violated invariant.
func (t *LaneTrace) Name() string { return nameOf(t.Violation) }

// SearchLanes visits the states within the bounds of o breadth first, until something is violated or limit
// states are known. Of every so many new states one is drained; it returns how many were.
func SearchLanes(o LaneOptions, limit, every int) (found Found, drains int, trace *LaneTrace) {
	w := startLanes(&o)
	found, steps := explore(w, limit, func(n int) {
		if n%every != 0 {
			return
		}
		drains++
		d := &laneWorld{LaneOptions: &o, laneState: w.laneState}
		d.drain(rand.New(rand.NewPCG(uint64(n), 0)), &LaneTrace{})
		w.violation = d.violation
	})
	if steps != nil {
		trace = &LaneTrace{Options: o, Violation: w.violation, steps: steps}
	}
	return found, drains, trace
}
