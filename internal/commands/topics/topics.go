package topics

import (
	"cmp"
	"context"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/commands/frame"
	"github.com/slotmq/go-rmq/internal/text/wire"
	"github.com/slotmq/go-rmq/internal/text/words"
)

// Commands are those about topics.
var Commands = []frame.Command{topics, stats, slots, workers, verify, doctorCommand, pause, resume, limit, topic}

var topics = frame.Command{
	Use:   "topics",
	Short: "List the topics and how they are defined",
	Long: `List the topics and how they are defined, by name.

A topic is there from its first message, or its first worker, on. A misspelt one
is a topic of its own: it has messages, and no worker.`,
	Example: "  rmq topics",
	Steps: frame.Steps{frame.Connect, func(ctx context.Context, c *frame.Call) error {
		all, err := c.Topics(ctx)
		switch {
		case err != nil:
			return err
		case len(all) == 0 && !c.JSON:
			none(c)
			return nil
		}
		_, err = frame.List[inspector.Topic]{
			All: frame.Each(all), Heads: []string{"topic", "kind", "slots#", "shared by", "created"},
			Object: func(t inspector.Topic) any { return wire.TopicOf(t) }, Row: func(t inspector.Topic) []any { return row(c, t) },
		}.On(c.Page)
		return err
	}},
}

func row(c *frame.Call, t inspector.Topic) []any {
	name := words.Legible(t.Name)
	if t.Kind == 0 {
		what := "no definition, see " + c.Name + " doctor"
		if c.Blind(t.Name) {
			what = "its server does not answer"
		}
		return []any{name, frame.Red.Of(what)}
	}
	kind, created := t.Kind.String(), ""
	if t.Literal {
		kind += ", literal"
	}
	if t.Notes {
		kind += ", notes"
	}
	if !t.Created.IsZero() {
		created = frame.Moment(t.Created)
	}
	return []any{name, kind, t.Slots, cmp.Or(t.Sharing, "no worker yet"), created}
}

// none says so, since an empty table might be taken for a failure.
func none(c *frame.Call) {
	if ns := c.Namespace(); ns != "" {
		c.Say("no topics in namespace %s yet: nothing was sent there, and no worker has started", words.Legible(ns))
		return
	}
	c.Say("no topics yet: nothing was sent, and no worker has started (or is a --namespace missing?)")
}

// unseen is why the workers of a topic are not seen, and what shows them.
func unseen(c *frame.Call, t inspector.Topic) string {
	asked := c.ZooKeeper().Servers != nil
	switch {
	case t.Foreign && t.Namespace == "" && asked:
		return "is of no namespace: without --namespace its workers are seen"
	case t.Foreign && t.Namespace == "":
		return "is of no namespace: --zk, without --namespace, shows its workers"
	case t.Foreign && asked:
		return "is of namespace " + t.Namespace + ": --namespace " + t.Namespace + " shows its workers"
	case t.Foreign:
		return "is of namespace " + t.Namespace + ": --zk and --namespace " + t.Namespace + " show its workers"
	case asked:
		return "is shared by ZooKeeper, which does not answer: " + c.Name + " doctor says why"
	}
	return "is shared by ZooKeeper: --zk shows its workers"
}
