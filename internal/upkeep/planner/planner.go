package planner

import (
	"sync"
	"time"

	"github.com/slotmq/go-rmq/internal/observers"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/record"
	"github.com/slotmq/go-rmq/internal/upkeep/periodic"
	"github.com/slotmq/go-rmq/internal/worker/schedule"
	"github.com/slotmq/go-rmq/message"
)

const (
	// lookAtOnce is how many slots are asked for in one round trip, and dueAtOnce how many
	// occurrences of a slot.
	lookAtOnce, dueAtOnce = 128, 64

	// gap is between two looks: timers that are so close go together.
	gap = time.Millisecond

	// again is after how long a slot is looked at again, if Redis has not answered, or another
	// worker was first.
	again = 500 * time.Millisecond
)

// Topic is one whose plans are looked after.
type Topic struct {
	message.Topic
	Qualified string // its name with the namespace
	Scheduled *schedule.Topic
	Look      time.Duration // how often it is asked for slots with plans, without being told to

	// Under the planner's lock, by the clock of this process.
	ask    time.Time          // when it is asked for slots with plans
	next   map[int]time.Time  // when each slot is to be looked at that has something planned
	unread map[int]unreadable // of the slots where there are any
}

// unreadable are the rules of a slot that this worker cannot read, by the names of their plans.
type unreadable map[string]string

// Config of a [Planner].
type Config struct {
	periodic.Needs
	Observers *observers.Observers // nil: there are none
	Journal   record.Journal       // nil: there is none
}

// Planner looks after the plans of some topics.
type Planner struct {
	Config
	table *periodic.Timetable[*Topic] // when each topic has something to be looked at
	lines *periodic.Lines[place]

	mu sync.Mutex
	of map[*schedule.Topic]*Topic
}

// place is a slot of a topic; or, with slot everySlot, what is noted of the topic: which slots may
// have plans.
type place struct {
	topic *Topic
	slot  int
}

const everySlot = -1

func (x place) keys() protocol.PlanKeys {
	return protocol.KeysOf(x.topic.Qualified, x.slot).Plans(x.topic.Notes)
}

// key is one that tells which server has to be asked.
func (x place) key() string {
	if x.slot == everySlot {
		return protocol.PlansKey(x.topic.Qualified)
	}
	return x.keys().Plan
}

// New returns a planner for some topics, at least one.
func New(c Config, topics []*Topic) *Planner {
	p := &Planner{Config: c, of: map[*schedule.Topic]*Topic{}}
	p.table = periodic.NewTimetable(topics, gap, func(t *Topic) time.Duration { return t.Look })
	for _, t := range topics {
		t.next, t.unread = map[int]time.Time{}, map[int]unreadable{}
		t.ask = time.Now().Add(t.Look)
		p.of[t.Scheduled] = t
	}
	p.lines = periodic.NewLines(lookAtOnce, c.Life.Go, func(_ string, some []place) { p.look(some) })
	return p
}

// Hurry has all slots of a topic looked at that are this worker's: some may be new to it.
func (p *Planner) Hurry(of *schedule.Topic) {
	t := p.of[of]
	p.mu.Lock()
	defer p.mu.Unlock()
	t.ask = time.Now()
	p.setLocked(t)
}

// Look has a slot looked at, because a plan was set there.
func (p *Planner) Look(of *schedule.Topic, slot int) {
	if of.Has(slot) {
		p.lookAt(place{p.of[of], slot}, time.Now())
	}
}

// lookAt has a slot looked at at a time, or before.
func (p *Planner) lookAt(x place, at time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if known, set := x.topic.next[x.slot]; set && known.Before(at) {
		return
	}
	x.topic.next[x.slot] = at
	p.setLocked(x.topic)
}

// setLocked has a topic come up when the first of its looks is due.
func (p *Planner) setLocked(t *Topic) {
	at := t.ask
	for _, next := range t.next {
		if next.Before(at) {
			at = next
		}
	}
	p.table.Set(t, at)
}

// Run looks after the plans until the worker closes.
func (p *Planner) Run() {
	for topics := p.table.Next(p.Life.Background); topics != nil; topics = p.table.Next(p.Life.Background) {
		for _, t := range topics {
			p.seek(p.due(t, time.Now()))
		}
	}
}

// due returns what of a topic is to be looked at now.
func (p *Planner) due(t *Topic, now time.Time) (places []place) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !t.ask.After(now) {
		t.ask = now.Add(t.Look - gap)
		places = append(places, place{t, everySlot})
	}
	for slot, at := range t.next {
		if !at.After(now) {
			delete(t.next, slot)
			places = append(places, place{t, slot})
		}
	}
	p.setLocked(t)
	return places
}

// seek has places looked at on the servers they are on.
func (p *Planner) seek(places []place) {
	for addr, some := range periodic.ByServer(p.Life.Background, p.Redis, places, place.key) {
		p.lines.Add(addr, some...)
	}
}
