package fleet

import (
	"context"
	"errors"
	"time"

	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/definition"
	"github.com/slotmq/go-rmq/internal/servers/rights"
	"github.com/slotmq/go-rmq/internal/servers/silence"
	"github.com/slotmq/go-rmq/internal/upkeep/periodic"
	"github.com/slotmq/go-rmq/message"
)

// Recheck is how often the topics' definitions are compared again, and so how often each topic
// is attended to at the least.
const Recheck = 30 * time.Second

// definitions compares the topics' definitions with those that are stored.
type definitions struct {
	*parts
	sharing func() definition.Sharing
	asking  *periodic.Lines[*Topic] // definitions to compare
	mended  func(t *Topic)          // called when a topic is no longer refused
}

func newDefinitions(p *parts, sharing func() definition.Sharing) *definitions {
	d := &definitions{parts: p, sharing: sharing}
	d.asking = periodic.NewLines(topicsAtOnce, p.Life.Attend, d.compare)
	return d
}

// allowed returns what the Redis user may not do with the topics, before any of
// it is tried.
func (d *definitions) allowed(ctx context.Context) error {
	named := make([]rights.Topic, len(d.Topics))
	for i, t := range d.Topics {
		named[i] = rights.Topic{Name: t.Qualified, Slots: definition.Full(t.Topic).Slots, Notes: t.Notes}
	}
	return silence.Explain(d.Redis, rights.Check(ctx, d.Redis, rights.Need{Worker: true}, named...))
}

// agree compares the topics' definitions with the stored ones, and fills in the number
// of slots where a topic leaves it open.
func (d *definitions) agree(ctx context.Context) error {
	return periodic.Each(ctx, byServer(ctx, d.Redis, d.Topics, protocol.DefinitionKey), func(ctx context.Context, some []*Topic) error {
		full, errs := d.agreeAt(ctx, some)
		for i, t := range some {
			if errs[i] != nil {
				return errs[i]
			}
			if t.Topic != full[i].Topic { // not later, when others already read it
				t.Topic = full[i].Topic
			}
		}
		return nil
	})
}

// agreeAt is agree for topics of one server.
func (d *definitions) agreeAt(ctx context.Context, topics []*Topic) ([]definition.Listened, []error) {
	names, asked := make([]string, len(topics)), make([]definition.Listened, len(topics))
	for i, t := range topics {
		names[i], asked[i] = t.Qualified, definition.Listened{Topic: t.Topic, MaxLate: t.MaxLate}
	}
	return definition.AgreeAll(ctx, d.Scripts, names, asked, d.sharing())
}

// renew compares a topic's definition again, if it is time or the topic is refused.
func (d *definitions) renew(t *Topic) {
	if t.refused.Load() || time.Since(t.compared) > d.Recheck {
		t.compared = time.Now()
		d.asking.Add(serverOf(d.Life.Background, d.Redis, t, protocol.DefinitionKey), t)
	}
}

// compare compares the definitions of some topics. While one differs, the worker works
// at none of the topic's slots.
func (d *definitions) compare(_ string, topics []*Topic) {
	if d.Life.Background.Err() != nil {
		return
	}
	_, errs := d.agreeAt(d.Life.Background, topics)
	for i, err := range errs {
		t := topics[i]
		switch conflict := errors.Is(err, message.ErrTopicConflict); {
		case conflict && !t.refused.Swap(true):
			d.Log.Error("topic is not worked at", zap.String("topic", t.Name), zap.Error(err))
			d.terms.workAt(t, d.terms.present.Load())
		case err == nil && t.refused.Swap(false):
			d.mended(t)
		}
	}
}
