package flow

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"time"
)

// place is one that is at work until a time.
type place struct{ begun, end time.Time }

type byEnd []place

func (p byEnd) Len() int           { return len(p) }
func (p byEnd) Less(i, j int) bool { return p[i].end.Before(p[j].end) }
func (p byEnd) Swap(i, j int)      { p[i], p[j] = p[j], p[i] }
func (p *byEnd) Push(x any)        { *p = append(*p, x.(place)) }
func (p *byEnd) Pop() any {
	old := *p
	x := old[len(old)-1]
	*p = old[:len(old)-1]
	return x
}

// world is a worker with a backlog that never ends, and what is behind its handlers, in a time
// of its own.
type world struct {
	random  *rand.Rand
	now     time.Time
	limit   *Limit // nil: none
	places  int
	running byEnd
	turn    time.Duration // between two batches of a place
	each    int           // messages in a batch

	behind  *[]time.Time // the handlers: when each of those that serve is free; empty: nothing
	service func(*rand.Rand) time.Duration

	good  int
	slots int // that are its own

	words *words // nil: it is alone
}

// words carries what workers say to each other.
type words struct {
	random *rand.Rand
	delay  time.Duration // at the most
	lost   float64       // so many of them
	said   int
	under  []word
}

type word struct {
	Word
	at time.Time
}

func (s *words) say(w Word, now time.Time) {
	s.said++
	s.under = append(s.under, word{w, now.Add(time.Duration(s.random.Int64N(int64(s.delay))))})
}

// pass has workers hear what has come until a time.
func (s *words) pass(until time.Time, worlds []*world) {
	rest := s.under[:0]
	for _, said := range s.under {
		if said.at.After(until) {
			rest = append(rest, said)
			continue
		}
		for _, w := range worlds {
			if s.random.Float64() >= s.lost {
				w.limit.Heard(said.Word, said.at)
			}
		}
	}
	s.under = rest
}

func constant(d time.Duration) func(*rand.Rand) time.Duration {
	return func(*rand.Rand) time.Duration { return d }
}

// around is a time that is up to half as long again, or half as short.
func around(d time.Duration) func(*rand.Rand) time.Duration {
	return func(r *rand.Rand) time.Duration { return d/2 + time.Duration(r.Int64N(int64(d))) }
}

func exponential(d time.Duration) func(*rand.Rand) time.Duration {
	return func(r *rand.Rand) time.Duration { return time.Duration(r.ExpFloat64() * float64(d)) }
}

func bimodal(short, long time.Duration, one int) func(*rand.Rand) time.Duration {
	return func(r *rand.Rand) time.Duration {
		if r.IntN(one) == 0 {
			return long
		}
		return short
	}
}

func newWorld(random *rand.Rand, limit *Limit, each int, service func(*rand.Rand) time.Duration) *world {
	return &world{random: random, now: time.Now(), limit: limit, places: 64, turn: time.Millisecond, each: each, behind: new([]time.Time), service: service}
}

// capacity sets how many messages are served at once.
func (w *world) capacity(n int) {
	for len(*w.behind) < n {
		*w.behind = append(*w.behind, w.now)
	}
	*w.behind = (*w.behind)[:n]
}

// fleet is several workers that share what is behind their handlers.
func fleet(random *rand.Rand, n, capacity int, service func(*rand.Rand) time.Duration) []*world {
	said := &words{random: random, delay: 5 * time.Millisecond}
	all := make([]*world, n)
	for i := range all {
		all[i] = newWorld(random, New(fmt.Sprint("worker-", i), 1, 64), 1, service)
		all[i].words, all[i].now, all[i].behind, all[i].slots = said, all[0].now, all[0].behind, 64/n
	}
	all[0].capacity(capacity)
	return all
}

// stay is how many handlers they have together.
func stay(all []*world) (n int) {
	for _, w := range all {
		n += w.limit.stay
	}
	return n
}

// begin has a place handle its next batch.
func (w *world) begin() {
	begun := w.now.Add(w.turn)
	at, servers := begun, *w.behind
	for range w.each {
		if len(servers) == 0 {
			at = at.Add(w.service(w.random))
			continue
		}
		first := 0
		for i, free := range servers {
			if free.Before(servers[first]) {
				first = i
			}
		}
		if servers[first].After(at) {
			at = servers[first]
		}
		at = at.Add(w.service(w.random))
		servers[first] = at
	}
	heap.Push(&w.running, place{begun, at})
}

// run goes on for a time, and returns how many messages a second came out.
func (w *world) run(d time.Duration) float64 { return run(d, w) }

// run has worlds go on side by side, that may share what is behind their handlers.
func run(d time.Duration, worlds ...*world) float64 {
	until, good := worlds[0].now.Add(d), 0
	for _, w := range worlds {
		good -= w.good
	}
	for {
		var next *world
		for _, w := range worlds {
			w.fill()
			if next == nil || w.running[0].end.Before(next.running[0].end) {
				next = w
			}
		}
		if next.running[0].end.After(until) {
			break
		}
		if next.words != nil {
			next.words.pass(next.running[0].end, worlds)
		}
		next.step()
	}
	for _, w := range worlds {
		w.now = until
		good += w.good
	}
	return float64(good) / d.Seconds()
}

// fill has all places handle something.
func (w *world) fill() {
	most := w.places
	if w.limit != nil {
		most = min(most, w.limit.Places())
	}
	for len(w.running) < most {
		w.begin()
	}
}

// step goes on to the end of the next batch.
func (w *world) step() {
	p := heap.Pop(&w.running).(place)
	w.now = p.end
	w.good += w.each
	if w.limit != nil {
		used := len(w.running) + 1
		w.limit.Finished(Batch{
			End: w.now, Took: p.end.Sub(p.begun), Busy: p.end.Sub(p.begun), Good: w.each,
			Places: used, Waiting: used < w.places, Full: used == w.places, Slots: w.slots,
		})
		if said, ok := w.limit.Says(); ok && w.words != nil {
			w.words.say(said, w.now)
		}
	}
}
