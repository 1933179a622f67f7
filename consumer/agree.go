package consumer

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/cluster"
	"github.com/slotmq/go-rmq/internal/definition"
	"github.com/slotmq/go-rmq/internal/rights"
	"github.com/slotmq/go-rmq/luascripts"
	"github.com/slotmq/go-rmq/message"
)

// recheck is how often the topics' definitions are compared again.
const recheck = 30 * time.Second

// topicsAtOnce is of how many topics the lists of members, or the definitions, are asked
// for in one round trip.
const topicsAtOnce = 64

// definitions compares the topics' definitions with those that are stored.
type definitions struct {
	shift   *shift
	rdb     redis.UniversalClient
	scripts *luascripts.Scripts
	terms   *terms
	lists   *timetable
	recheck time.Duration // between comparisons
	sharing func() definition.Sharing
	asking  *errands[*topic] // definitions to compare
	log     *zap.Logger
}

func newDefinitions(p *parts, sharing func() definition.Sharing, recheck time.Duration) *definitions {
	c := &definitions{shift: p.shift, rdb: p.rdb, scripts: p.scripts, terms: p.terms, sharing: sharing, recheck: recheck, log: p.log}
	c.asking = newErrands(topicsAtOnce, &c.shift.attending, c.compare)
	return c
}

// allowed returns what the Redis user may not do with the topics, before any of
// it is tried.
func allowed(ctx context.Context, rdb redis.UniversalClient, topics []*topic) error {
	named := make([]rights.Topic, len(topics))
	for i, t := range topics {
		named[i] = rights.Topic{Name: t.name, Slots: definition.Full(t.Topic).Slots}
	}
	return rights.Check(ctx, rdb, rights.Need{Worker: true}, named...)
}

// agree compares the topics' definitions with the stored ones, and fills in the number
// of slots where a topic leaves it open.
func (c *definitions) agree(ctx context.Context, topics []*topic) error {
	return each(ctx, byServer(ctx, c.rdb, topics, luascripts.DefinitionKey), func(ctx context.Context, some []*topic) error {
		full, errs := c.agreeAt(ctx, some)
		for i, t := range some {
			if errs[i] != nil {
				return errs[i]
			}
			if t.Topic != full[i] { // not when it is asked again, for there are readers by then
				t.Topic = full[i]
			}
		}
		return nil
	})
}

// agreeAt is agree for topics of one server.
func (c *definitions) agreeAt(ctx context.Context, topics []*topic) ([]message.Topic, []error) {
	names, asked := make([]string, len(topics)), make([]message.Topic, len(topics))
	for i, t := range topics {
		names[i], asked[i] = t.name, t.Topic
	}
	return definition.AgreeAll(ctx, c.scripts, names, asked, c.sharing())
}

// renew has a topic's definition compared again, if it is time or the topic is refused.
func (c *definitions) renew(t *topic) {
	if t.refused.Load() || time.Since(t.compared) > c.recheck {
		t.compared = time.Now()
		c.asking.add(serverOf(c.shift.background, c.rdb, t, luascripts.DefinitionKey), t)
	}
}

// compare compares the definitions of some topics. While one is another, the worker
// works at none of the topic's slots.
func (c *definitions) compare(_ string, topics []*topic) {
	if c.shift.background.Err() != nil {
		return
	}
	_, errs := c.agreeAt(c.shift.background, topics)
	for i, err := range errs {
		t := topics[i]
		switch conflict := errors.Is(err, message.ErrTopicConflict); {
		case conflict && !t.refused.Swap(true):
			c.log.Error("topic is not worked at", zap.String("topic", t.Name), zap.Error(err))
			c.terms.workAt(t, c.terms.present.Load())
		case err == nil && t.refused.Swap(false):
			c.lists.hurry(t)
		}
	}
}

// byServer puts topics together that have a key on the same server, some at a time. If that
// server is not known, the request will show it.
func byServer(ctx context.Context, rdb redis.UniversalClient, topics []*topic, key func(name string) string) (groups [][]*topic) {
	of := map[string][]*topic{}
	for _, t := range topics {
		addr := serverOf(ctx, rdb, t, key)
		of[addr] = append(of[addr], t)
	}
	for _, some := range of {
		groups = slices.AppendSeq(groups, slices.Chunk(some, topicsAtOnce))
	}
	return groups
}

// serverOf is the address of the server that has a key of a topic, as far as it is known.
func serverOf(ctx context.Context, rdb redis.UniversalClient, t *topic, key func(name string) string) string {
	_, addr, _ := cluster.MasterFor(ctx, rdb, key(t.name))
	return addr
}
