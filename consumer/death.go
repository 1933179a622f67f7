package consumer

// Nothing is decided here about deaths: they are reported to a listener. See package verdict.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/logs"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/upkeep/deaths"
	"github.com/slotmq/go-rmq/internal/worker"
	"github.com/slotmq/go-rmq/internal/worker/verdict"
	"github.com/slotmq/go-rmq/message"
)

// Death is a message that is dead: it failed for the last time, its handler gave it up, or
// its workers died with it.
type Death struct {
	Topic   message.Topic
	Slot    int
	Content string
	At      time.Time // by the clock of Redis

	// What is known of the failures since it was sent. It is all zero if another copy of
	// the message has failed meanwhile.
	Attempts     int
	FirstFailure time.Time
	Priority     int64  // it was sent with; 0: not known, or not in a priority topic
	Worker       string // that reported or lost the last delivery
	Reason       string // of the last failure
}

// deathFunc is what ListenDead is given.
type deathFunc func(ctx context.Context, d *Death) error

// ListenDead has f called for each message of topic t that died, at least once, and at first
// for those that are dead already. Call it before Start, once for each topic. The topic must
// have a listener, too: the worker that has a slot reports the deaths in it. So have all
// workers of the topic call ListenDead.
//
// If f returns an error or panics, it is called again after 1 s, then 2 s, and so on up to a minute;
// deaths that came later in the same slot wait. Its context ends after the Timeout of the topic. It is
// called for 16 slots of a topic at the same time, 256 of all topics. A call that ignores its context
// counts as one of those until twice the Timeout is over.
//
// A death is reported right away. If the worker that knew of it died with it, it is reported
// after SafetyLook at the latest, once another has the slot. The death of a message that was
// requeued or deleted before is not reported.
func (c *Consumer) ListenDead(t message.Topic, f func(ctx context.Context, d *Death) error) error {
	fail := func(err error) error { return fmt.Errorf("listen to the dead of topic %s: %w", t.Name, err) }
	if f == nil {
		return fail(errNilListener)
	}
	if err := t.Validate(); err != nil {
		return fail(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.phase != fresh || c.trying != nil {
		return fail(errRunning)
	}
	if c.onDeath[t.Name] != nil {
		return fail(errors.New("its dead have a listener already"))
	}
	c.onDeath[t.Name] = f
	return nil
}

// checkDeaths returns an error if the deaths of a topic are listened to that has no listener.
func (c *Consumer) checkDeaths() error {
	for name := range c.onDeath {
		if !c.listens[name] {
			return fmt.Errorf("topic %s has a listener for its dead and none for its messages", name)
		}
	}
	return nil
}

// makeReporter makes what reports the deaths of topics with a listener to the dead, if there
// are any.
func (w *running) makeReporter(c *Consumer) {
	var topics []*deaths.Topic
	for _, t := range w.topics {
		f := c.onDeath[t.Name]
		if f == nil {
			continue
		}
		topics = append(topics, &deaths.Topic{
			Name: t.Qualified, Scheduled: t.scheduled, Look: t.opts.SafetyLook, Timeout: t.opts.Timeout, Hung: t.opts.hung,
			Report: func(ctx context.Context, slot int, d *protocol.Death) error { return f(ctx, deathOf(t, slot, d)) },
		})
	}
	if topics != nil {
		w.deaths = deaths.New(deaths.Config{
			Needs: w.needs, TimedOut: verdict.ErrTimeout,
			About: func(d *protocol.Death, err error) []zap.Field {
				return aboutDeath(logs.Privacy(c.cfg.HideContents), d, err)
			},
		}, topics)
	}
}

func deathOf(t *topic, slot int, d *protocol.Death) *Death {
	return &Death{
		Topic: t.Topic.Topic, Slot: slot, Content: d.Content, At: d.At,
		Attempts: d.Failure.Attempts, FirstFailure: d.Failure.First, Priority: d.Failure.Priority,
		Worker: d.Failure.Worker, Reason: d.Failure.Reason,
	}
}

// mayHaveKilled reports whether messages may have died by the slot's last turn: because it
// reported that, or because it took another worker's batch over.
func mayHaveKilled(a *worker.Answer) bool {
	return a.Code == protocol.Number || slices.ContainsFunc(a.Slot.Turn.Verdicts, func(v protocol.Verdict) bool { return v.Fate == protocol.Dead })
}
