package commands

import (
	"cmp"

	"github.com/spf13/cobra"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/wire"
	"github.com/slotmq/go-rmq/internal/words"
)

func (a *app) topicsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "topics",
		Short: "List the topics and how they are defined",
		Long: `List the topics and how they are defined, by name.

A topic is there from its first message, or its first worker, on. A misspelt one
is a topic of its own: it has messages, and no worker.`,
		Example: "  rmq topics",
		RunE: func(cmd *cobra.Command, _ []string) error {
			i, err := a.inspector(cmd.Context())
			if err != nil {
				return err
			}
			topics, err := i.Topics(cmd.Context())
			if err := a.partly(err); err != nil {
				return err
			}
			return a.showTopics(topics)
		},
	}
}

func (a *app) showTopics(topics []inspector.Topic) error {
	if len(topics) == 0 && !a.json {
		a.noTopics()
		return nil
	}
	_, err := show(a, list[inspector.Topic]{
		all: each(topics), heads: []string{"topic", "kind", "slots#", "shared by", "created"},
		object: func(t inspector.Topic) any { return wire.TopicOf(t) }, row: func(t inspector.Topic) []any { return topicRow(a, t) },
	})
	return err
}

func topicRow(a *app, t inspector.Topic) []any {
	name := words.Legible(t.Name)
	if t.Kind == 0 {
		what := "no definition, see " + a.Name + " doctor"
		if a.blind(t.Name) {
			what = "its server does not answer"
		}
		return []any{name, painted{what, red}}
	}
	kind, created := t.Kind.String(), ""
	if t.Literal {
		kind += ", literal"
	}
	if t.Notes {
		kind += ", notes"
	}
	if !t.Created.IsZero() {
		created = moment(t.Created)
	}
	return []any{name, kind, t.Slots, cmp.Or(t.Sharing, "no worker yet"), created}
}

// noTopics says so, since an empty table might be taken for a failure.
func (a *app) noTopics() {
	if ns := a.space(); ns != "" {
		a.say("no topics in namespace %s yet: nothing was sent there, and no worker has started", words.Legible(ns))
		return
	}
	a.say("no topics yet: nothing was sent, and no worker has started (or is a --namespace missing?)")
}
