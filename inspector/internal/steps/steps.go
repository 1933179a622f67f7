package steps

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/inspector/internal/ask"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/byhand"
	"github.com/slotmq/go-rmq/internal/protocol/script"
	"github.com/slotmq/go-rmq/internal/servers/cluster"
	"github.com/slotmq/go-rmq/internal/servers/wait"
)

// Steps takes messages out, and tells the journal.
type Steps struct{ *ask.Ground }

// A step takes out at most so many dead messages, of so many bytes.
const (
	stepMost  = 500
	stepBytes = 1 << 20 // Redis holds each of them several times while a script runs
)

// retryFor is how long calls are repeated that have no answer, as while a server fails over.
const retryFor = 10 * time.Second

// Removal is what is done with dead messages that are taken out.
type Removal struct {
	Call    func(protocol.SlotKeys, []byhand.DeadItem) redis.Cmder
	Note    func(byhand.DeadResult)                      // what became of one
	After   func(answered []*InSlot)                     // each step, with the parts of it that have an answer
	Journal func(s *InSlot, results []byhand.DeadResult) // nil: there is none
}

// Lost is the result for what may have been taken out by a call whose answer is lost.
const Lost byhand.DeadResult = "LOST"

// InSlot is the part of a step that one call takes out of one slot.
type InSlot struct {
	Slot     int
	keys     protocol.SlotKeys
	dead     []byhand.DeadItem
	lost     bool // an answer is: a try of the call may have been executed
	answered bool // at last
}

// Dead is one dead message that is to be taken out.
type Dead struct {
	Slot int
	byhand.DeadItem
}

// TakeOut takes out dead messages, step by step, up to a limit of those that are taken out, not of those that are met; 0: all. A
// step that has begun is not cut short when ctx ends.
func (h *Steps) TakeOut(ctx context.Context, t ask.Topic, dead iter.Seq2[Dead, error], limit int, rate float64, x Removal) error {
	next, stop := iter.Pull2(dead)
	defer stop()
	pace := wait.Pace{Rate: rate}
	most := pace.Most(stepMost)
	for out := 0; limit == 0 || out < limit; {
		if limit > 0 {
			most = min(most, limit-out)
		}
		step, n, err := h.collect(next, t, most)
		if err != nil || n == 0 {
			return err
		}
		if err := pace.Wait(ctx, n); err != nil {
			return err
		}
		taken, err := h.step(ctx, step, x)
		out += taken
		x.After(slices.DeleteFunc(step, func(s *InSlot) bool { return !s.answered }))
		if err != nil {
			return err
		}
	}
	return nil
}

// collect gathers the dead messages of the next step by slot, and returns how many they are.
func (h *Steps) collect(next func() (Dead, error, bool), t ask.Topic, most int) (step []*InSlot, n int, err error) {
	bySlot := map[int]*InSlot{}
	for bytes := 0; n < most && bytes < stepBytes; n++ {
		e, err, more := next()
		if err != nil || !more {
			return step, n, err
		}
		s := bySlot[e.Slot]
		if s == nil {
			s = &InSlot{Slot: e.Slot, keys: h.Keys(t.Name, e.Slot)}
			bySlot[e.Slot] = s
			step = append(step, s)
		}
		s.dead = append(s.dead, e.DeadItem)
		bytes += len(e.Content)
	}
	return step, n, nil
}

// step takes out what one step is about, and returns how many messages that were, or may have
// been. Calls that have no answer are repeated, unless ctx has ended.
func (h *Steps) step(ctx context.Context, step []*InSlot, x Removal) (taken int, err error) {
	note := func(r byhand.DeadResult) {
		if r != byhand.Unknown && r != byhand.Gone {
			taken++
		}
		x.Note(r)
	}
	defer func() {
		for _, s := range step {
			if s.lost && !s.answered {
				for range s.dead {
					note(Lost)
				}
			}
		}
	}()
	end := time.Now().Add(retryFor)
	open := step
	for pause := 20 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		var again []*InSlot
		var unanswered error
		for some := range slices.Chunk(open, ask.PerPipeline) {
			x.once(ctx, h, some, note, func(s *InSlot, wrong error) {
				if cluster.Passes(wrong) {
					again, unanswered = append(again, s), wrong
				} else {
					err = wrong
				}
			})
		}
		switch open = again; {
		case len(open) == 0:
			return taken, err
		case time.Now().After(end):
			return taken, unanswered
		}
		if !wait.Sleep(ctx, pause) {
			return taken, fmt.Errorf("%w: %w", ctx.Err(), unanswered)
		}
	}
}

// once asks slots once. It notes what became of their messages, and tells which slots have not answered, and why.
func (x Removal) once(ctx context.Context, h *Steps, some []*InSlot, note func(byhand.DeadResult), silent func(*InSlot, error)) {
	cmds := make([]redis.Cmder, len(some))
	for n, s := range some {
		cmds[n] = x.Call(s.keys, s.dead)
	}
	script.Exec(context.WithoutCancel(ctx), h.Redis, cmds...)
	for n, s := range some {
		results, wrong := byhand.DeadResults(s.keys, cmds[n])
		if s.answered = wrong == nil; !s.answered {
			cluster.NoteError(ctx, h.Redis, wrong)
			s.lost = s.lost || !cluster.Refused(wrong)
			silent(s, s.explain(h.Explain(wrong)))
		} else if x.Journal != nil {
			x.Journal(s, results)
		}
		for _, r := range results {
			// It is gone: was it the try whose answer is lost, or another program?
			if r == byhand.Gone && s.lost {
				r = Lost
			}
			note(r)
		}
	}
}

// explain adds to an error what it leaves open.
func (s *InSlot) explain(err error) error {
	if s.lost {
		return fmt.Errorf("the answer is lost, so %d of slot %d may have been taken out: %w", len(s.dead), s.Slot, err)
	}
	return err
}

// Deletion is the removal of dead messages, which counts those that are gone, and those that may be.
func (h *Steps) Deletion(ctx context.Context, t ask.Topic, deleted, unsure *int) Removal {
	return Removal{
		Call: func(k protocol.SlotKeys, dead []byhand.DeadItem) redis.Cmder {
			return byhand.DeleteCmd(context.WithoutCancel(ctx), k, dead)
		},
		Journal: h.TellDeleted(t),
		Note: func(r byhand.DeadResult) {
			switch r {
			case byhand.Deleted:
				*deleted++
			case Lost:
				*unsure++
			}
		},
	}
}
