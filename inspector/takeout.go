package inspector

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/byhand"
	"github.com/slotmq/go-rmq/internal/protocol/script"
	"github.com/slotmq/go-rmq/internal/servers/cluster"
	"github.com/slotmq/go-rmq/internal/servers/wait"
)

// A step takes out at most so many dead messages, of so many bytes.
const (
	stepMost  = 500
	stepBytes = 1 << 20 // Redis holds each of them several times while a script runs
)

// retryFor is how long calls are repeated that have no answer, as while a server fails over.
const retryFor = 10 * time.Second

// removal is what is done with dead messages that are taken out.
type removal struct {
	call    func(protocol.SlotKeys, []byhand.DeadItem) redis.Cmder
	note    func(byhand.DeadResult)                      // what became of one
	after   func(answered []*inSlot)                     // each step, with the parts of it that have an answer
	journal func(s *inSlot, results []byhand.DeadResult) // nil: there is none
}

// lost is the result for what may have been taken out by a call whose answer is lost.
const lost byhand.DeadResult = "LOST"

// inSlot is the part of a step that one call takes out of one slot.
type inSlot struct {
	slot     int
	keys     protocol.SlotKeys
	dead     []byhand.DeadItem
	lost     bool // an answer is: a try of the call may have been executed
	answered bool // at last
}

// takeOut takes out the dead messages that the query selects, step by step. A step that has
// begun is not cut short when ctx ends.
func (i *Inspector) takeOut(ctx context.Context, t Topic, q DeadQuery, rate float64, x removal) error {
	if _, err := q.slots(t); err != nil {
		return err
	}
	limit := q.Limit // of those that are taken out, not of those that are met
	q.Limit, q.likely, q.changes, q.Complete = 0, limit, true, true
	next, stop := iter.Pull2(i.dead(ctx, t, q, false))
	defer stop()
	pace := wait.Pace{Rate: rate}
	most := pace.Most(stepMost)
	for out := 0; limit == 0 || out < limit; {
		if limit > 0 {
			most = min(most, limit-out)
		}
		step, n, err := i.collect(next, t, most)
		if err != nil || n == 0 {
			return err
		}
		if err := pace.Wait(ctx, n); err != nil {
			return err
		}
		taken, err := i.step(ctx, step, x)
		out += taken
		x.after(slices.DeleteFunc(step, func(s *inSlot) bool { return !s.answered }))
		if err != nil {
			return err
		}
	}
	return nil
}

// collect gathers the dead messages of the next step by slot, and returns how many they are.
func (i *Inspector) collect(next func() (Entry, error, bool), t Topic, most int) (step []*inSlot, n int, err error) {
	bySlot := map[int]*inSlot{}
	for bytes := 0; n < most && bytes < stepBytes; n++ {
		e, err, more := next()
		if err != nil || !more {
			return step, n, err
		}
		s := bySlot[e.Slot]
		if s == nil {
			s = &inSlot{slot: e.Slot, keys: i.keys(t.Name, e.Slot)}
			bySlot[e.Slot] = s
			step = append(step, s)
		}
		s.dead = append(s.dead, byhand.DeadItem{Content: e.Content, Died: e.Died})
		bytes += len(e.Content)
	}
	return step, n, nil
}

// step takes out what one step is about, and returns how many messages that were, or may have
// been. Calls that have no answer are repeated, unless ctx has ended.
func (i *Inspector) step(ctx context.Context, step []*inSlot, x removal) (taken int, err error) {
	note := func(r byhand.DeadResult) {
		if r != byhand.Unknown && r != byhand.Gone {
			taken++
		}
		x.note(r)
	}
	defer func() {
		for _, s := range step {
			if s.lost && !s.answered {
				for range s.dead {
					note(lost)
				}
			}
		}
	}()
	end := time.Now().Add(retryFor)
	open := step
	for pause := 20 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		var again []*inSlot
		var unanswered error
		for some := range slices.Chunk(open, perPipeline) {
			x.once(ctx, i, some, note, func(s *inSlot, wrong error) {
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
func (x removal) once(ctx context.Context, i *Inspector, some []*inSlot, note func(byhand.DeadResult), silent func(*inSlot, error)) {
	cmds := make([]redis.Cmder, len(some))
	for n, s := range some {
		cmds[n] = x.call(s.keys, s.dead)
	}
	script.Exec(context.WithoutCancel(ctx), i.rdb, cmds...)
	for n, s := range some {
		results, wrong := byhand.DeadResults(s.keys, cmds[n])
		if s.answered = wrong == nil; !s.answered {
			cluster.NoteError(ctx, i.rdb, wrong)
			s.lost = s.lost || !cluster.Refused(wrong)
			silent(s, s.explain(i.explain(wrong)))
		} else if x.journal != nil {
			x.journal(s, results)
		}
		for _, r := range results {
			// It is gone: was it the try whose answer is lost, or another program?
			if r == byhand.Gone && s.lost {
				r = lost
			}
			note(r)
		}
	}
}

// explain adds to an error what it leaves open.
func (s *inSlot) explain(err error) error {
	if s.lost {
		return fmt.Errorf("the answer is lost, so %d of slot %d may have been taken out: %w", len(s.dead), s.slot, err)
	}
	return err
}
