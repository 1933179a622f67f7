package consumer

import (
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/cluster"
	"github.com/slotmq/go-rmq/internal/schedule"
	"github.com/slotmq/go-rmq/luascripts"
)

// Two turners keep Redis busy while one of them reads answers; more add
// nothing. Each takes the turns of several slots in one write.
const (
	turners    = 2
	writeTurns = 8
)

// Between repetitions of a turn without an answer, and before another look at
// a slot that is busy, the waiting doubles between these.
const (
	firstRepeat, lastRepeat = 20 * time.Millisecond, time.Second
	firstBusy, lastBusy     = 50 * time.Millisecond, 500 * time.Millisecond
	pausedLook              = 5 * time.Second
)

// On a Cluster, a turner whose write takes longer than slowWrite is replaced by
// another one, and ends with its write: so a node that hangs does not hold up
// the slots of the others.
const slowWrite = 200 * time.Millisecond

// turn takes turns until the schedule is closed.
func (c *Consumer) turn() {
	many := cluster.IsCluster(c.rdb)
	var (
		hands []schedule.Hand
		cmds  []redis.Cmder
	)
	for {
		hands = c.schedule.Next(writeTurns, hands[:0])
		if len(hands) == 0 {
			return
		}
		begin := time.Now()
		cmds = cmds[:0]
		for _, h := range hands {
			x := asSlot(h.Slot)
			x.ask(c, h)
			x.sent = begin
			cmds = append(cmds, c.scripts.TurnCmd(c.requests, &x.turn))
		}
		replaced := false
		if many {
			replaced = c.execWatched(hands, cmds)
		} else {
			c.scripts.Exec(c.requests, cmds...)
		}
		small, taken, unanswered := 0, 0, 0
		var why error
		for i, h := range hands {
			x := asSlot(h.Slot)
			a, err := luascripts.TurnAnswer(&x.turn, cmds[i])
			taken += len(a.Contents)
			if !filled(len(a.Contents), x.turn.Count) {
				small++
			}
			if err == nil {
				c.answer(x, a)
			} else if c.unanswered(x, err) {
				unanswered++
				why = err
			}
		}
		if why != nil { // once for all of them: it is nearly always the server
			c.log.Warn("turns have no answer and are repeated", zap.Int("slots", unanswered), zap.Error(why))
		}
		clear(cmds) // which have answers, and these what was large in them
		if replaced {
			return
		}
		c.pace.rest(small, taken, time.Since(begin))
	}
}

// execWatched is Exec on a Cluster, and reports whether another turner has
// taken this one's place meanwhile.
func (c *Consumer) execWatched(hands []schedule.Hand, cmds []redis.Cmder) (replaced bool) {
	for _, h := range hands {
		x := asSlot(h.Slot)
		if server := c.locate(x); server != "" {
			x.facts.Server = server
		}
	}
	var mu sync.Mutex
	over := false
	timer := time.AfterFunc(slowWrite, func() {
		mu.Lock()
		defer mu.Unlock()
		if !over {
			replaced = true
			c.running.Go(c.turn)
		}
	})
	stop := cluster.WhileSlow(c.requests, c.rdb)
	c.scripts.Exec(c.requests, cmds...)
	stop()
	timer.Stop()
	mu.Lock()
	defer mu.Unlock()
	over = true
	return replaced
}

// locate returns which server of a Cluster a slot is on, or nothing if that is not known.
func (c *Consumer) locate(x *slot) string {
	_, addr, _ := cluster.MasterFor(c.requests, c.rdb, x.turn.Keys.Store)
	return addr
}

// locateAll notes where the slots are before the first turns, so that a server which hangs
// holds up no turn at another one.
func (c *Consumer) locateAll() {
	if !cluster.IsCluster(c.rdb) {
		return
	}
	for _, t := range c.topics {
		for i := range t.Slots {
			if _, addr, err := cluster.MasterFor(c.requests, c.rdb, luascripts.StoreKey(t.name, i)); err == nil {
				c.schedule.Locate(t.scheduled, i, addr)
			}
		}
	}
}

