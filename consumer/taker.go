package consumer

import (
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/away"
	"github.com/slotmq/go-rmq/internal/cluster"
	"github.com/slotmq/go-rmq/internal/deaths"
	"github.com/slotmq/go-rmq/internal/schedule"
	"github.com/slotmq/go-rmq/internal/shift"
	"github.com/slotmq/go-rmq/internal/sweeper"
	"github.com/slotmq/go-rmq/internal/wakeups"
	"github.com/slotmq/go-rmq/luascripts"
)

// A write goes to one node. A pipeline to several nodes of a Cluster waits for the slowest. So a taker takes slots of
// one node at a time, and one whose write takes long is replaced until it comes back. Safety looks, lists of members and
// definitions, too, are asked of each node by itself (internal/errands).

// Two takers keep Redis busy while one of them reads answers; more add
// nothing. Each takes the turns of several slots in one write.
const (
	takerCount = 2
	writeTurns = 8
)

// Between repetitions of a turn without an answer, and before another look at
// a slot that is busy, the waiting doubles between these.
const (
	firstRepeat, lastRepeat = 20 * time.Millisecond, time.Second
	firstBusy, lastBusy     = 50 * time.Millisecond, 500 * time.Millisecond
	pausedLook              = 5 * time.Second
)

// silentHolder is what a holder that lives never has left of its lease: it renews it before.
// It is longer than lastBusy, so that a busy slot looks at least once in that time.
const silentHolder = lastBusy + 100*time.Millisecond

// On a Cluster, a taker whose write takes longer than slowWrite is replaced by
// another one, and ends with its write: so a server that hangs does not hold up
// the slots of the others.
const slowWrite = 200 * time.Millisecond

// takers take the turns, and do what the answers say.
type takers struct {
	shift     *shift.Shift
	rdb       redis.UniversalClient
	scripts   *luascripts.Scripts
	schedule  *schedule.Schedule
	pace      *pace
	batches   *batches
	takeovers *takeovers
	announcer *wakeups.Announcer
	deaths    *deaths.Reporter // nil: no topic has a listener to the dead
	sweeper   *sweeper.Sweeper // nil: no topic has notes
	news      *news            // nil: nothing observes
	log       *zap.Logger
	away      *away.Watch
	beats     beats

	saidSilent atomic.Bool // that Redis does not answer, while the worker closes
}

// taker is one that takes turns, with the write it is at.
type taker struct {
	*takers
	beat      *beat
	hands     []schedule.Hand
	cmds      []redis.Cmder
	answers   []answer
	answered  time.Time // when the write was
	replaced  bool      // another taker has taken this one's place meanwhile
	reporting bool      // the answers are shown to observers, and nothing is done about them yet
}

// run takes turns until the schedule is closed. It is one taker.
func (c *takers) run() {
	t := &taker{takers: c, beat: c.beats.add()}
	t.run()
}

// run takes turns. If an observer ends the goroutine, another one goes on.
func (t *taker) run() {
	through := false
	defer func() {
		if !through && t.reporting {
			t.shift.Running.Go(t.run)
		} else {
			t.beats.remove(t.beat, through)
		}
	}()
	for {
		if !t.reporting {
			if !t.ask() {
				through = true
				return
			}
			t.reporting = true
			if t.news != nil {
				t.news.answers(t.answers)
			}
		}
		t.reporting = false
		if t.heed(); t.replaced {
			through = true
			return
		}
	}
}

// ask takes the turns of the next slots, in one write. It returns false when the schedule is
// closed.
func (t *taker) ask() bool {
	t.beat.waits()
	t.hands = t.schedule.Next(writeTurns, t.hands[:0])
	if len(t.hands) == 0 {
		return false
	}
	begin := time.Now()
	t.beat.works(begin)
	t.cmds, t.answers = t.cmds[:0], t.answers[:0]
	for _, h := range t.hands {
		x := asSlot(h.Slot)
		x.ask(h)
		x.sent = begin
		t.cmds = append(t.cmds, t.scripts.TurnCmd(t.shift.Requests, &x.turn))
	}
	t.beat.waits()
	if cluster.IsCluster(t.rdb) {
		t.replaced = t.execWatched(t.hands, t.cmds)
	} else {
		t.scripts.Exec(t.shift.Requests, t.cmds...)
	}
	t.answered = time.Now()
	t.beat.works(t.answered)
	for i, h := range t.hands {
		x := asSlot(h.Slot)
		a, err := luascripts.TurnAnswer(&x.turn, t.cmds[i])
		t.answers = append(t.answers, answer{a, x, err})
	}
	clear(t.cmds) // which have answers, and these what was large in them
	return true
}

