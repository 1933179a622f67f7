package poll

import (
	"errors"
	"math/rand/v2"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/cluster"
	"github.com/slotmq/go-rmq/internal/schedule"
	"github.com/slotmq/go-rmq/luascripts"
)

// writeTurns is how many turns are taken in one write.
const writeTurns = 8

const (
	firstRepeat, lastRepeat = 20 * time.Millisecond, time.Second     // between tries of a turn without an answer
	firstBusy, lastBusy     = 50 * time.Millisecond, 5 * time.Second // before another look at a slot that somebody has
	pausedLook              = 5 * time.Second
)

// dispatch has turns taken until the desk closes. Each write is a goroutine of its own, with slots of one
// server: one that hangs holds up no turn at another.
func (d *desk) dispatch() {
	for {
		hands := d.schedule.Next(writeTurns, nil)
		if len(hands) == 0 {
			return
		}
		d.shift.Running.Go(func() { d.turns(hands) })
	}
}

// turns takes the turns of some slots, and does what the answers say.
func (d *desk) turns(hands []schedule.Hand) {
	var asked []*slot
	var cmds []redis.Cmder
	for _, h := range hands {
		x := asSlot(h.Slot)
		if !x.ask(h) {
			d.nobody(x, h)
			continue
		}
		if _, addr, err := cluster.MasterFor(d.shift.Requests, d.cfg.Redis, x.turn.Keys.Store); err == nil {
			x.facts.Server = addr
		}
		asked = append(asked, x)
		cmds = append(cmds, d.scripts.TurnCmd(d.shift.Requests, &x.turn))
	}
	if len(asked) > 0 {
		d.scripts.Exec(d.shift.Requests, cmds...)
	}
	for i, x := range asked {
		a, err := luascripts.TurnAnswer(&x.turn, cmds[i])
		if err != nil {
			d.unanswered(x, err)
			continue
		}
		d.shift.Heard(time.Now())
		d.answer(x, a)
	}
	d.settled()
}

// nobody gives a slot back for which no turn is needed. If there may be something in it, it waits for somebody.
func (d *desk) nobody(x *slot, h schedule.Hand) {
	x.disengage(false)
	if x.Leaving() { // the desk closes
		x.facts.Fence = 0
		d.schedule.Left(&x.Slot, x.facts)
		return
	}
	x.facts.More = true
	d.schedule.Rest(&x.Slot, x.facts, time.Time{})
}

// unanswered sees to it that the same turn is taken again: it may have been executed.
func (d *desk) unanswered(x *slot, err error) {
	x.facts.Failures++
	if errors.Is(err, redis.ErrClosed) && d.schedule.Drop(&x.Slot) {
		x.disengage(true)
		d.unstick(x)
		return
	}
	cluster.NoteError(d.shift.Requests, d.cfg.Redis, err)
	pause := min(firstRepeat<<min(x.facts.Failures-1, 10), lastRepeat)
	if x.facts.Failures > 1 { // others may wait for slots whose servers answer
		x.disengage(true)
		d.stick(x, err)
	}
	if !d.away.Doubt(x.turn.Keys.Store, err) && (x.facts.Failures == 1 && !cluster.Unanswered(err) || x.facts.Failures%32 == 0) {
		d.log.Warn("a turn has no answer and is repeated", zap.String("topic", d.name), zap.Int("slot", x.Index), zap.Error(err))
	}
	d.schedule.Repeat(&x.Slot, x.facts, time.Now().Add(pause/2+rand.N(pause/2)))
}

// answer does what the answer of a slot's turn says.
func (d *desk) answer(x *slot, a luascripts.Answer) {
	d.unstick(x)
	repeated := x.facts.Failures > 0
	x.facts.Open, x.facts.Failures, x.facts.Taken = false, 0, 0
	x.facts.Unavailable = a.Code == luascripts.Busy || a.Code == luascripts.Paused
	x.facts.More = a.Code == luascripts.Empty && a.Wait == 0
	now := time.Now()
	if a.Code != luascripts.Busy {
		d.away.Fence(x.turn.Keys.Store, x.facts.Fence, a.Fence)
		x.facts.Fence, x.facts.Holder = a.Fence, ""
		d.back(x.Index)
	}
	if a.Code == luascripts.Batch || a.Code == luascripts.Busy {
		x.leave = false // the number has grown since, so earlier turns take nothing
	}
	switch a.Code {
	case luascripts.Batch:
		d.took(x, a)
	case luascripts.Number:
		d.schedule.Again(&x.Slot, x.facts, time.Time{})
	case luascripts.Left:
		x.leave = false
		d.sleep(x, x.rest)
	case luascripts.Busy:
		if x.facts.Holder != a.Holder {
			x.facts.Holder, x.busy = a.Holder, 0
		}
		x.busy = busyPause(x.busy)
		d.sleep(x, now.Add(min(x.busy, a.Wait+time.Millisecond)))
	case luascripts.Paused:
		d.quiet(x, now.Add(pausedLook), repeated)
	case luascripts.Empty:
		at := time.Time{}
		if a.Wait >= 0 {
			at = now.Add(a.Wait)
		}
		d.quiet(x, at, repeated)
	}
}

// busyPause is the pause behind one before another look at a slot that somebody has.
func busyPause(before time.Duration) time.Duration { return min(max(firstBusy, 2*before), lastBusy) }

// quiet lets a slot sleep that has nothing to take. If the turn was sent more than once, one of the copies may still
// come to Redis when there is something: so the slot is left first, which makes its number larger.
func (d *desk) quiet(x *slot, at time.Time, repeated bool) {
	if repeated {
		x.leave, x.rest = true, at
		d.schedule.Again(&x.Slot, x.facts, time.Time{})
		return
	}
	d.sleep(x, at)
}

// sleep lets a slot sleep until a time, or until it is woken if that is zero.
func (d *desk) sleep(x *slot, at time.Time) {
	x.disengage(false)
	d.schedule.Rest(&x.Slot, x.facts, at)
}
