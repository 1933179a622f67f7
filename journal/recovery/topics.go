package recovery

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/slotmq/go-rmq/internal/ledger"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/definition"
	"github.com/slotmq/go-rmq/internal/servers/rights"
	"github.com/slotmq/go-rmq/message"
)

// topics are those of the namespace that the journal knows, or some of them by their names.
func (r *Recovery) topics(ctx context.Context, names []string) ([]ledger.Topic, error) {
	all, err := r.journal.Topics(ctx)
	if err != nil {
		return nil, err
	}
	prefix := protocol.Qualify(r.namespace, "")
	all = slices.DeleteFunc(all, func(t ledger.Topic) bool { return !strings.HasPrefix(t.Name, prefix) })
	if names == nil {
		return all, nil
	}
	var some []ledger.Topic
	for _, name := range names {
		i := slices.IndexFunc(all, func(t ledger.Topic) bool { return t.Name == prefix+name })
		if i < 0 {
			known := make([]string, len(all))
			for n, t := range all {
				known[n] = strings.TrimPrefix(t.Name, prefix)
			}
			slices.Sort(known)
			return nil, &message.InvalidError{Field: "Topics", Value: name, Limit: "a topic that the journal knows: " + strings.Join(known, ", ")}
		}
		if !slices.Contains(some, all[i]) {
			some = append(some, all[i])
		}
	}
	return some, nil
}

// define writes the definition of a topic, unless it has one, and compares. It tells since when Redis has the one
// that is there: what is missing of the time before was lost by then.
func (r *Recovery) define(ctx context.Context, t ledger.Topic, dry bool) (since time.Time, err error) {
	held, err := r.scripts.Defined(ctx, t.Name)
	if err != nil {
		return since, err
	}
	if held != nil {
		if err := definition.Compare(t.Topic, *held); err != nil {
			return since, err
		}
		since = held.Created
	}
	switch {
	case dry:
	case r.namespace != "" || !strings.Contains(t.Name, ":"):
		bare := t.Topic
		bare.Name = strings.TrimPrefix(t.Name, protocol.Qualify(r.namespace, ""))
		_, err = definition.Agree(ctx, r.scripts, t.Name, bare, definition.Sharing{})
	default:
		err = definition.Leave(ctx, r.scripts, t.Topic)
	}
	return since, err
}

// allowed reports all that the Redis user must still be granted to restore the topics.
func (x *restoring) allowed(ctx context.Context, topics []ledger.Topic) error {
	if x.o.DryRun {
		return nil
	}
	all := make([]rights.Topic, len(topics))
	for i, t := range topics {
		all[i] = rights.Topic{Name: t.Name, Slots: t.Slots, Notes: t.Notes}
	}
	if err := rights.Check(ctx, x.rdb, rights.Need{Restores: true}, all...); err != nil {
		return fmt.Errorf("%w", err)
	}
	return nil
}