// heed does what the answers say.
func (t *taker) heed() {
	taken, unanswered, answered := 0, 0, false
	for i := range t.answers {
		taken += len(t.answers[i].Contents)
	}
	t.pace.took(taken, t.answered, t.schedule.Busy) // first: the batches go by it
	var why error
	for i := range t.answers {
		a := &t.answers[i]
		if a.err == nil {
			answered = true
			t.answer(a.slot, a.Answer)
		} else if t.unanswered(a.slot, a.err) {
			unanswered++
			why = a.err
		}
	}
	clear(t.answers)
	if why != nil { // once for all of them: it is nearly always the server
		t.log.Warn("turns have no answer and are repeated", zap.Int("slots", unanswered), zap.Error(why))
	}
	if answered {
		t.shift.Heard(t.answered)
	}
}

// answer is that of a slot's turn, or why there is none.
type answer struct {
	luascripts.Answer
	slot *slot
	err  error
}

// execWatched is Exec on a Cluster, and reports whether another taker has
// taken this one's place meanwhile.
func (c *takers) execWatched(hands []schedule.Hand, cmds []redis.Cmder) (replaced bool) {
	for _, h := range hands {
		x := asSlot(h.Slot)
		if _, addr, err := cluster.MasterFor(c.shift.Requests, c.rdb, x.turn.Keys.Store); err == nil {
			x.facts.Server = addr
		}
	}
	var mu sync.Mutex
	over := false
	timer := time.AfterFunc(slowWrite, func() {
		mu.Lock()
		defer mu.Unlock()
		if !over {
			replaced = true
			c.shift.Running.Go(c.run)
		}
	})
	stop := cluster.WhileSlow(c.shift.Requests, c.rdb)
	c.scripts.Exec(c.shift.Requests, cmds...)
	stop()
	timer.Stop()
	mu.Lock()
	defer mu.Unlock()
	over = true
	return replaced
}

// locate notes where the slots of some topics are before the first turns, so that a server
// which hangs holds up no turn at another one.
func (c *takers) locate(topics []*topic) {
	if !cluster.IsCluster(c.rdb) {
		return
	}
	for _, t := range topics {
		for i := range t.Slots {
			if _, addr, err := cluster.MasterFor(c.shift.Requests, c.rdb, luascripts.StoreKey(t.Qualified, i)); err == nil {
				c.schedule.Locate(t.scheduled, i, addr)
			}
		}
	}
}

// answer does what the answer of a slot's turn says.
func (c *takers) answer(x *slot, a luascripts.Answer) {
	if x.facts.Failures > 0 {
		logOf(&x.Slot).Debug("turns are answered again", zap.Int("repeated", x.facts.Failures))
	}
	leaving, held, repeated := x.turn.Count == 0, x.facts.Held, x.facts.Failures > 0
	if c.deaths != nil && mayHaveKilled(x, &a) {
		c.deaths.Look(x.Slot.Topic(), x.Index)
	}
	x.answered()
	if x.over != nil {
		c.sweeper.Forget(x.Slot.Topic(), x.Index, x.over)
		x.over = nil
	}
	if held && (a.Code == luascripts.Number || a.Code == luascripts.Busy) {
		finishRefused(x, repeated)
	}
	x.facts.Unavailable = a.Code == luascripts.Busy || a.Code == luascripts.Paused
	x.facts.More = a.Code == luascripts.Empty && a.Wait == 0
	if a.Code != luascripts.Batch && a.Code != luascripts.Number {
		x.empty()
	}
	if a.Code != luascripts.Busy {
		c.number(x, a.Fence)
	}
	switch a.Code {
	case luascripts.Batch:
		c.batches.handle(x, a, !repeated && a.Fence > x.turn.Fence)
	case luascripts.Left:
		c.left(x)
	case luascripts.Number:
		if leaving {
			c.left(x)
		} else {
			c.schedule.Again(&x.Slot, x.facts, time.Time{})
		}
	case luascripts.Busy:
		if leaving {
			c.left(x)
		} else {
			c.busy(x, a)
		}
	case luascripts.Paused:
		c.schedule.Rest(&x.Slot, x.facts, time.Now().Add(pausedLook))
	case luascripts.Empty:
		at := time.Time{}
		if a.Wait >= 0 {
			at = time.Now().Add(a.Wait)
		}
		c.schedule.Rest(&x.Slot, x.facts, at)
	}
}