// answer does what the answer of a slot's turn says.
func (c *Consumer) answer(x *slot, a luascripts.Answer) {
	if x.facts.Failures > 0 {
		c.logOf(x).Info("turns are answered again", zap.Int("repeated", x.facts.Failures))
	}
	leaving, held, repeated := x.turn.Count == 0, x.facts.Held, x.facts.Failures > 0
	x.answered()
	if held && (a.Code == luascripts.Number || a.Code == luascripts.Busy) {
		c.refused(x, repeated)
	}
	x.facts.Refused = a.Code == luascripts.Busy || a.Code == luascripts.Paused
	if a.Code != luascripts.Batch && a.Code != luascripts.Number {
		x.empty()
	}
	if a.Code != luascripts.Busy {
		x.facts.Fence = a.Number
		x.patience, x.facts.Holder = 0, ""
	}
	switch a.Code {
	case luascripts.Batch:
		c.handle(x, a)
	case luascripts.Left:
		c.gone(x)
	case luascripts.Number:
		if leaving {
			c.gone(x)
		} else {
			c.schedule.Again(&x.Slot, x.facts, time.Time{})
		}
	case luascripts.Busy:
		if leaving {
			c.gone(x)
			return
		}
		c.logOf(x).Debug("slot is busy", zap.String("holder", a.Holder), zap.Duration("lease", a.Wait))
		x.patience = min(max(firstBusy, 2*x.patience), lastBusy)
		c.suspect(x, a.Holder)
		if x.term().member == nil && a.Wait < silentHolder { // else it is proven dead, or keeps its lease
			c.reckon(x.topic)
		}
		c.schedule.Rest(&x.Slot, x.facts, time.Now().Add(x.patience))
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

// logOf names the slot in every line.
func (c *Consumer) logOf(x *slot) *zap.Logger {
	return x.term().log.With(zap.String("topic", x.topic.Name), zap.Int("slot", x.Index))
}

// unanswered sees to it that the same turn is taken again, whatever the error:
// it may have been executed, and going on with another would lose what it
// reported. It tells whether a person should hear of it: at first, and now and
// then while it lasts.
func (c *Consumer) unanswered(x *slot, err error) (tell bool) {
	x.facts.Failures++
	if errors.Is(err, redis.ErrClosed) && c.schedule.Drop(&x.Slot) {
		return false // Close tells
	}
	cluster.NoteError(c.requests, c.rdb, err)
	wait := firstRepeat
	for i := 1; i < x.facts.Failures && wait < lastRepeat; i++ {
		wait *= 2
	}
	wait = min(wait, lastRepeat)
	tell = x.facts.Failures == 1 || wait == lastRepeat && x.facts.Failures%10 == 0 // before others have the slot in hand
	c.schedule.Repeat(&x.Slot, x.facts, time.Now().Add(wait/2+rand.N(wait/2)))
	return tell
}

// gone notes that a slot was left, and tells whoever works at it next.
func (c *Consumer) gone(x *slot) {
	if x.Leaving() {
		x.facts.Fence = 0
		c.announcing.Go(func() { c.announce(x.topic, x.turn.Keys.Store, luascripts.AppendWake(nil, x.Index, 0)) })
	}
	c.schedule.Left(&x.Slot, x.facts)
}

// announce publishes on the topic's channel, through the server that holds a key,
// because that one has just answered. What gets lost costs only time.
func (c *Consumer) announce(t *topic, key string, payload []byte) {
	server, _, err := cluster.MasterFor(c.requests, c.rdb, key)
	if err == nil {
		err = server.Publish(c.requests, luascripts.WakeChannel(t.name), payload).Err()
	}
	if err != nil {
		c.log.Debug("wake-up was not published", zap.String("topic", t.Name), zap.Error(err))
	}
}
