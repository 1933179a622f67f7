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
	from := w.state
	found, steps := explore(w, limit, nil)
	if steps != nil {
		// Since normalising hides nothing, the same steps lead to the same violation from states that were not.
		found.Trace = &Trace{Options: o, start: from, Violation: w.violation, steps: steps}
	}
	return found
}

// searchable is a world with a state S that a search can put back: that of a slot, and that of its lanes.
type searchable[S comparable] interface {
	at() *S
	steps(to []step) []step
	exec(step)
	check()
	normalise()
	violated() string
}

func (w *world) at() *state       { return &w.state }
func (w *world) violated() string { return w.violation }

// explore is the search. If each is given it looks at every new state. Steps are those that lead to a
// violation, which the world then has.
func explore[S comparable](w searchable[S], limit int, each func(n int)) (f Found, steps []step) {
	at, seed := w.at(), maphash.MakeSeed()
	ways, known := []way{{}}, hashSet{}
	level, next := &front[S]{}, &front[S]{}
	level.add(*at, 0)
	w.normalise()
	known.add(maphash.Comparable(seed, *at))

	var possible []step
	for depth := 0; ; depth++ {
		for i := range level.states {
			*at = level.states[i]
			possible = w.steps(possible[:0])
			for _, t := range possible {
				*at = level.states[i]
				w.exec(t)
				w.check()
				if w.violated() != "" {
					return Found{States: len(ways), Depth: depth + 1}, back(ways, level.way[i], t)
				}
				w.normalise()
				if !known.add(maphash.Comparable(seed, *at)) {
					continue
				}
				if len(ways) == limit {
					return Found{States: len(ways), Depth: depth + 1}, nil
				}
				next.add(*at, int32(len(ways)))
				ways = append(ways, way{level.way[i], t})
				if each == nil {
					continue
				}
				if each(len(ways)); w.violated() != "" {
					return Found{States: len(ways), Depth: depth + 1}, back(ways, level.way[i], t)
				}
			}
		}
		level, next = next, level
		next.clear()
		if len(level.states) == 0 {
			return Found{States: len(ways), Depth: depth, Complete: true}, nil
		}
	}
}

// way to a state: the state before, and the step.
type way struct {
	before int32
	step   step
}

// back walks the ways back to the start.
func back(ways []way, at int32, last step) []step {
	steps := []step{last}
	for ; at > 0; at = ways[at].before {
		steps = append(steps, ways[at].step)
	}
	slices.Reverse(steps)
	return steps
}

// front is one level of the search: the states whose steps are still to be taken.
type front[S any] struct {
	states []S
	way    []int32
}

func (f *front[S]) add(s S, way int32) {
	f.states = append(f.states, s)
	f.way = append(f.way, way)
}

func (f *front[S]) clear() { f.states, f.way = f.states[:0], f.way[:0] }
