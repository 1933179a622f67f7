package model

import (
	"hash/maphash"
	"slices"
)

// Found is the outcome of a search.
type Found struct {
	States   int
	Depth    int    // steps from the start to the last state
	Complete bool   // every reachable state was visited
	Trace    *Trace // the shortest way to a violation, nil if there is none
}

// Search visits the states within the bounds of o breadth first, until something is violated or
// limit states are known. If prepare is given it leads the world to where the search begins. States
// are told apart by 64-bit hashes: two of n share one with probability n²/2^65, which is one in a
// million for six million states.
func Search(o Options, limit int, prepare func(*world)) Found {
	w := &world{Options: &o, state: start(&o)}
	if prepare != nil {
		prepare(w)
	}
	s := &search{from: w.state, limit: limit, seed: maphash.MakeSeed()}
	s.ways = append(s.ways, way{})
	level, next := &front{}, &front{}
	level.add(w.state, 0)
	w.normalise()
	s.known.add(s.hash(&w.state))

	var possible []step
	for depth := 0; ; depth++ {
		for i := range level.states {
			w.state = level.states[i]
			possible = w.steps(possible[:0])
			for _, t := range possible {
				w.state = level.states[i]
				w.exec(t)
				w.check()
				if w.violation != "" {
					trace := s.trace(w, level.way[i], t)
					return Found{States: len(s.ways), Depth: depth + 1, Trace: trace}
				}
				w.normalise()
				if !s.known.add(s.hash(&w.state)) {
					continue
				}
				if len(s.ways) == limit {
					return Found{States: len(s.ways), Depth: depth + 1}
				}
				next.add(w.state, int32(len(s.ways)))
				s.ways = append(s.ways, way{level.way[i], t})
			}
		}
		level, next = next, level
		next.clear()
		if len(level.states) == 0 {
			return Found{States: len(s.ways), Depth: depth, Complete: true}
		}
	}
}

type search struct {
	from  state
	limit int
	seed  maphash.Seed
	known hashSet
	ways  []way // how each state was first reached
}

// way to a state: the state before, and the step.
type way struct {
	before int32
	step   step
}

func (s *search) hash(v *state) uint64 { return maphash.Comparable(s.seed, *v) }

// trace walks the ways back to the start. Since normalising hides nothing, the same steps lead to
// the same violation from states that were not normalised.
func (s *search) trace(w *world, at int32, last step) *Trace {
	t := &Trace{Options: *w.Options, start: s.from, Violation: w.violation, steps: []step{last}}
	for ; at > 0; at = s.ways[at].before {
		t.steps = append(t.steps, s.ways[at].step)
	}
	slices.Reverse(t.steps)
	return t
}

// front is one level of the search: the states whose steps are still to be taken.
type front struct {
	states []state
	way    []int32
}

func (f *front) add(s state, way int32) {
	f.states = append(f.states, s)
	f.way = append(f.way, way)
}

func (f *front) clear() { f.states, f.way = f.states[:0], f.way[:0] }
