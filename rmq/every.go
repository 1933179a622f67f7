package rmq

import (
	"context"
	"fmt"

	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/inspector/plans"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/definition"
	"github.com/slotmq/go-rmq/internal/servers/rights"
	"github.com/slotmq/go-rmq/internal/upkeep/plan"
	"github.com/slotmq/go-rmq/message"
)

// Recurring is a message that is sent again and again, and the rule by which it is.
//
//	type Recurring struct {
//		Name      string        // what it is called within its topic: 1 to 200 bytes
//		Content   string        // what is sent, and its identity
//		SlotBasis string        // equal ones are in one slot; Content when empty
//		Priority  int64         // in a topic of priorities: 17 to 2^53 - 1
//		Cron      string        // such as "0 3 * * *" or "@daily"
//		Zone      string        // of Cron, such as "Europe/Berlin"; UTC when empty
//		Delay     time.Duration // from a firing to its first send; 0 to 10 years
//		Period    time.Duration // between the sends of a firing; 100 ms to 10 years
//		Repeat    int           // how many sends follow the first: 0 to 10000
//		From      time.Time     // nothing is sent before
//		Until     time.Time     // nothing is sent after
//		Missed    Missed        // what becomes of times that pass while no worker is there: one message, or MissedSkip
//	}
//
// A firing is each time of Cron. Without Cron there is one: at From, or else at the moment the rule
// was set. It sends Delay after itself, and then Repeat times more, a Period apart. With a Period and
// without Cron, Repeat 0 is without end.
type Recurring = message.Recurring

// MissedSkip is for Recurring.Missed: it leaves out the times that are more than a minute over. Otherwise
// one message is sent for all times that were missed, due at the first of them.
const MissedSkip = message.MissedSkip

// Every has the workers of topic t send a message at the times of a rule. No leader is elected and
// nothing but workers has to run: the worker that has the slot of the message sends it. Each time is
// sent once, and while a message waits the next one merges into it, so at most one copy waits.
//
// Call it at each start of each instance. The client looks each 30 s whether Redis still has the plans that
// it has declared. Those that a Redis lost, which came back empty or with an older state, it sets again.
// What they missed is sent as Missed says, and with it what that Redis does not know was sent.
//
// The same rule again changes nothing, also after its end.
// Another rule with the same name replaces the one before; the log says so. While old and new programs
// run beside each other, the rule that was set last holds. What is due and was not sent by the one
// before is sent by the new one. Then it begins now, unless a plan could stand still where programs are
// started again and again: a Period without a Cron goes on from the last message, and so does a rule of
// which only other fields than its times were changed. If nothing is sent between two changes, the
// times count from the first of them on, and one that has passed since is sent at once.
//
// A rule that is wrong, or can never send anything, is ErrInvalid, and the error names the field.
func (c *Client) Every(ctx context.Context, t Topic, r Recurring) error {
	fail := func(err error) error { return fmt.Errorf("set plan %.60q of topic %s: %w", r.Name, t.Name, err) }
	if err := t.Validate(); err != nil {
		return fail(err)
	}
	rule, err := plan.New(t, r, c.maxContent)
	if err != nil {
		return fail(err)
	}
	if err := mustExist(ctx, c, "set a plan in", t); err != nil {
		return err
	}
	change, err := ask(ctx, c, "set a plan", t, planning, func(ctx context.Context, _ *inspector.Inspector) (plans.Change, error) {
		full, err := definition.Agree(ctx, protocol.New(c.rdb), protocol.Qualify(c.namespace, t.Name), t, definition.Sharing{})
		if err != nil {
			return 0, fail(rights.Explain(err, rights.User(c.rdb)))
		}
		p := plansOf(c.rdb, full, c.namespace)
		set, change, err := p.Set(ctx, rule)
		if err != nil {
			return 0, fail(err)
		}
		c.declared.add(p, set)
		return change, nil
	})
	switch change {
	case plans.Replaced:
		c.log.Warn("a plan has another rule now", zap.String("topic", t.Name), zap.String("plan", r.Name))
	case plans.Unsent:
		c.log.Warn("a plan has another rule now, for the third time or more with nothing sent between: do programs with different rules run beside each other?",
			zap.String("topic", t.Name), zap.String("plan", r.Name))
	case plans.Mended:
		c.log.Warn("a clock that was far ahead has set a plan, or moved it on; it begins now", zap.String("topic", t.Name), zap.String("plan", r.Name))
	}
	return err
}

// planning is what plans need beside sends.
var planning = rights.Need{Plans: true}

// StopEvery ends the plan with a name. What it has sent already is delivered. It does nothing if there
// is no such plan. A topic that no program has used yet is ErrUnknownTopic.
func (c *Client) StopEvery(ctx context.Context, t Topic, name string) error {
	_, err := ask(ctx, c, "stop a plan", t, planning, func(ctx context.Context, i *inspector.Inspector) (bool, error) {
		c.declared.forget(protocol.Qualify(c.namespace, t.Name), name, nil)
		return i.Plans().Stop(ctx, t.Name, name)
	})
	return err
}

// Plans returns the plans of a topic, also those that have ended, in the order of their names.
func (c *Client) Plans(ctx context.Context, t Topic) ([]plans.Plan, error) {
	return ask(ctx, c, "list the plans", t, planning, func(ctx context.Context, i *inspector.Inspector) ([]plans.Plan, error) {
		return i.Plans().List(ctx, t.Name)
	})
}