// number notes the fence that a slot has. If Redis has forgotten a larger one, it may not know the worker either.
func (c *takers) number(x *slot, fence int64) {
	if c.away.Fence(x.turn.Keys.Store, x.facts.Fence, fence) {
		c.takeovers.fleet.Hurry(&x.topic.Topic)
	}
	x.facts.Fence, x.facts.Holder, x.busyWait = fence, "", 0
}

// busy lets a slot sleep that another worker holds, and looks into that holder.
func (c *takers) busy(x *slot, a luascripts.Answer) {
	logOf(&x.Slot).Debug("slot is busy", zap.String("holder", a.Holder), zap.Duration("lease", a.Wait))
	x.busyWait = busyPause(x.busyWait)
	now := time.Now()
	if x.facts.Holder != a.Holder {
		x.facts.Holder, x.busy, x.asked = a.Holder, now, time.Time{}
	}
	c.question(x, a.Holder, now)
	x.term().Suspect(&x.Slot, a.Holder, now.Sub(x.busy))
	if x.term().Lease() > 0 && a.Wait < silentHolder { // else it is proven dead, or keeps its lease
		c.takeovers.ask(x.topic)
	}
	c.schedule.Rest(&x.Slot, x.facts, time.Now().Add(x.busyWait))
}

// busyPause is the pause behind one before another look at a busy slot.
func busyPause(before time.Duration) time.Duration { return min(max(firstBusy, 2*before), lastBusy) }

// unanswered sees to it that the same turn is taken again, whatever the error:
// it may have been executed, and going on with another would lose what it
// reported. It reports whether a person should hear of it. Of a server that is away they
// hear once, by another line. Of turns that get no answer although it is there, or get an
// error, they hear now and then while it lasts.
func (c *takers) unanswered(x *slot, err error) (say bool) {
	x.facts.Failures++
	x.topic.meets(err)
	if errors.Is(err, redis.ErrClosed) && c.schedule.Drop(&x.Slot) {
		return false // Close names it
	}
	cluster.NoteError(c.shift.Requests, c.rdb, err)
	wait := min(firstRepeat<<min(x.facts.Failures-1, 10), lastRepeat)
	say = x.facts.Failures == 1 && !cluster.Unanswered(err) || wait == lastRepeat && x.facts.Failures%10 == 0
	say = !c.away.DoubtAt(x.facts.Server, x.turn.Keys.Store, err) && say
	if say && cluster.Unanswered(err) && c.shift.Background.Err() != nil { // the worker closes, and nobody looks at the server any more
		say = !c.saidSilent.Swap(true)
	}
	c.schedule.Repeat(&x.Slot, x.facts, time.Now().Add(wait/2+rand.N(wait/2)))
	return say
}

// left notes that a slot was left, and wakes the worker that works at it next.
func (c *takers) left(x *slot) {
	if x.Leaving() {
		x.facts.Fence = 0
		c.announcer.Left(x.topic.Qualified, x.Index)
	}
	c.schedule.Left(&x.Slot, x.facts)
}

// finishRefused notes that the turn which was to finish a batch was not the one that did.
//
// A turn that was sent once is refused because the batch was taken over. A turn that was
// repeated may have been executed before, its answer lost, and the slot be another's by
// now. (So it is with every leave whose answer gets lost.) That proves nothing. If the
// batch was taken over after all, so will be the next one.
func finishRefused(x *slot, repeated bool) {
	if repeated {
		logOf(&x.Slot).Info("answers of Redis got lost: the batch was finished, or it was taken over and its messages may be handled again")
		return
	}
	logOf(&x.Slot).Warn("the batch was taken over before it was finished: its messages may be handled again")
	x.term().Overtaken()
}
