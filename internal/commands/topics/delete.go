package topics

import (
	"context"
	"fmt"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/inspector/plans"
	"github.com/slotmq/go-rmq/internal/commands/frame"
	"github.com/slotmq/go-rmq/internal/removal"
	"github.com/slotmq/go-rmq/internal/text/wire"
	"github.com/slotmq/go-rmq/internal/text/words"
	sharing "github.com/slotmq/go-rmq/slots"
)

var topic = frame.Command{Use: "topic", Short: "Delete a topic", Long: "Change a topic as a whole.", Changes: true, Below: []frame.Command{deletion}}

var deletion = frame.Command{
	Use:   "delete TOPIC",
	Short: "Delete a topic and all that is kept of it",
	Long: `Delete a topic for ever: its messages and plans, its pauses and limit, and its
definition, so that it can be defined anew, with another kind or number of
slots. It shows what is there, and asks you to type the topic's name.

It refuses while a worker or gateway takes from the topic. It cannot see
senders: stop them before. If one sends meanwhile, nothing is lost and the topic
stays. What one sends later, without having been started again, waits unseen
until the topic is defined again. What is in flight, since its worker was
killed, is deleted, too, when its lease is over; with ZooKeeper a worker must
finish it first. A journal notes the end of all others; for these, rmqd journal
reconcile --accept does.`,
	Example: "  rmq topic delete oders",
	Tells:   true,
	Flags: func(flags *frame.Flags) frame.Steps {
		d := &deleting{}
		flags.Yes(&d.yes)
		return frame.Steps{frame.Connect, d.idle, d.ask, d.idle, d.run} // a question may stand for long
	},
}

// deleting is one call of rmq topic delete.
type deleting struct {
	yes   bool
	holds inspector.Stats
	plans []plans.Plan
}

// idle looks at what the topic holds, and refuses if somebody takes from it.
func (d *deleting) idle(ctx context.Context, c *frame.Call) (err error) {
	d.holds, err = c.Inspector.Stats(ctx, c.Args[0])
	switch s, name := d.holds, words.Legible(c.Args[0]); {
	case err != nil:
		return err
	case s.Workers < 0:
		return frame.Failed("it is not known who works at %s: it %s", name, unseen(c, s.Topic))
	case s.Workers+s.Takers > 0:
		return frame.Failed("%s and %s take from %s: stop them first", words.Count(s.Workers, "worker"), words.Count(s.Takers, "gateway"), name)
	}
	return nil
}

func (d *deleting) ask(ctx context.Context, c *frame.Call) (err error) {
	if d.plans, err = c.Inspector.Plans().List(ctx, c.Args[0]); err != nil {
		return err
	}
	name, all := words.Legible(c.Args[0]), d.holds.Waiting+d.holds.InFlight+d.holds.Retrying+d.holds.Dead
	return c.Question(ctx, d.yes, "delete topic "+name+" for ever, with "+d.with(all), "? Type "+name+": ", func(answer string) bool { return answer == name })
}

// with is what is deleted with the topic.
func (d *deleting) with(messages int) string {
	return fmt.Sprintf("%s (%d in flight) and %s", words.Count(messages, "message"), d.holds.InFlight, words.Count(len(d.plans), "plan"))
}

func (d *deleting) run(ctx context.Context, c *frame.Call) error {
	topic := c.Args[0]
	rdb, err := c.Redis(ctx)
	if err != nil {
		return err
	}
	deleted := removal.Topic{Name: c.Qualified(topic), Slots: d.holds.Topic.Slots, InFlight: d.holds.InFlight > 0}
	if err := deleted.InTheWay(ctx, rdb); err != nil {
		return fmt.Errorf("delete topic %s: %w", topic, err)
	}
	purged, err := c.Inspector.Purge(ctx, topic, inspector.PurgeQuery{}, inspector.PurgeOptions{})
	if err != nil {
		return err
	}
	for _, p := range d.plans {
		if _, err := c.Inspector.Plans().Stop(ctx, topic, p.Name); err != nil {
			return err
		}
	}
	if cfg := c.ZooKeeper(); cfg.Servers != nil { // first, since without a definition it could not be repeated
		err = sharing.ZooKeeper(cfg).Keeper().RemoveTopic(ctx, c.Namespace(), topic)
	}
	if err == nil {
		err = deleted.Delete(ctx, rdb)
	}
	if err != nil {
		return fmt.Errorf("delete topic %s: %w", topic, err)
	}
	all := purged.Total() + purged.Lost + d.holds.InFlight
	return c.Answer(wire.TopicDeleted{Topic: topic, Messages: all, Plans: len(d.plans)}, "topic %s is deleted, with %s", words.Legible(topic), d.with(all))
}
