package producer

import (
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/servers/cluster"
)

// wakesApart is the least time between two publications of a writer that is always busy.
// When messages come that fast, the workers hardly sleep, and each publication costs them
// and Redis as much as a few messages.
const wakesApart = time.Millisecond

// announce plans the wake-ups of a flight that is about to be written. They stand behind its
// commands in the same write: a worker that looked earlier would find nothing. One for a message
// that is not stored after all costs a look. Where sends merge that would be most of them, so
// these wait for their answers. So do those whose delay is known only when the server has answered.
func (to *writer) announce(f *flight) {
	for i := range f.lanes {
		l := &f.lanes[i]
		if l.topic.Kind.FirstWins() || l.topic.Kind.Timed() && !to.clock.sure() {
			continue
		}
		l.announced = true
		to.planWake(f, l, func(int32) bool { return true })
	}
}

// unannounce plans the wake-ups of a flight again, because some were sent before all of it
// was stored.
func (f *flight) unannounce() {
	for i := range f.lanes {
		f.lanes[i].announced = false
	}
}

// planWakes plans the wake-ups of a flight that has its answers, but for those that were
// announced. They go with a later write, or alone.
func (to *writer) planWakes(f *flight) {
	for i := range f.lanes {
		l := &f.lanes[i]
		if l.announced {
			continue
		}
		to.planWake(f, l, func(e int32) bool {
			if f.errs != nil && f.errs[e] != nil && f.errs[e] != ErrNotReplicated && !errors.Is(f.errs[e], ErrUncertain) {
				return false // not stored
			}
			if f.outcomes[e] == Duplicate || f.scores[e] == 0 {
				return false // what it is a duplicate of has been announced; with score 0 nothing waits
			}
			return !l.topic.Kind.FirstWins() || f.outcomes[e] != Merged || f.extends(e) // what it merged into has been announced
		})
	}
}

// planWake plans the wake-up of a slot, for when the earliest of its new messages is due.
func (to *writer) planWake(f *flight, l *lane, isNew func(entry int32) bool) {
	due, found := int64(0), false
	f.each(l, func(e int32) {
		if isNew(e) && (!found || f.scores[e] < due) {
			due, found = f.scores[e], true
		}
	})
	if !found {
		return
	}
	in := time.Duration(0)
	if l.topic.Kind.Timed() {
		if now, err := to.clock.now(to.run, l.store()); err == nil {
			in = time.UnixMilli(due).Sub(now.at)
		}
	}
	to.wakes[l.topic] = protocol.AppendWake(to.wakes[l.topic], l.slot, in)
}

// How long a writer of a Cluster publishes to all masters: after no worker got a wake-up at its own
// master, and after slots have moved, until the workers have seen that, too.
const unheardFor, movedFor = 100 * time.Millisecond, time.Minute

// viewEvery is how often a writer that publishes asks where the slots of the Cluster are, as workers do.
const viewEvery = 5 * time.Second

// near is where workers get the wake-ups of a topic that are published at one master.
type near struct {
	slot   int       // the lowest that the topic has there
	widely time.Time // until then they are published to all masters
}

// publication is a wake-up on its way.
type publication struct {
	*redis.IntCmd
	topic *topic
	near  bool // it is heard at one master only
}

// publications are the commands that publish what was planned.
func (to *writer) publications() []publication {
	all := make([]publication, 0, len(to.wakes))
	now := time.Now()
	if len(to.wakes) > 0 {
		to.lastPublished = now // not when they arrive: that may take longer than wakesApart
	}
	for t, payload := range to.wakes {
		command, channel := "publish", protocol.WakeChannel(t.name)
		slot, near := t.nearest(to, now)
		if near {
			command, channel = "spublish", protocol.NearChannel(t.name, slot)
		}
		all = append(all, publication{redis.NewIntCmd(to.run, command, channel, payload), t, near})
	}
	return all
}

// nearest returns the slot on whose channel the topic's wake-ups from a writer are heard, if one master is enough.
func (t *topic) nearest(to *writer, now time.Time) (slot int, ok bool) {
	if now.Sub(to.viewed) > viewEvery {
		to.viewed = now
		cluster.Reload(to.run, to.rdb) // in the background: a later publication has it
	}
	if slot, ok = t.lowestAt(to); !ok {
		return 0, false
	}
	n, known := to.near[t]
	if known && n.slot != slot {
		n.widely = now.Add(movedFor)
	}
	n.slot = slot
	to.near[t] = n
	return slot, now.After(n.widely) && now.Sub(epoch) > time.Duration(t.widely.Load())
}

// published forgets the wake-ups that Redis has taken, and those that it never will. The
// others go with the next write; those that no worker got at one master then go to all. A
// lost wake-up fails no send: the workers' safety look finds the messages.
func (to *writer) published(all []publication) {
	for _, x := range all {
		err := x.Err()
		reply := redis.Error(nil)
		if x.near && (err == nil && x.Val() == 0 || errors.As(err, &reply)) {
			cluster.NoteError(to.run, to.rdb, err)
			n := to.near[x.topic]
			n.widely = time.Now().Add(unheardFor)
			to.near[x.topic], to.silentSince = n, time.Time{}
			continue
		}
		if err == nil {
			to.silentSince = time.Time{}
		} else if to.silentSince.IsZero() {
			to.silentSince = time.Now()
		}
		if err != nil && passes(err) && time.Since(to.silentSince) < to.retryFor && to.run.Err() == nil {
			continue
		}
		if err != nil {
			to.cfg.Logger.Debug("wake-up was not published", zap.String("topic", x.topic.Name), zap.Error(err))
		}
		delete(to.wakes, x.topic)
	}
}
