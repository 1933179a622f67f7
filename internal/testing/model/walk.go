package model

import "math/rand/v2"

const (
	walkSteps  = 100  // of a walk, before its drain
	drainSteps = 3000 // at most
	drainTicks = 100  // when time stops for good
)

// WideOptions is the world of the random walks: everything that may happen does.
func WideOptions(kind Kind, zooKeeper bool) Options {
	return Options{
		Rules: AllRules(), Kind: kind, ZooKeeper: zooKeeper, Retries: 2,
		Max:     Bounds{Contents: 2, Workers: 3, Sends: 5, Faults: 5, Ticks: 16},
		NoDelay: true, DeadNow: true, Snooze: true, HandBack: true, Single: true,
	}
}

// Walk takes the n-th random walk of a seed. Each walk draws its own leases, delay and weights of the
// steps, so that some are mostly about crashes and others mostly about late duplicates. It
// returns how many steps it took, and its trace if it violated something.
func Walk(o Options, seed, n uint64) (int, *Trace) {
	r := rand.New(rand.NewPCG(seed, n))
	for i := range o.Leases {
		o.Leases[i] = []int8{1, 2, 2, 3, 5}[r.IntN(5)]
	}
	o.Delay = []int8{1, 1, 2, 4}[r.IntN(4)]
	o.Large = n%4 == 3 && o.Journaling == NoJournal
	o.Snooze = o.Snooze && n%2 == 0
	t := &Trace{Options: o, start: start(&o)}
	w := &world{Options: &o, state: t.start}
	w.wander(r, t)
	if w.violation == "" {
		w.drain(r, t)
	}
	if w.violation == "" {
		return len(t.steps), nil
	}
	t.Violation = w.violation
	return len(t.steps), t
}

// wander takes random steps until one violates something.
func (w *world) wander(r *rand.Rand, t *Trace) {
	weights := drawWeights(r)
	var possible []step
	for range walkSteps {
		possible = w.steps(possible[:0])
		if len(possible) == 0 {
			return
		}
		if w.follow(choose(possible, weights[:], r), t); w.violation != "" {
			return
		}
	}
}

func choose(possible []step, weights []int, r *rand.Rand) step {
	sum := 0
	for _, s := range possible {
		sum += weights[s.Op]
	}
	x := r.IntN(sum)
	for _, s := range possible {
		if x -= weights[s.Op]; x < 0 {
			return s
		}
	}
	panic("unreachable")
}

func drawWeights(r *rand.Rand) (weights [ops]int) {
	for i := range weights {
		switch op(i) {
		case crash, freeze, expire, deadline, rebalance:
			weights[i] = []int{1, 1, 4, 16}[r.IntN(4)]
		default:
			weights[i] = []int{1, 4, 16, 32}[r.IntN(4)]
		}
	}
	return weights
}

// drain goes on without sends and faults until everything owed was delivered. Handlers succeed.
func (w *world) drain(r *rand.Rand, t *Trace) {
	w.follow(step{Op: drain}, t)
	var possible []step
	for n := 0; n < drainSteps && !w.settled() && w.violation == ""; n++ {
		possible = w.steps(possible[:0])
		if len(possible) == 0 {
			break
		}
		s := possible[r.IntN(len(possible))]
		if s.Op == tick && len(possible) > 1 && r.IntN(6) > 0 {
			continue // work is quick
		}
		w.follow(s, t)
	}
	if !w.settled() && !w.hopeless() {
		w.violate("STRANDED", "something owed was not delivered after the faults had ended")
	}
}

func (w *world) follow(s step, t *Trace) {
	t.steps = append(t.steps, s)
	w.exec(s)
	w.check()
}
