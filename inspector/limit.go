package inspector

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/inspector/internal/ask"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/byhand"
	"github.com/slotmq/go-rmq/internal/protocol/limits"
	"github.com/slotmq/go-rmq/internal/protocol/script"
	"github.com/slotmq/go-rmq/internal/servers/cluster"
	"github.com/slotmq/go-rmq/message"
)

// Policy limits the workers of a topic for some time. It has a Rate, a Concurrency, or both. The
// zero Policy is none.
type Policy struct {
	// Rate is how many messages a second all workers of the topic begin together. It does not
	// raise a rate that they have themselves: the smaller one counts. From 0.001 to 1000000;
	// 0: any number.
	Rate float64

	// Concurrency is how many handlers of the topic run at once in each worker, if that has
	// not fewer anyway. 0: any number.
	Concurrency int

	// For is how long it holds, or still holds: from 1s to 10 years.
	For time.Duration
}

// Limit limits the workers of a topic, at once and in place of the limit that holds. It is over
// after p.For, by the clock of Redis, also if Redis is away by then. Messages that are being
// handled go on. To stop a topic altogether, use Pause.
func (i *Inspector) Limit(ctx context.Context, topic string, p Policy) error {
	if err := ask.Given(ctx, "limit topic "+topic); err != nil {
		return err
	}
	if err := p.validate(); err != nil {
		return fmt.Errorf("limit topic %s: %w", topic, err)
	}
	_, err := limit(ctx, i, "limit topic "+topic, topic, protocol.Policy{Rate: p.Rate, Concurrency: p.Concurrency, Left: p.For})
	return err
}

// Unlimit ends the limit of a topic, and reports whether there was one.
func (i *Inspector) Unlimit(ctx context.Context, topic string) (was bool, err error) {
	return limit(ctx, i, "end the limit of topic "+topic, topic, protocol.Policy{})
}

func limit(ctx context.Context, i *Inspector, operation, topic string, p protocol.Policy) (before bool, err error) {
	t, err := i.w.About(ctx, operation, topic)
	if err != nil {
		return false, err
	}
	if before, err = byhand.Limit(ctx, i.w.Redis, i.w.Qualified(t.Name), p); err != nil {
		return false, i.w.Explain(err)
	}
	i.w.Publish(ctx, t, 0, []byte(protocol.PolicyChanged))
	return before, nil
}

// Policy returns the limit that holds for the workers of a topic; the zero Policy if there is
// none.
func (i *Inspector) Policy(ctx context.Context, topic string) (Policy, error) {
	t, err := i.w.About(ctx, "read the limit of topic "+topic, topic)
	if err != nil {
		return Policy{}, err
	}
	p, err := i.w.Policy(ctx, t)
	return Policy{p.Rate, p.Concurrency, p.Left}, err
}

// String is the limit in words: 50/s, 4 handlers in each worker, for 59m58s.
func (p Policy) String() string {
	return ask.LimitText(protocol.Policy{Rate: p.Rate, Concurrency: p.Concurrency, Left: p.For})
}

func (p Policy) validate() error {
	invalid := func(field string, value any, limit string) error {
		return &message.InvalidError{Field: "Policy." + field, Value: fmt.Sprint(value), Limit: limit}
	}
	switch {
	case p.Rate != 0 && !limits.Rate(p.Rate):
		return invalid("Rate", strconv.FormatFloat(p.Rate, 'g', -1, 64), "from 0.001 to 1000000 a second, or 0 for any number")
	case p.Concurrency < 0:
		return invalid("Concurrency", p.Concurrency, "1 or more, or 0 for any number")
	case p.Rate == 0 && p.Concurrency == 0:
		return invalid("Rate", 0, "set, or Concurrency: without both there is no limit; Unlimit ends one, Pause stops a topic")
	case p.For < time.Second || p.For > limits.Span:
		return invalid("For", p.For, "from 1s to 10 years")
	}
	return nil
}

// Pause stops slots of a topic, nil meaning all: from then on no worker takes anything from
// them. What is in flight is finished. It returns how many were not paused before. If some
// slots cannot be reached, the others are paused all the same, and the error names the slots
// that may not be.
func (i *Inspector) Pause(ctx context.Context, topic string, slots []int) (changed int, err error) {
	return pause(ctx, i, topic, slots, true)
}

// Resume lets slots go on, nil meaning all, and wakes their workers. It returns how many were
// paused. Slots that cannot be reached are reported as by Pause.
func (i *Inspector) Resume(ctx context.Context, topic string, slots []int) (changed int, err error) {
	return pause(ctx, i, topic, slots, false)
}

func pause(ctx context.Context, i *Inspector, topic string, slots []int, pause bool) (changed int, err error) {
	verb := "resume"
	if pause {
		verb = "pause"
	}
	t, err := i.w.About(ctx, verb+" topic "+topic, topic)
	if err != nil {
		return 0, err
	}
	which, err := ask.Chosen(t, slots)
	if err != nil {
		return 0, fmt.Errorf("%s topic %s: %w", verb, topic, err)
	}
	changed, failed, err := pauseEach(ctx, i, t, which, pause)
	switch left := len(which) - len(failed); {
	case err == nil:
		return changed, nil
	case left == 0:
		return 0, fmt.Errorf("%s topic %s: %w", verb, topic, err)
	default:
		word := "slot"
		if len(failed) > 1 {
			word = "slots"
		}
		return changed, fmt.Errorf("%s topic %s: %d of %d slots are %sd; %s %s perhaps not: %w",
			verb, topic, left, len(which), verb, word, ask.Enough(failed, ", "), err)
	}
}

// pauseEach tries all the slots. It returns which ones failed, and the first error. A server
// that does not answer is not asked again.
func pauseEach(ctx context.Context, i *Inspector, t Topic, which []int, pause bool) (changed int, failed []string, first error) {
	gone := map[string]bool{} // by address
	for some := range slices.Chunk(which, ask.PerPipeline) {
		var tried, done []int
		var at []string // which server
		var cmds []redis.Cmder
		for _, slot := range some {
			k := i.w.Keys(t.Name, slot)
			_, addr, _ := cluster.MasterFor(ctx, i.w.Redis, k.Meta)
			if gone[addr] {
				failed = append(failed, strconv.Itoa(slot))
				continue
			}
			tried, at, cmds = append(tried, slot), append(at, addr), append(cmds, byhand.PauseCmd(ctx, k, pause))
		}
		script.Exec(ctx, i.w.Redis, cmds...)
		for n, slot := range tried {
			yes, _, err := byhand.PauseAnswer(i.w.Keys(t.Name, slot), cmds[n].(*redis.StringSliceCmd))
			var reply redis.Error
			switch {
			case err != nil:
				gone[at[n]] = gone[at[n]] || !errors.As(err, &reply)
				failed = append(failed, strconv.Itoa(slot))
				first = cmp.Or(first, i.w.Explain(err))
				continue
			case yes:
				changed++
			}
			done = append(done, slot)
		}
		if !pause {
			i.w.Wake(ctx, t, done, 0)
		}
	}
	return changed, failed, first
}
