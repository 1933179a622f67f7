package protocol_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/slotmq/go-rmq/internal/protocol"
)

// The random driver: three workers with all the faults of their networks at one
// slot with four contents. It draws what happens next, and after every request
// that reaches Redis it checks the state against type slot and the invariants.

// cell is a kind of topic and how its workers are judged.
type cell struct {
	kind      kind
	zookeeper bool // no leases; a dead holder is proven dead
	literal   bool // failures go back to the store at once
}

var cells = func() (all []cell) {
	for _, k := range kinds {
		for i := range 4 {
			all = append(all, cell{k, i&1 == 1, i&2 == 2})
		}
	}
	return all
}()

func (c cell) String() string {
	mode, failures := "leases", "back-off"
	if c.zookeeper {
		mode = "zookeeper"
	}
	if c.literal {
		failures = "literal"
	}
	return fmt.Sprintf("%v/%s/%s", c.kind, mode, failures)
}

// drivenMost is how many bytes a batch may have in the driver's world: two contents or
// three, but not all of them.
const drivenMost = 4

// driver is one run.
type driver struct {
	*world
	cell
	notes bool // the topic has them
	*rand.Rand
	count coverage

	contents []string
	ledger   ledger
	sendsAt  map[int64]map[string]int            // number of a batch -> content -> sends when it was taken
	notedAt  map[int64]map[string]*protocol.Note // number of a batch -> content -> what its sends came to
	workers  []*worker
	alive    map[string]bool
	born     int
	assigned int // the worker the slot is assigned to (zookeeper)
	orphans  []*protocol.Turn
	planned  []protocol.Occurrence // as some worker was told, perhaps long ago
	sent     map[string]string     // which occurrence of a plan was sent last

	state   *slot
	trace   [30]event
	steps   int
	weights struct{ send, tick, crash, cancel, pause, hand, lose, ghost, ok, bury, snooze, run, plan float64 }
}

type worker struct {
	id      string
	lease   time.Duration
	number  int64
	held    *held
	sent    *request
	joined  bool // it has taken turns since it last left
	leaving bool
	named   string // the holder Redis told
	gone    string
	ghosts  []*protocol.Turn // copies of its turns still in the network
}

// held is a batch as its worker sees it.
type held struct {
	protocol.Answer
	since   int64 // its lease begins
	results map[string]*protocol.Verdict
}

// request is a turn under way. It is sent until an answer arrives.
type request struct {
	turn   *protocol.Turn
	since  int64
	answer *protocol.Answer
}

// effect is one request that reached Redis.
type effect struct {
	what          string
	before, after *slot
	turn          *protocol.Turn // nil for other requests
	sends         string         // the content of an occurrence that it tried to send
	answer        protocol.Answer
	out           outcome
}

// ok marks a content as handled.
var ok = &protocol.Verdict{}

func newDriver(w *world, c cell, seed uint64, count coverage) *driver {
	w.judge = thrower{}
	if w.most != drivenMost {
		w.most, w.s = drivenMost, w.telling(drivenMost)
	}
	d := &driver{
		world: w, cell: c, Rand: rand.New(rand.NewPCG(seed, 1)), count: count,
		contents: []string{"a", "bb", "ccccc", "d"}, ledger: ledger{}, sendsAt: map[int64]map[string]int{}, alive: map[string]bool{}, sent: map[string]string{},
	}
	for _, x := range d.contents {
		d.ledger[x] = &account{}
	}
	d.notedAt = map[int64]map[string]*protocol.Note{}
	d.notes = d.IntN(3) == 0
	w.plans = w.k.Plans(d.notes)
	for range 3 {
		d.workers = append(d.workers, d.birth(len(d.workers)))
	}
	d.drawWeights()
	w.now = startOfTime
	return d
}

// drawWeights makes every run another one: some are calm, some are all faults.
func (d *driver) drawWeights() {
	pick := func(from ...float64) float64 { return from[d.IntN(len(from))] }
	q := &d.weights
	q.send, q.tick, q.crash = pick(0.002, 0.03, 0.1, 0.15), pick(0.1, 0.2), pick(0, 0, 0.02, 0.06)
	q.cancel, q.pause, q.lose, q.ghost = pick(0, 0.003, 0.02), pick(0, 0, 0.005), pick(0, 0.15, 0.3), pick(0, 0.1, 0.2)
	q.plan = pick(0, 0.03, 0.1)
	q.snooze = pick(0, 0.1, 0.4)
	q.ok, q.bury, q.run, q.hand = pick(0, 0.15, 0.5), pick(0, 0.02, 0.2), pick(0.5, 0.9, 1), pick(0, 0.01, 0.06)
	d.contents = d.contents[:int(pick(1, 3, 4, 4))]
	if d.IntN(10) == 0 { // time enough to fail 17 times
		q.send, q.crash, q.cancel, q.hand, q.lose, q.ok, q.bury, q.snooze, q.plan, q.run = 0, 0, 0, 0, 0, 0, 0, 0, 0, 1
		d.contents = d.contents[:1]
	}
}

