package consumer

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/cluster"
	"github.com/slotmq/go-rmq/internal/definition"
	"github.com/slotmq/go-rmq/internal/rights"
	"github.com/slotmq/go-rmq/internal/wait"
	"github.com/slotmq/go-rmq/luascripts"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/slots"
)

// The list of members in Redis, by which the slots are shared out where there is
// no ZooKeeper. Beside it, the definitions, which are compared either way.

// membersChanged is what a worker publishes on a topic's channel when it comes
// or goes.
const membersChanged = "members"

// recheck is how often the topics' definitions are compared again.
const recheck = 30 * time.Second

// allowed reports what the Redis user may not do with the topics, before any of
// it is tried.
func (c *Consumer) allowed(ctx context.Context) error {
	topics := make([]rights.Topic, len(c.topics))
	for i, t := range c.topics {
		topics[i] = rights.Topic{Name: t.name, Slots: definition.Full(t.Topic).Slots}
	}
	return rights.Check(ctx, c.rdb, rights.Need{Worker: true}, topics...)
}

// agree compares the topics' definitions with the stored ones, and fills in the number
// of slots where a topic leaves it open.
func (c *Consumer) agree(ctx context.Context, topics []*topic) error {
	return each(ctx, c.byServer(ctx, topics, luascripts.DefinitionKey), func(ctx context.Context, some []*topic) error {
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
func (c *Consumer) agreeAt(ctx context.Context, topics []*topic) ([]message.Topic, []error) {
	by := definition.Sharing{Way: definition.SharingRedis}
	if c.cfg.Slots != nil {
		by.Way = definition.SharingZooKeeper
		if term := c.term.Load(); term != nil {
			by.Tree = term.member.Tree()
		}
	}
	names, asked := make([]string, len(topics)), make([]message.Topic, len(topics))
	for i, t := range topics {
		names[i], asked[i] = t.name, t.Topic
	}
	return definition.AgreeAll(ctx, c.scripts, names, asked, by)
}

// join makes the worker known to the others, and begins its first term.
func (c *Consumer) join(ctx context.Context) error {
	if c.cfg.Slots != nil {
		return c.enterFirst(ctx)
	}
	t := c.newTerm()
	t.id = c.id
	c.begin(t)
	return each(ctx, c.byServer(ctx, c.topics, luascripts.WorkersKey), c.show)
}

// topicsAtOnce is of how many topics the lists of members, or the definitions, are asked
// for in one round trip.
const topicsAtOnce = 64

// byServer puts topics together that have a key on the same server, some at a time. If nobody
// knows that server, the request will tell.
func (c *Consumer) byServer(ctx context.Context, topics []*topic, key func(name string) string) (groups [][]*topic) {
	of := map[string][]*topic{}
	for _, t := range topics {
		addr := c.serverOf(ctx, t, key)
		of[addr] = append(of[addr], t)
	}
	for _, some := range of {
		groups = slices.AppendSeq(groups, slices.Chunk(some, topicsAtOnce))
	}
	return groups
}

// serverOf is the address of the server that has a key of a topic, as far as it is known.
func (c *Consumer) serverOf(ctx context.Context, t *topic, key func(name string) string) string {
	_, addr, _ := cluster.MasterFor(ctx, c.rdb, key(t.name))
	return addr
}

// show enters the worker in some topics' lists of members, and works at the slots
// that are its share by them. A newcomer may have to wait.
func (c *Consumer) show(ctx context.Context, topics []*topic) error {
	now := time.Now()
	enter, out := []*topic{}, []*entry{}
	for _, t := range topics {
		if t.listed.Load() {
			enter = append(enter, t)
		} else {
			out = append(out, &entry{topic: t})
		}
	}
	c.list(ctx, out, now, false)
	var wrong error
	var changed []*topic
	kept := c.kept(ctx, out, now)
	for _, e := range out {
		switch {
		case e.err != nil:
			wrong = cmp.Or(wrong, e.err)
		case !kept[e.topic]:
			enter = append(enter, e.topic)
		case e.changed: // one of the others has vanished
			changed = append(changed, e.topic)
		}
	}
	in := make([]*entry, len(enter))
	for i, t := range enter {
		in[i] = &entry{topic: t}
	}
	c.list(ctx, in, now, true)
	for _, e := range in {
		t := e.topic
		if e.err != nil {
			wrong = cmp.Or(wrong, e.err)
			continue
		}
		t.listed.Store(true)
		if e.changed {
			changed = append(changed, t)
		}
		c.assign(t, c.term.Load(), slots.Share(e.members, t.Slots)[c.id])
	}
	c.announceMembers(changed)
	return wrong
}

// entry is the worker's in a topic's list of members, and what it is told of the others.
type entry struct {
	topic   *topic
	members []string
	changed bool // somebody has come or gone
	err     error
}

// list enters the worker in some topics' lists of members, or takes it out.
func (c *Consumer) list(ctx context.Context, entries []*entry, now time.Time, here bool) {
	cmds := make([]redis.Cmder, len(entries))
	for i, e := range entries {
		cmds[i] = c.scripts.MembersCmd(ctx, e.topic.name, c.id, c.counts(e.topic, now), here)
	}
	c.scripts.Exec(ctx, cmds...)
	for i, e := range entries {
		e.members, e.changed, e.err = luascripts.MembersAnswer(e.topic.name, c.id, cmds[i])
	}
}

// announceMembers tells the other workers of some topics, whose lists are on one server,
// that these have changed.
func (c *Consumer) announceMembers(topics []*topic) {
	if len(topics) == 0 {
		return
	}
	server, _, err := cluster.MasterFor(c.requests, c.rdb, luascripts.WorkersKey(topics[0].name))
	if err == nil {
		pipe := server.Pipeline()
		for _, t := range topics {
			pipe.Publish(c.requests, luascripts.WakeChannel(t.name), membersChanged)
		}
		_, err = pipe.Exec(c.requests)
	}
	if err != nil {
		c.log.Debug("changes of the list of members were not published", zap.Error(err))
	}
}

// planLists tells when the worker shows itself in each list.
func (c *Consumer) planLists() *timetable {
	plan := newTimetable(c.topics, gapOf(c.cfg.Lease/3), func(t *topic) time.Duration { return c.nextShow(t, time.Now()) })
	for _, t := range c.topics {
		if t.newcomer.Load() {
			plan.set(t, time.Now().Add(c.nextShow(t, time.Now())))
		}
	}
	return plan
}

// attend keeps the worker in the topics' lists of members, if they have any, follows their
// changes, and compares the definitions now and then.
func (c *Consumer) attend() {
	for topics := c.lists.next(c.background); topics != nil; topics = c.lists.next(c.background) {
		for _, t := range topics {
			refused := t.refused.Load()
			if refused || time.Since(t.compared) > c.recheck {
				t.compared = time.Now()
				c.comparing.add(c.serverOf(c.background, t, luascripts.DefinitionKey), t)
			}
			switch {
			case refused:
			case c.cfg.Slots != nil:
				c.workAt(t, c.term.Load())
			case t.listed.Load():
				c.showing.add(c.serverOf(c.background, t, luascripts.WorkersKey), t)
			default: // apart, since who comes in may have to ask a server that hangs about what is in flight
				c.showing.add("new at "+c.serverOf(c.background, t, luascripts.WorkersKey), t)
			}
		}
	}
}

// refresh keeps the worker in the lists of some topics.
func (c *Consumer) refresh(_ string, topics []*topic) {
	if c.background.Err() != nil {
		return
	}
	if err := c.show(c.background, topics); err != nil && c.background.Err() == nil {
		cluster.NoteError(c.background, c.rdb, err)
		c.log.Warn("lists of members could not be refreshed", zap.Error(err))
	}
}

// compare compares the definitions of some topics. While one is another, the worker
// works at none of the topic's slots.
func (c *Consumer) compare(_ string, topics []*topic) {
	if c.background.Err() != nil {
		return
	}
	_, errs := c.agreeAt(c.background, topics)
	for i, err := range errs {
		t := topics[i]
		switch conflict := errors.Is(err, message.ErrTopicConflict); {
		case conflict && !t.refused.Swap(true):
			c.log.Error("topic is not worked at", zap.String("topic", t.Name), zap.Error(err))
			c.workAt(t, c.term.Load())
		case err == nil && t.refused.Swap(false):
			c.lists.hurry(t)
		}
	}
}

// resign makes the others take the worker's slots: it leaves the lists of members,
// or tells the coordinator. If it cannot, they notice after its lease or session.
func (c *Consumer) resign() {
	ctx, cancel := context.WithTimeout(c.requests, grace)
	defer cancel()
	// A refresh under way would put it back after it was taken out.
	c.stopRest()
	_ = wait.Group(ctx, &c.attending) // a Redis client need not heed ctx
	if c.cfg.Slots != nil {
		if err := c.term.Load().member.Leaving(ctx); err != nil {
			c.log.Warn("the slots could not be offered to others", zap.Error(err))
		}
		return
	}
	var resigning sync.WaitGroup
	for _, some := range c.byServer(ctx, c.topics, luascripts.WorkersKey) {
		resigning.Go(func() {
			entries := make([]*entry, len(some))
			for i, t := range some {
				entries[i] = &entry{topic: t}
			}
			c.list(ctx, entries, time.Now(), false)
			var left []*topic
			var wrong error
			for _, e := range entries {
				if wrong = cmp.Or(wrong, e.err); e.err == nil {
					left = append(left, e.topic)
				}
			}
			if wrong != nil {
				c.log.Warn("lists of members could not be left", zap.Error(wrong))
			}
			c.announceMembers(left)
		})
	}
	_ = wait.Group(ctx, &resigning)
}
