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
killed, is deleted, too. A journal notes the end of all others; for these,
rmqd journal reconcile --accept does.`,
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
	s, err := i.Stats(ctx, topic)
	if err != nil {
		return err
	}
	plans, err := i.Plans(ctx, topic)
	if err != nil {
		return err
	}
	name := words.Legible(topic)
	if s.Workers < 0 {
		return failed("the workers of %s are known to ZooKeeper: give --zk, to see that there is none", name)
	}
	if s.Workers+s.Takers > 0 {
		return failed("%s and %s take from %s: stop them first", words.Count(s.Workers, "worker"), words.Count(s.Takers, "gateway"), name)
	}
	gone := wire.TopicDeleted{Topic: topic, Messages: s.Waiting + s.InFlight + s.Retrying + s.Dead, Plans: len(plans)}
	with := fmt.Sprintf("%s (%d in flight) and %s", words.Count(gone.Messages, "message"), s.InFlight, words.Count(gone.Plans, "plan"))
	if err := d.question(ctx, yes, fmt.Sprintf("delete topic %s for ever, with %s", name, with), "? Type "+name+": ", func(answer string) bool { return answer == name }); err != nil {
		return err
	}
	if _, err := i.Purge(ctx, topic, inspector.PurgeQuery{}, inspector.PurgeOptions{}); err != nil {
		return err
	}
	for _, p := range plans {
		if _, err := i.StopPlan(ctx, topic, p.Name); err != nil {
			return err
		}
	}
	r := removal.Topic{Name: d.qualified(topic), Slots: s.Topic.Slots, InFlight: s.InFlight > 0}
	err = r.Delete(ctx, d.rdb)
	if cfg := d.zooKeeperConfig(); err == nil && cfg.Servers != nil {
		err = slots.ZooKeeper(cfg).Keeper().RemoveTopic(ctx, d.space(), topic)
	}
	if err != nil {
		return fmt.Errorf("delete topic %s: %w", topic, err)
	}
	if d.json {
		return d.object(gone)
	}
	d.say("topic %s is deleted, with %s", name, with)
	return nil
}
