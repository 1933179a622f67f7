package consumer

import (
	"math/rand/v2"
	"time"

	"github.com/slotmq/go-rmq/internal/breaker"
	"github.com/slotmq/go-rmq/internal/fleet"
	"github.com/slotmq/go-rmq/internal/schedule"
	"github.com/slotmq/go-rmq/luascripts"
	"github.com/slotmq/go-rmq/message"
	"go.uber.org/zap"
)

// slot is one slot of a topic as this worker sees it. Only one goroutine at a
// time has it in hand: a taker, or the one that handles its batch; else the schedule has
// it. So its fields need no lock.
type slot struct {
	schedule.Slot
	topic *topic // not changed

	// In hand.
	facts    schedule.Facts        // handed to the schedule with the slot, and back
	turn     luascripts.Turn       // the last one asked; its keys are not changed
	sent     time.Time             // when it was last sent
	goOn     func(since time.Time) // handles the batch that waits for its place; see schedule.New
	verdicts []luascripts.Verdict
	busyWait time.Duration // before another look at a slot that is busy
	busy     time.Time     // since when its holder has it, while it is busy
	asked    time.Time     // when that one was asked last
	mood     breaker.Mood  // of the topic's gate, when the turn was first sent
	watchdog watchdog
	results  []result
	event    *message.Event // of what the next turn says of the batch; nil if nothing observes
	over     []string       // contents with notes that the next turn reports as over
}

// newSlot makes the worker's side of a slot of the schedule.
func newSlot(t *topic, index int) *schedule.Slot {
	x := &slot{topic: t}
	x.Value = x
	x.turn.Keys, x.turn.Due = luascripts.KeysOf(t.Qualified, index), t.opts.Due
	x.turn.Priority, x.turn.Merge = !t.Kind.Timed(), t.Kind.FirstWins()
	return &x.Slot
}

// asSlot is the worker's side of a slot of the schedule.
func asSlot(x *schedule.Slot) *slot { return x.Value.(*slot) }

// topicsOf returns the topics of some slots, each once.
func topicsOf(slots []*schedule.Slot) (topics []*topic) {
	seen := map[*topic]bool{}
	for _, x := range slots {
		if t := asSlot(x).topic; !seen[t] {
			seen[t] = true
			topics = append(topics, t)
		}
	}
	return topics
}

// Keys and Timed are for the lookout.
func (s *slot) Keys() *luascripts.SlotKeys { return &s.turn.Keys }

// Timed reports whether the slot's messages are in the order of times.
func (s *slot) Timed() bool { return s.topic.Kind.Timed() }

// term is the one in which the slot takes its turns.
func (s *slot) term() *fleet.Term { return s.Term().(*fleet.Term) }

// logOf names a slot, and the id it is worked at under, in every line. It is for whatever
// has the slot in hand.
func logOf(x *schedule.Slot) *zap.Logger {
	return x.Term().(*fleet.Term).Log.With(zap.String("topic", x.Topic().Name), zap.Int("slot", x.Index))
}

// ask prepares the next turn, unless the last one has no answer yet.
func (s *slot) ask(h schedule.Hand) {
	s.facts = h.Facts
	if s.facts.Open {
		return
	}
	count := 0
	if s.mood = s.topic.gate.mood.Load(); !h.Leave {
		if count = s.topic.count(h.Places, s.mood); h.Most > 0 && s.mood < breaker.ProbeLast {
			count = min(count, h.Most)
		}
	}
	t := s.term()
	s.turn.Worker, s.turn.Lease, s.turn.TakeoverDelay, s.turn.DeadHolder = s.ID(), t.Lease(), s.topic.takeover.delay(), ""
	if s.topic.Literal {
		s.turn.TakeoverDelay = 0
	}
	if t.Dead(s.facts.Holder) {
		s.turn.DeadHolder = s.facts.Holder
	}
	s.turn.Fence, s.turn.Count, s.turn.Random, s.turn.Verdicts = s.facts.Fence, count, rand.IntN(1<<30), s.verdicts
	s.turn.HoldsNothing = !s.facts.Held
	s.turn.Due = s.topic.opts.Due || s.mood != breaker.Calm // so what is handed back keeps its place
	switch s.mood {
	case breaker.ProbeLast, breaker.ProbeDrawn:
		s.turn.Wants = luascripts.Behind
	case breaker.ProbeRetry:
		s.turn.Wants = luascripts.Retry
	default:
		s.turn.Wants = luascripts.First
	}
	s.facts.Open = true
}

// answered notes that the turn has a definite answer.
func (s *slot) answered() {
	s.facts.Open, s.facts.Failures, s.facts.Held, s.facts.Taken = false, 0, false, 0
	clear(s.verdicts)
	s.turn.Verdicts, s.verdicts = nil, s.verdicts[:0]
}

// empty lets go of what the slot had in hand, which may be large, when it has nothing
// to do for a while.
func (s *slot) empty() { s.results, s.verdicts = nil, nil }
