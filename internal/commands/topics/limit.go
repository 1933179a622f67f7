package topics

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/commands/frame"
	"github.com/slotmq/go-rmq/internal/protocol/limits"
	"github.com/slotmq/go-rmq/internal/text/humantime"
	"github.com/slotmq/go-rmq/internal/text/wire"
	"github.com/slotmq/go-rmq/internal/text/words"
)

var limit = frame.Command{
	Use:   "limit TOPIC",
	Short: "Slow a topic down for some time",
	Long: `Slow a topic down for some time, in all its workers, at once.

  --rate         messages that begin in a second, minute or hour: all workers
                 of the topic together
  --concurrency  handlers that run at once: in each worker
  --for          after this time the limit ends by itself

A new limit replaces the one before. If the program has a rate of its own, the
smaller one counts. What is being handled goes on, and sends go on, and wait.
Without flags it shows the limit that holds, which rmq stats does, too.`,
	Example: `  rmq limit orders --rate 50/s --concurrency 4 --for 1h
  rmq limit orders
  rmq limit orders --off`,
	Changes: true,
	Flags: func(flags *frame.Flags) frame.Steps {
		l := &limiting{}
		flags.Var(&l.rate, "rate", "messages that begin, as in 50/s, 600/m or 10/h: all workers together")
		flags.IntVar(&l.each, "concurrency", 0, "at most `n` handlers at once in each worker")
		flags.Var(&l.long, "for", "how long, as in 90s, 1h30m or 2d")
		flags.BoolVar(&l.off, "off", false, "end the limit now")
		return frame.Steps{l.check, frame.Connect, frame.AtTopic, l.run}
	},
}

// limitRate is the pace of a topic that is limited.
type limitRate struct{ frame.Pace }

func (r *limitRate) Set(text string) error {
	number, _, _ := strings.Cut(text, "/")
	if n, err := strconv.ParseFloat(number, 64); err == nil && n == 0 {
		return errors.New("nothing at all; to stop a topic, pause it")
	}
	return r.Pace.Set(text)
}

// limiting is one call of rmq limit.
type limiting struct {
	rate limitRate
	each int
	long frame.Span
	off  bool
	sets bool // a limit, and does not show or end one
}

func (l *limiting) check(_ context.Context, c *frame.Call) error {
	l.sets = c.Changed("rate") || c.Changed("concurrency")
	long, given := time.Duration(l.long), c.Changed("for")
	switch {
	case l.off && (l.sets || given):
		return frame.Misused("--off ends a limit; it stands alone")
	case l.sets && !given:
		return frame.Misused("--for is missing: how long the limit is to hold, as in --for 1h")
	case given && !l.sets:
		return frame.Misused("--rate and --concurrency are missing: what to limit, as in --rate 50/s")
	case c.Changed("concurrency") && l.each < 1:
		return frame.Misused("--concurrency is %d; it must be 1 or more; to stop a topic, pause it", l.each)
	case given && (long < time.Second || long > limits.Span):
		return frame.Misused("--for is %s; it must be from 1s to 10 years", long)
	}
	return nil
}

func (l *limiting) run(ctx context.Context, c *frame.Call) (err error) {
	i, topic, name := c.Inspector, c.Topic.Name, words.Legible(c.Topic.Name)
	if l.off {
		was, err := i.Unlimit(ctx, topic)
		if err != nil {
			return err
		}
		line := "the limit is over"
		if !was {
			line = "nothing to do, there was no limit"
		}
		return c.Answer(wire.Unlimited{Topic: topic, Changed: was}, "%s: %s", name, line)
	}
	p := inspector.Policy{Rate: float64(l.rate.Pace), Concurrency: l.each, For: time.Duration(l.long)}
	text := p.String()
	if l.sets {
		err = i.Limit(ctx, topic, p)
	} else if p, err = i.Policy(ctx, topic); err == nil {
		text = left(p)
	}
	if err != nil {
		return err
	}
	return c.Answer(wire.Limited{Topic: topic, Limit: wire.LimitOf(p)}, "%s: %s", name, text)
}

// left is a limit that holds in words, for about how long.
func left(p inspector.Policy) string {
	p.For = humantime.Round(p.For)
	return p.String()
}
