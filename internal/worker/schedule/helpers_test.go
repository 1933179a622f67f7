package schedule

import (
	"slices"
	"strconv"
	"testing"
	"time"
)

// term is an id of the worker in these tests.
type term struct {
	id      string
	session bool // else each slot that stands in the place of another has an id of its own
}

func (t *term) ID(replacement int) string {
	if t.session || replacement == 0 {
		return t.id
	}
	return t.id + "+" + strconv.Itoa(replacement)
}

// took is what is known of a slot whose turn was given a batch.
func took() Facts { return Facts{Held: true, Fence: 1} }

// play is a worker without Redis: the schedule is the real one, turns take no
// time, and a clock of its own says when handlers end.
type play struct {
	*Schedule
	term    *term
	clock   time.Time
	passes  time.Duration               // that passes with each look at the clock
	waits   func(x *Slot) bool          // whether there is something to take
	takes   func(x *Slot) time.Duration // how long the handlers of a batch do
	running map[*Slot]time.Time         // until when
	turns   int
	most    int // handlers at once
	began   func(x *Slot)
	had     map[*Topic]int // places, when check or allow was called last
	limited bool           // a topic was, and gets back what others may have taken meanwhile
}

// playOf has as many topics as most has entries, each the places that the topic may have.
func playOf(limit, slots int, most ...int) *play {
	p := &play{clock: time.Now(), running: map[*Slot]time.Time{}, began: func(*Slot) {}, had: map[*Topic]int{}, term: &term{id: "me"}}
	var topics []*Topic
	for i, n := range most {
		topics = append(topics, &Topic{Name: strconv.Itoa(i), Slots: slots, Most: n, NewSlot: func(int) *Slot { return &Slot{} }})
	}
	p.Schedule = New(limit, topics, p.now, func(x *Slot, since time.Time) { p.handle(x) })
	p.waits = func(*Slot) bool { return true }
	p.takes = func(*Slot) time.Duration { return 10 * time.Millisecond }
	p.Terms.Begin(p.term)
	return p
}

func (p *play) now() time.Time {
	p.clock = p.clock.Add(p.passes)
	return p.clock
}

// stage is a play in which the test itself takes the turns. All slots are ready.
func stage(limit int, slots ...int) (*play, []*Topic) {
	p := playOf(limit, slots[0], slices.Repeat([]int{limit}, len(slots))...)
	p.assignAll()
	return p, p.topics
}

// assignAll gives all slots to the worker, and wakes them.
func (p *play) assignAll() {
	for _, t := range p.topics {
		t.Assign(p.term, upTo(len(t.slots)))
		for i := range t.slots {
			t.Wake(i, 0)
		}
	}
}

// Unassign takes all slots of a topic away, and returns how many they were.
func (p *play) Unassign(t *Topic) (lost int) {
	_, lost = t.Assign(p.term, nil)
	return lost
}

func upTo(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// enter gives all slots to the worker, and takes the turns.
func (p *play) enter() {
	p.assignAll()
	p.turn()
}

// turn takes the turns that are ready.
func (p *play) turn() {
	for p.ready.length > 0 {
		for _, h := range p.Next(8, nil) {
			p.turns++
			x := h.Slot
			switch {
			case h.Leave:
				x.Left(Facts{})
			case p.waits(x):
				if _, now := x.Work(took()); now {
					p.handle(x)
				} else {
					x.AwaitPermit()
				}
			default:
				x.Rest(Facts{Fence: 1}, time.Time{})
			}
		}
	}
}

// takeAll takes the turns that are ready, each of which is given a batch.
func (p *play) takeAll() (taken []*Slot) {
	for p.ready.length > 0 {
		for _, h := range p.Next(8, nil) {
			if h.Leave {
				panic("left")
			}
			if _, now := h.Slot.Work(took()); !now {
				panic("no place")
			}
			taken = append(taken, h.Slot)
		}
	}
	return taken
}

// takeOne takes one turn that is ready.
func (p *play) takeOne(t *testing.T) Hand {
	t.Helper()
	if p.ready.length == 0 {
		t.Fatal("nothing is ready")
	}
	return p.Next(1, nil)[0]
}

func (p *play) handle(x *Slot) {
	p.running[x] = p.clock.Add(p.takes(x))
	p.most = max(p.most, len(p.running))
	p.began(x)
}

// allow limits the places of a topic.
func (p *play) allow(t *Topic, by Limiter, places int) {
	p.limited = true
	p.had[t] = t.used
	t.Allow(by, places)
}

// unlimit takes all limits of a topic away.
func (p *play) unlimit(t *Topic) {
	for by := range limiters {
		p.allow(t, by, t.Most)
	}
}

// step moves the clock to when the next handler ends.
func (p *play) step() {
	var first *Slot
	for x, end := range p.running {
		if first == nil || end.Before(p.running[first]) {
			first = x
		}
	}
	p.clock = p.running[first]
	delete(p.running, first)
	first.Again(took(), time.Time{})
	p.turn()
}

func all(n, most int) []int { return slices.Repeat([]int{most}, n) }
