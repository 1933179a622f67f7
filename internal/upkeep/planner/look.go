package planner

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/checked"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/limits"
	"github.com/slotmq/go-rmq/internal/servers/cluster"
	"github.com/slotmq/go-rmq/internal/upkeep/plan"
)

// look asks about some places, all of one server, and sends what is due there.
func (p *Planner) look(some []place) {
	some = slices.DeleteFunc(slices.Clone(some), func(x place) bool {
		return x.slot != everySlot && !x.topic.Scheduled.Has(x.slot) // it has moved to another worker
	})
	ctx := p.Life.Background
	if len(some) == 0 || ctx.Err() != nil {
		return
	}
	cmds := make([]redis.Cmder, len(some))
	for i, x := range some {
		if x.slot == everySlot {
			cmds[i] = redis.NewStringSliceCmd(ctx, "smembers", x.key())
		} else {
			cmds[i] = p.Scripts.DuePlansCmd(ctx, x.keys(), p.most(x))
		}
	}
	p.Scripts.Exec(ctx, cmds...)
	answered := time.Now()
	var all []*firing
	looks := map[place]time.Time{}
	for i, x := range some {
		if x.slot == everySlot {
			p.noted(x, cmds[i].(*redis.StringSliceCmd))
			continue
		}
		due, err := protocol.DuePlansAnswer(x.keys(), cmds[i])
		if err != nil {
			p.failed(x, err)
			continue
		}
		firings, next := p.decide(x, due)
		all = append(all, firings...)
		if !next.IsZero() {
			looks[x] = answered.Add(next.Sub(due.Now))
		}
	}
	failed := p.fire(ctx, all)
	for x, at := range looks {
		if soon := time.Now().Add(again); failed[x] != nil && at.Before(soon) { // what is due stays due, and more of it may be due at this moment
			at = soon
		}
		p.lookAt(x, at)
	}
}

// noted has those slots of a topic looked at that may have plans, and are this worker's.
func (p *Planner) noted(x place, cmd *redis.StringSliceCmd) {
	slots, err := cmd.Result()
	if err != nil {
		p.failed(x, err)
		return
	}
	var places []place
	for _, text := range slots {
		if slot, err := strconv.Atoi(text); err == nil && x.topic.Scheduled.Has(slot) {
			places = append(places, place{x.topic, slot})
		}
	}
	p.seek(places)
}

// failed has a place looked at again soon, unless Redis has refused. Then the next safety look
// tries again.
func (p *Planner) failed(x place, err error) {
	if p.Life.Background.Err() != nil || errors.Is(err, redis.ErrClosed) {
		return
	}
	cluster.NoteError(p.Life.Background, p.Redis, err)
	p.Log.Log(p.Away.Level(x.key(), err), "plans cannot be read or sent; it is tried again", zap.String("topic", x.topic.Name), zap.Int("slot", x.slot), zap.Error(err))
	if cluster.Unanswered(err) || cluster.Moved(err) {
		p.lookAt(x, time.Now().Add(again))
	}
}

// most is how many occurrences of a slot are asked for. Those that cannot be read stay due for ever,
// and must not keep others from being told.
func (p *Planner) most(x place) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return dueAtOnce + len(x.topic.unread[x.slot])
}

// firing is an occurrence, and what is to become of it.
type firing struct {
	place
	protocol.Occurrence
	next    int64  // ms of the one after it; 0: there is none
	content string // empty: this one is left out
	score   int64
	merged  bool // one waits already
}

// decide says what is to become of the occurrences that are due in a slot, and when the slot is to
// be looked at next, by the clock of the server.
func (p *Planner) decide(x place, due protocol.Due) (all []*firing, next time.Time) {
	next = due.Next
	unread := unreadable{}
	for _, o := range due.List {
		f, after, err := x.firing(o, due.Now)
		if err != nil {
			unread[o.Name] = o.Rule
			p.sayUnread(x, o, err)
			continue
		}
		all = append(all, f)
		if !after.IsZero() && (next.IsZero() || after.Before(next)) {
			next = after
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if delete(x.topic.unread, x.slot); len(unread) > 0 {
		x.topic.unread[x.slot] = unread
	}
	return all, next
}

// firing reads the rule of an occurrence, and computes the one after it.
func (x place) firing(o protocol.Occurrence, now time.Time) (f *firing, next time.Time, err error) {
	since, text, known := plan.Split(o.Rule)
	if !known {
		return nil, next, errors.New("it has no rule, or one without the moment from which it counts")
	}
	rule, err := plan.Read(o.Name, text)
	if err == nil { // a person may have written what no sender could
		err = checked.Recurring(x.topic.Topic, rule.Message(), limits.ContentBytes)
	}
	if err != nil {
		return nil, next, err
	}
	at, next := rule.Due(since.Base, o.At, now)
	f = &firing{place: x, Occurrence: o}
	if !next.IsZero() {
		f.next = next.UnixMilli()
	}
	if !at.IsZero() {
		f.content, f.score = rule.Message().Content, at.UnixMilli()
		if !x.topic.Kind.Timed() {
			f.score = rule.Message().Priority
		}
	}
	return f, next, nil
}

// sayUnread logs that a rule cannot be read, once. It may be one of a newer program, or of a zone
// that this machine does not know: other workers may be able to.
func (p *Planner) sayUnread(x place, o protocol.Occurrence, err error) {
	p.mu.Lock()
	said, known := x.topic.unread[x.slot][o.Name]
	p.mu.Unlock()
	if !known || said != o.Rule {
		p.Log.Error("this worker cannot read the rule of a plan, and leaves it to others",
			zap.String("topic", x.topic.Name), zap.Int("slot", x.slot), zap.String("plan", o.Name), zap.Error(err))
	}
}

// Settle is for tests that stop the clock: it sends all that is due, and returns.
func (p *Planner) Settle(ctx context.Context) error {
	for _, t := range p.of {
		noted, err := p.Redis.SMembers(ctx, protocol.PlansKey(t.Qualified)).Result()
		if err != nil {
			return err
		}
		for _, text := range noted {
			slot, _ := strconv.Atoi(text)
			if err := p.settle(ctx, place{t, slot}); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *Planner) settle(ctx context.Context, x place) error {
	for x.topic.Scheduled.Has(x.slot) {
		cmd := p.Scripts.DuePlansCmd(ctx, x.keys(), p.most(x))
		p.Scripts.Exec(ctx, cmd)
		due, err := protocol.DuePlansAnswer(x.keys(), cmd)
		if err != nil {
			return err
		}
		all, _ := p.decide(x, due)
		if len(all) == 0 {
			break
		}
		if err := p.fire(ctx, all)[x]; err != nil {
			return err
		}
	}
	return nil
}
