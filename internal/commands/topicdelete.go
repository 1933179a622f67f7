package commands

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/removal"
	"github.com/slotmq/go-rmq/internal/wire"
	"github.com/slotmq/go-rmq/internal/words"
	"github.com/slotmq/go-rmq/slots"
)

func topicCommand(a *app) *cobra.Command {
	d, yes := topicDeletion{app: a}, false
	cmd := &cobra.Command{
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
		RunE:    func(cmd *cobra.Command, args []string) error { return d.run(cmd.Context(), args[0], yes) },
	}
	asks(cmd, &yes)
	topic := &cobra.Command{Use: "topic", Short: "Delete a topic", Long: "Change a topic as a whole."}
	topic.AddCommand(a.tells(cmd))
	return topic
}

// topicDeletion is one call of rmq topic delete.
type topicDeletion struct{ *app }

func (d topicDeletion) run(ctx context.Context, topic string, yes bool) error {
	i, err := d.inspector(ctx)
	if err != nil {
		return err
	}
	s, err := d.idle(ctx, i, topic)
	if err != nil {
		return err
	}
	plans, err := i.Plans(ctx, topic)
	if err != nil {
		return err
	}
	name := words.Legible(topic)
	with := func(messages int) string {
		return fmt.Sprintf("%s (%d in flight) and %s", words.Count(messages, "message"), s.InFlight, words.Count(len(plans), "plan"))
	}
	all := s.Waiting + s.InFlight + s.Retrying + s.Dead
	if err := d.question(ctx, yes, "delete topic "+name+" for ever, with "+with(all), "? Type "+name+": ", func(answer string) bool { return answer == name }); err != nil {
		return err
	}
	if s, err = d.idle(ctx, i, topic); err != nil { // the question may have stood for long
		return err
	}
	deleted := removal.Topic{Name: d.qualified(topic), Slots: s.Topic.Slots, InFlight: s.InFlight > 0}
	if err := deleted.InTheWay(ctx, d.rdb); err != nil {
		return fmt.Errorf("delete topic %s: %w", topic, err)
	}
	purged, err := i.Purge(ctx, topic, inspector.PurgeQuery{}, inspector.PurgeOptions{})
	if err != nil {
		return err
	}
	for _, p := range plans {
		if _, err := i.StopPlan(ctx, topic, p.Name); err != nil {
			return err
		}
	}
	if cfg := d.zooKeeperConfig(); cfg.Servers != nil { // first, since without a definition nobody could repeat it
		err = slots.ZooKeeper(cfg).Keeper().RemoveTopic(ctx, d.space(), topic)
	}
	if err == nil {
		err = deleted.Delete(ctx, d.rdb)
	}
	if err != nil {
		return fmt.Errorf("delete topic %s: %w", topic, err)
	}
	all = purged.Total() + purged.Lost + s.InFlight
	if d.json {
		return d.object(wire.TopicDeleted{Topic: topic, Messages: all, Plans: len(plans)})
	}
	d.say("topic %s is deleted, with %s", name, with(all))
	return nil
}

// idle is what a topic holds, or an error that says who takes from it.
func (d topicDeletion) idle(ctx context.Context, i *inspector.Inspector, topic string) (inspector.Stats, error) {
	s, err := i.Stats(ctx, topic)
	switch name := words.Legible(topic); {
	case err != nil:
		return s, err
	case s.Workers < 0:
		return s, failed("it is not known who works at %s: it %s", name, d.unseenWhy(s.Topic))
	case s.Workers+s.Takers > 0:
		return s, failed("%s and %s take from %s: stop them first", words.Count(s.Workers, "worker"), words.Count(s.Takers, "gateway"), name)
	}
	return s, nil
}
