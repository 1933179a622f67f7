package inspector

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/cluster"
	"github.com/slotmq/go-rmq/internal/script"
	"github.com/slotmq/go-rmq/internal/wait"
	"github.com/slotmq/go-rmq/luascripts"
	"github.com/slotmq/go-rmq/luascripts/byhand"
)

// A step takes so many dead messages at the most, of so many bytes, and so long if a rate
// is kept.
const (
	stepMost  = 500
	stepBytes = 1 << 20 // Redis holds each of them several times while a script runs
	stepTime  = 100 * time.Millisecond
)

// answerPatience is how long calls are repeated that have no answer, as while a server
// fails over.
const answerPatience = 10 * time.Second

// exhumation is what is done with dead messages.
type exhumation struct {
	call  func(luascripts.SlotKeys, []byhand.DeadItem) redis.Cmder
	note  func(byhand.DeadResult) // what became of one
	after func(graves []*grave)   // each step, with those of which there is an answer
}

// lost is the fortune of what may have been taken out by a call whose answer is lost.
const lost byhand.DeadResult = "LOST"

// grave is what one step takes out of one slot.
type grave struct {
	slot int
	keys luascripts.SlotKeys
	dead []byhand.DeadItem
	lost bool // an answer: a try of the call may have been executed
	told bool // an answer came at last
}

// exhume takes out the dead messages that are meant, step by step. A step that has begun is
// not cut short when ctx ends.
func (i *Inspector) exhume(ctx context.Context, t Topic, q DeadQuery, rate float64, x exhumation) error {
	if _, err := q.slots(t); err != nil {
		return err
	}
	limit := q.Limit // of those that are taken out, not of those that are met
	q.Limit, q.likely, q.changes, q.Complete = 0, limit, true, true
	next, stop := iter.Pull2(i.dead(ctx, t, q, false))
	defer stop()
	most := stepMost
	if rate > 0 {
		most = max(1, min(stepMost, int(rate*stepTime.Seconds())))
	}
	begin := time.Now() // of the next step
	for out := 0; limit == 0 || out < limit; {
		if limit > 0 {
			most = min(most, limit-out)
		}
		graves, n, err := i.dig(t, next, most)
		if err != nil || n == 0 {
			return err
		}
		if !wait.Sleep(ctx, time.Until(begin)) {
			return ctx.Err()
		}
		if rate > 0 {
			// A step that was late may be made up for, but not many of them at once.
			begin = later(begin, time.Now().Add(-stepTime)).Add(time.Duration(float64(n) / rate * float64(time.Second)))
		}
		taken, err := i.empty(ctx, graves, x)
		out += taken
		x.after(slices.DeleteFunc(graves, func(g *grave) bool { return !g.told }))
		if err != nil {
			return err
		}
	}
	return nil
}

// dig collects the dead messages of a step by slot, and tells how many they are.
func (i *Inspector) dig(t Topic, next func() (DeadEntry, error, bool), most int) (graves []*grave, n int, err error) {
	at := map[int]*grave{}
	for bytes := 0; n < most && bytes < stepBytes; n++ {
		e, err, more := next()
		if err != nil || !more {
			return graves, n, err
		}
		g := at[e.Slot]
		if g == nil {
			g = &grave{slot: e.Slot, keys: i.keys(t, e.Slot)}
			at[e.Slot] = g
			graves = append(graves, g)
		}
		g.dead = append(g.dead, byhand.DeadItem{Content: e.Content, Died: e.Died})
		bytes += len(e.Content)
	}
	return graves, n, nil
}

// empty takes out what a step is about, and tells how many messages that were, or may have
// been. Calls that have no answer are repeated, unless ctx has ended.
func (i *Inspector) empty(ctx context.Context, graves []*grave, x exhumation) (taken int, err error) {
	note := func(f byhand.DeadResult) {
		if f != byhand.Unknown && f != byhand.Gone {
			taken++
		}
		x.note(f)
	}
	defer func() {
		for _, g := range graves {
			if g.lost && !g.told {
				for range g.dead {
					note(lost)
				}
			}
		}
	}()
	end := time.Now().Add(answerPatience)
	open := graves
	for pause := 20 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		var again []*grave
		var unanswered error
		for some := range slices.Chunk(open, perPipeline) {
			cmds := make([]redis.Cmder, len(some))
			for n, g := range some {
				cmds[n] = x.call(g.keys, g.dead)
			}
			script.Exec(context.WithoutCancel(ctx), i.rdb, cmds...)
			for n, g := range some {
				fortunes, wrong := byhand.DeadResults(g.keys, cmds[n])
				if g.told = wrong == nil; !g.told {
					cluster.NoteError(ctx, i.rdb, wrong)
					g.lost = g.lost || !cluster.Refused(wrong)
					if wrong = g.explain(i.explain(wrong)); cluster.Passes(wrong) {
						again, unanswered = append(again, g), wrong
					} else {
						err = wrong
					}
				}
				for _, f := range fortunes {
					if f == byhand.Gone && g.lost {
						f = lost
					}
					note(f)
				}
			}
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

// explain says what an error leaves open.
func (g *grave) explain(err error) error {
	if g.lost {
		return fmt.Errorf("the answer is lost, so %d of slot %d may have been taken out: %w", len(g.dead), g.slot, err)
	}
	return err
}

// later is the later of two moments.
func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}
