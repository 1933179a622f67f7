package consumer

import (
	"math/rand/v2"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/sharing/fleet"
	"github.com/slotmq/go-rmq/internal/worker"
	"github.com/slotmq/go-rmq/internal/worker/breaker"
	"github.com/slotmq/go-rmq/internal/worker/gate"
	"github.com/slotmq/go-rmq/internal/worker/intake"
	"github.com/slotmq/go-rmq/internal/worker/schedule"
	"github.com/slotmq/go-rmq/internal/worker/takeoverdelay"
	"github.com/slotmq/go-rmq/internal/worker/verdict"
	"github.com/slotmq/go-rmq/internal/worker/watchdog"
	"github.com/slotmq/go-rmq/message"
)

// slot is one slot of a topic in a consumer. Only one goroutine at a time has it in hand: see worker.Slot.
type slot struct {
	worker.Slot
	topic *topic // not changed

	// In hand.
	goOn     func(since time.Time) // handles the batch that waits for its place; see schedule.New
	busy     intake.Busy           // what is known of another holder, while it is busy
	state    breaker.State         // of the topic's gate, when the turn was first sent
	watchdog watchdog.Watchdog
	results  []verdict.Verdict
	event    *message.Event // of what the next turn says of the batch; nil if nothing observes
	over     []string       // contents with notes that the next turn reports as over
}

// newSlot makes the worker's side of a slot of the schedule.
func newSlot(t *topic, index int) *schedule.Slot {
	x := &slot{topic: t}
	x.Init(t.Topic.Topic, t.Qualified, index, x)
	return x.Scheduled()
}

// asSlot is the worker's side of a slot of the schedule.
func asSlot(x *schedule.Slot) *slot { return x.Value.(*slot) }

// slotIn is the consumer's side of the slot that an answer is for.
func slotIn(a *worker.Answer) *slot { return a.Slot.Value.(*slot) }

// topicsOf returns the topics of some slots, each once.
func topicsOf(slots []*schedule.Slot) (topics []*takeoverdelay.Topic) {
	for _, x := range slots {
		if t := &asSlot(x).topic.takeoverDelay; !slices.Contains(topics, t) {
			topics = append(topics, t)
		}
	}
	return topics
}

// term is the one in which the slot takes its turns.
func (s *slot) term() *fleet.Term { return s.Term().(*fleet.Term) }

// logOf names a slot, and the id it is worked at under, in every line. It is for whatever
// has the slot in hand.
func logOf(x *schedule.Slot) *zap.Logger {
	return x.Term().(*fleet.Term).Log.With(zap.String("topic", x.Topic().Name), zap.Int("slot", x.Index))
}

// ask prepares the next turn, unless the last one has no answer yet.
func (s *slot) ask(h schedule.Hand) {
	s.Facts = h.Facts
	if s.Facts.Open {
		return
	}
	s.state = s.topic.gate.State()
	wants, count := gate.Ask(s.state)
	if count == 0 {
		count = s.topic.count(h.Permits)
	}
	switch {
	case h.Leave:
		count = 0
	case wants != protocol.Behind && h.Most > 0:
		count = min(count, h.Most)
	}
	t := s.term()
	s.Turn.Worker, s.Turn.Lease, s.Turn.TakeoverDelay, s.Turn.DeadHolder = s.ID(), t.Lease(), s.topic.takeoverDelay.Delay(), ""
	if s.topic.Literal {
		s.Turn.TakeoverDelay = 0
	}
	if t.Dead(s.Facts.Holder) {
		s.Turn.DeadHolder = s.Facts.Holder
	}
	s.Turn.Fence, s.Turn.Count, s.Turn.Random, s.Turn.Verdicts = s.Facts.Fence, count, rand.IntN(1<<30), s.Verdicts
	s.Turn.HoldsNothing = !s.Facts.Held
	s.Turn.Due = s.topic.opts.Due || s.state != breaker.Calm // so what is handed back keeps its place
	s.Turn.Wants, s.Facts.Open = wants, true
}

// empty lets go of what the slot had in hand, which may be large, when it has nothing
// to do for a while.
func (s *slot) empty() { s.results, s.Verdicts = nil, nil }
