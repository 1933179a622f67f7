package inspector

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/byhand"
	"github.com/slotmq/go-rmq/internal/protocol/limits"
	"github.com/slotmq/go-rmq/internal/protocol/script"
	"github.com/slotmq/go-rmq/internal/text/humantime"
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
	if err := given(ctx, "limit topic "+topic); err != nil {
		return err
	}
	if err := p.validate(); err != nil {
		return fmt.Errorf("limit topic %s: %w", topic, err)
	}
	_, err := i.limit(ctx, topic, protocol.Policy{Rate: p.Rate, Concurrency: p.Concurrency, Left: p.For})
	return err
}

// Unlimit ends the limit of a topic, and reports whether there was one.
func (i *Inspector) Unlimit(ctx context.Context, topic string) (was bool, err error) {
	if err := given(ctx, "end the limit of topic "+topic); err != nil {
		return false, err
	}
	return i.limit(ctx, topic, protocol.Policy{})
}

func (i *Inspector) limit(ctx context.Context, topic string, p protocol.Policy) (before bool, err error) {
	t, err := i.Topic(ctx, topic)
	if err != nil {
		return false, err
	}
	if before, err = byhand.Limit(ctx, i.rdb, i.qualified(t.Name), p); err != nil {
		return false, i.explain(err)
	}
	i.publish(ctx, t, 0, []byte(protocol.PolicyChanged))
	return before, nil
}

// Policy returns the limit that holds for the workers of a topic; the zero Policy if there is
// none.
func (i *Inspector) Policy(ctx context.Context, topic string) (Policy, error) {
	if err := given(ctx, "read the limit of topic "+topic); err != nil {
		return Policy{}, err
	}
	t, err := i.Topic(ctx, topic)
	if err != nil {
		return Policy{}, err
	}
	return i.policy(ctx, t)
}

func (i *Inspector) policy(ctx context.Context, t Topic) (Policy, error) {
	name := i.qualified(t.Name)
	key := protocol.PolicyKey(name)
	var held protocol.Policy
	err := i.masters.silent(ctx, i.rdb, []string{key})[0]
	if err == nil {
		cmd := i.scripts.PolicyCmd(ctx, name)
		script.Exec(ctx, i.rdb, cmd)
		held, err = protocol.PolicyAnswer(name, cmd)
	}
	failed := failures{i: i}
	if err := failed.add(ctx, t.Name, -1, key, i.explain(err)); err != nil {
		return Policy{}, err
	}
	return Policy{held.Rate, held.Concurrency, held.Left}, failed.err()
}

// String is the limit in words: 50/s, 4 handlers in each worker, for 59m58s.
func (p Policy) String() string {
	var parts []string
	if p.Rate > 0 {
		parts = append(parts, humantime.Rate(p.Rate))
	}
	if p.Concurrency > 0 {
		parts = append(parts, plural(p.Concurrency, "handler")+" in each worker")
	}
	if parts == nil {
		return "no limit"
	}
	return strings.Join(append(parts, "for "+humantime.Duration(p.For)), ", ")
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

// policyOdd says what is wrong with the stored rate, concurrency and until of a limit, or
// nothing. A worker reads what cannot be a limit as none.
func policyOdd(values []any) string {
	text := func(n int) string { s, _ := values[n].(string); return s }
	rate, concurrency, until := text(0), text(1), text(2)
	if rate+concurrency+until == "" { // there is none
		return ""
	}
	if r, err := strconv.ParseFloat(rate, 64); rate != "" && (err != nil || !limits.Rate(r)) {
		return fmt.Sprintf("has rate %.40q", rate)
	}
	if n, err := strconv.Atoi(concurrency); concurrency != "" && (err != nil || n < 1) {
		return fmt.Sprintf("has concurrency %.40q", concurrency)
	}
	if _, err := strconv.ParseInt(until, 10, 64); err != nil {
		return fmt.Sprintf("has until %.40q", until)
	}
	return ""
}