// birth starts the worker at a place, with an id that was never used.
func (d *driver) birth(place int) *worker {
	d.born++
	w := &worker{id: fmt.Sprintf("w%d", d.born)}
	if !d.zookeeper {
		w.lease = []time.Duration{1000, 2000, 5000}[place] * time.Millisecond
	}
	d.alive[w.id] = true
	return w
}

// run takes steps until a rule is broken.
func (d *driver) run(steps int) *broken {
	return caught(func() {
		k := d.k
		d.do("del", k.Store, k.Prepare, k.Retry, k.Dead, k.Meta, k.Why, d.first, d.seen, d.noteKey, d.plans.Plan, d.plans.Rule)
		d.state = d.slot()
		for ; d.steps < steps; d.steps++ {
			if d.steps < len(d.contents) {
				d.send(d.contents[d.steps])
			} else {
				d.next()
			}
		}
	})
}

func (d *driver) next() {
	q := &d.weights
	if d.state.paused && d.Float64() < 0.1 || d.Float64() < q.pause {
		d.pause(!d.state.paused)
		return
	}
	if len(d.state.dead) > 0 && d.Float64() < 2*q.hand {
		d.takeOut(d.IntN(3) == 0)
		return
	}
	a := d.Float64()
	chance := func(p float64) bool { a -= p; return a < 0 }
	switch {
	case chance(q.send):
		d.send(d.contents[d.IntN(len(d.contents))])
	case d.notes && chance(0.05):
		d.forgetNotes()
	case chance(q.tick):
		d.now += []int64{1, 100, 700, 2500, 5500}[d.IntN(5)]
		d.note("it is %d", d.now-startOfTime)
	case chance(q.crash):
		d.crash(d.IntN(len(d.workers)))
	case d.zookeeper && chance(0.03):
		d.assigned = d.IntN(len(d.workers))
		d.note("the slot is assigned to %s", d.workers[d.assigned].id)
	case chance(0.02):
		if len(d.orphans) > 0 {
			d.count["late request of a crashed worker"]++
			d.turn("late, of a crashed worker: ", d.draw(&d.orphans))
		}
	case chance(0.25): // or hardly anything gets handled
		place := slices.IndexFunc(d.workers, func(w *worker) bool { return w.id == d.state.holder })
		if place < 0 {
			place = d.assigned
		}
		d.work(place)
	case chance(q.hand):
		d.byHand()
	case chance(q.plan):
		d.plan()
	case d.notes && chance(0.02):
		d.forget()
	case chance(q.cancel):
		d.cancelOne(d.contents[d.IntN(len(d.contents))])
	default:
		d.work(d.IntN(len(d.workers)))
	}
}

// draw removes one of a list.
func (d *driver) draw(list *[]*protocol.Turn) *protocol.Turn {
	i := d.IntN(len(*list))
	t := (*list)[i]
	*list = slices.Delete(*list, i, i+1)
	return t
}

func (d *driver) crash(place int) {
	w := d.workers[place]
	d.note("%s crashes", w.id)
	delete(d.alive, w.id)
	if w.sent != nil {
		d.orphans = append(d.orphans, w.sent.turn)
	}
	d.orphans = append(d.orphans, w.ghosts...)
	d.workers[place] = d.birth(place)
}

// work lets one worker do the next thing.
func (d *driver) work(place int) {
	w, q := d.workers[place], &d.weights
	switch {
	case len(w.ghosts) > 0 && d.Float64() < 0.2:
		d.count["late duplicate"]++
		d.turn("late duplicate: ", d.draw(&w.ghosts))
	case w.sent != nil && w.sent.answer == nil:
		d.deliver(w)
	case w.sent != nil:
		d.hear(w)
	case w.held != nil && d.mayStart(w) && d.Float64() < q.run:
		d.handle(w)
	case w.held != nil && !d.zookeeper && d.Float64() < 0.15:
		d.touchBatch(w)
	case d.zookeeper && place != d.assigned:
		if w.joined {
			d.ask(w, 0)
		}
	default:
		if d.zookeeper && w.named != "" && !d.alive[w.named] {
			w.gone = w.named
		}
		count := 1 + d.IntN(3)
		if d.Float64() < 0.05 {
			count = 0
		}
		d.ask(w, count)
	}
}

// deliver brings the turn to Redis; its answer may get lost, and a copy of it
// may come late.
func (d *driver) deliver(w *worker) {
	a := d.turn("", w.sent.turn)
	w.sent.answer = &a
	if d.Float64() < d.weights.lose {
		d.note("  the answer gets lost")
		d.count["lost answer"]++
		w.sent.answer, w.sent.since = nil, d.now
	}
	if d.Float64() < d.weights.ghost {
		w.ghosts = append(w.ghosts, w.sent.turn)
	}
}

