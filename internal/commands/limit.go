package commands

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/humantime"
	"github.com/slotmq/go-rmq/internal/limits"
	"github.com/slotmq/go-rmq/internal/wire"
	"github.com/slotmq/go-rmq/internal/words"
)

func (a *app) limitCommand() *cobra.Command {
	var rate limitRate
	var each int
	var long span
	var off bool
	cmd := &cobra.Command{
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
		RunE: func(cmd *cobra.Command, args []string) error {
			flags := cmd.Flags()
			given := func(name string) bool { return flags.Changed(name) }
			sets := given("rate") || given("concurrency")
			switch {
			case off && (sets || given("for")):
				return misused("--off ends a limit; it stands alone")
			case sets && !given("for"):
				return misused("--for is missing: how long the limit is to hold, as in --for 1h")
			case given("for") && !sets:
				return misused("--rate and --concurrency are missing: what to limit, as in --rate 50/s")
			case given("concurrency") && each < 1:
				return misused("--concurrency is %d; it must be 1 or more; to stop a topic, pause it", each)
			case given("for") && (time.Duration(long) < time.Second || time.Duration(long) > limits.Span):
				return misused("--for is %s; it must be from 1s to 10 years", time.Duration(long))
			}
			ctx := cmd.Context()
			i, t, err := a.topic(ctx, args[0])
			if err != nil {
				return err
			}
			switch {
			case off:
				was, err := i.Unlimit(ctx, t.Name)
				if err != nil {
					return err
				}
				return a.unlimited(t, was)
			case sets:
				p := inspector.Policy{Rate: float64(rate.pace), Concurrency: each, For: time.Duration(long)}
				if err := i.Limit(ctx, t.Name, p); err != nil {
					return err
				}
				return a.limited(t, p, p.String())
			}
			p, err := i.Policy(ctx, t.Name)
			if err != nil {
				return err
			}
			return a.limited(t, p, left(p))
		},
	}
	flags := cmd.Flags()
	flags.Var(&rate, "rate", "messages that begin, as in 50/s, 600/m or 10/h: all workers together")
	flags.IntVar(&each, "concurrency", 0, "at most `n` handlers at once in each worker")
	flags.Var(&long, "for", "how long, as in 90s, 1h30m or 2d")
	flags.BoolVar(&off, "off", false, "end the limit now")
	return cmd
}

// left is a limit that holds in words, for about how long.
func left(p inspector.Policy) string {
	p.For = humantime.Round(p.For)
	return p.String()
}

// limited shows the limit that holds for a topic: in JSON, or as words.
func (a *app) limited(t inspector.Topic, p inspector.Policy, text string) error {
	if a.json {
		return a.object(wire.Limited{Topic: t.Name, Limit: wire.LimitOf(p)})
	}
	a.say("%s: %s", words.Legible(t.Name), text)
	return nil
}

// unlimited reports that the limit of a topic is over.
func (a *app) unlimited(t inspector.Topic, was bool) error {
	if a.json {
		return a.object(wire.Unlimited{Topic: t.Name, Changed: was})
	}
	line := "the limit is over"
	if !was {
		line = "nothing to do, there was no limit"
	}
	a.say("%s: %s", words.Legible(t.Name), line)
	return nil
}
