package commands

import (
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
	if a.json {
		for _, t := range topics {
			if err := a.object(wire.TopicOf(t)); err != nil {
				return err
			}
		}
		return nil
	}
	if len(topics) == 0 {
		a.noTopics()
		return nil
	}
	table := a.table("topic", "kind", "slots#", "shared by", "created")
	for _, t := range topics {
		name := words.Legible(t.Name)
		if t.Kind == 0 {
			what := "no definition, see " + a.Name + " doctor"
			if a.blind(t.Name) {
				what = "its server does not answer"
			}
			table.row(name, painted{what, red})
			continue
		}
		kind, sharing, created := t.Kind.String(), t.Sharing, ""
		if t.Literal {
			kind += ", literal"
		}
		if t.Notes {
			kind += ", notes"
		}
		if sharing == "" {
			sharing = "no worker yet"
		}
		if !t.Created.IsZero() {
			created = moment(t.Created)
		}
		table.row(name, kind, t.Slots, sharing, created)
	}
	return table.end()
}

// noTopics says so, since an empty table might be taken for a failure.
func (a *app) noTopics() {
	if ns := a.space(); ns != "" {
		a.say("no topics in namespace %s yet: nothing was sent there, and no worker has started", words.Legible(ns))
		return
	}
	a.say("no topics yet: nothing was sent, and no worker has started (or is a --namespace missing?)")
}