// ask makes the next turn of a worker: what it tells of its batch, and how many
// contents it wants.
func (d *driver) ask(w *worker, count int) {
	t := &protocol.Turn{
		Keys: d.k, Priority: d.kind == priorityKind, Merge: d.kind == rangeMerge, Worker: w.id, Fence: w.number, DeadHolder: w.gone, Lease: w.lease,
		Count: count, Random: d.IntN(1 << 30), Due: d.kind != priorityKind && d.IntN(2) == 0,
		Wants: protocol.Wants(max(0, d.IntN(6)-3)),
	}
	if !d.literal {
		t.TakeoverDelay = 500 * time.Millisecond
	}
	t.HoldsNothing = w.held == nil
	if w.held != nil {
		for i, x := range w.held.Contents {
			v := w.held.results[x]
			if v == nil {
				v = &protocol.Verdict{Content: x, Fate: protocol.NotStarted, Priority: w.held.Priority(i), Due: w.held.Due(i)}
				if v.Priority == 0 && d.kind == priorityKind && w.held.Attempt == 1 {
					d.count["unknown priority handed back"]++
				}
			}
			if v != ok {
				t.Verdicts = append(t.Verdicts, *v)
			}
		}
	}
	w.joined, w.leaving = true, count == 0
	w.sent = &request{turn: t, since: d.now}
}

// hear gives a worker the answer to its turn.
func (d *driver) hear(w *worker) {
	a, since, leaving := *w.sent.answer, w.sent.since, w.leaving
	w.sent, w.held, w.leaving = nil, nil, false
	switch a.Code {
	case protocol.Batch:
		w.number = a.Fence
		w.held = &held{Answer: a, since: since, results: map[string]*protocol.Verdict{}}
		return
	case protocol.Busy:
		w.named = a.Holder
	default:
		w.number = a.Fence
	}
	if leaving {
		w.joined, w.number = false, 0
	}
}

// mayStart tells if a worker may start its next handler: the rule of clients.
func (d *driver) mayStart(w *worker) bool {
	return len(w.held.results) < len(w.held.Contents) && (d.zookeeper || d.now-w.held.since < w.lease.Milliseconds())
}

// handle runs the handler of the next content.
func (d *driver) handle(w *worker) {
	need(d.state.holder == w.id && d.state.number == w.held.Fence, "STARTED: a handler starts only while Redis names its worker and number",
		"%s, batch %d; Redis has %s, batch %d", w.id, w.held.Fence, d.state.holder, d.state.number)
	i := len(w.held.results)
	x := w.held.Contents[i]
	if d.notes {
		d.tellNote(w.held.Fence, x)
	}
	v := &protocol.Verdict{Content: x, Priority: w.held.Priority(i), Reason: fmt.Sprintf("step %d", d.steps)}
	switch z := d.Float64(); {
	case z < d.weights.ok:
		v = ok
		if a := d.ledger[x]; d.sendsAt[w.held.Fence][x] == a.sends {
			a.owed = false
		}
		d.count["handled"]++
	case z < d.weights.ok+d.weights.bury:
		v.Fate = protocol.Dead
	case z < d.weights.ok+d.weights.bury+d.weights.snooze:
		v.Fate, v.Delay = protocol.PutBack, []time.Duration{1, 300, 2500}[d.IntN(3)]*time.Millisecond
	case !d.literal:
		v.Delay = 500 * time.Millisecond << d.IntN(4)
	}
	w.held.results[x] = v
	d.note("%s handles %s: %+v", w.id, x, *v)
}

// turn brings a turn to Redis and checks all that comes of it.
func (d *driver) turn(what string, t *protocol.Turn) protocol.Answer {
	cmd := d.s.TurnCmd(ctx, t)
	e := &effect{what: what, turn: t, before: d.state, after: d.step(cmd)}
	var err error
	e.answer, err = protocol.TurnAnswer(t, cmd)
	d.note("%s%s -> %s", what, describe(t), tell(e.answer))
	need(err == nil, "ERROR: a turn is answered", "%v", err)
	expected := e.before.clone()
	expected.most = drivenMost
	e.out = expected.turn(t, d.now, e.answer)
	expected.same(e.after)
	d.ledger.apply(d, e)
	d.check(e)
	d.ledger.delivered(e)
	d.count.turn(e)
	if e.out.again {
		d.sendsAt[e.answer.Fence], d.notedAt[e.answer.Fence] = d.sendsAt[e.before.number], d.notedAt[e.before.number]
	}
	if len(e.out.taken) > 0 {
		sends := map[string]int{}
		for _, x := range e.out.taken {
			sends[x.content] = d.ledger[x.content].sends
		}
		d.sendsAt[e.answer.Fence] = sends
		d.taken(e)
	}
	return e.answer
}

// check checks the invariants and makes the state after e the present one.
func (d *driver) check(e *effect) {
	for _, rule := range invariants {
		if wrong := rule.says(d, e); wrong != "" {
			panic(broken{rule.name, wrong})
		}
	}
	d.state = e.after
}
