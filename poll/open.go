package poll

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/definition"
	"github.com/slotmq/go-rmq/internal/servers/rights"
	"github.com/slotmq/go-rmq/internal/servers/silence"
	"github.com/slotmq/go-rmq/message"
)

// open reads what the topic is, and begins its work. It goes on when the taker that needed it has gone: others may wait, too.
func (t *topic) open() {
	err := t.begin()
	if err != nil {
		t.failed = fmt.Errorf("topic %s: %w", t.name, err)
		t.process.topics.forget(t)
		t.life.End(err)
	}
	t.works.Store(err == nil)
	close(t.opened)
}

func (t *topic) begin() error {
	ctx := t.life.Requests
	if err := (message.Topic{Name: t.name, Kind: message.KindPriority}).Validate(); err != nil { // the name; the kind is not known yet
		return err
	}
	t.qualified = t.process.qualify(t.name)
	if err := t.allowed(ctx, false); err != nil { // before anything is asked that may be refused
		return err
	}
	if err := t.define(ctx); err != nil {
		return t.process.explain(err)
	}
	if t.definition.Notes {
		if err := t.allowed(ctx, true); err != nil {
			return err
		}
	}
	t.away = t.process.watch(t.life)
	t.build()
	if err := t.upkeep.begin(ctx); err != nil {
		return t.process.explain(err)
	}
	t.run()
	if err := t.firstLook(ctx); err != nil { // behind the subscription, so that nothing sent after it is missed
		t.log.Warn("the first look at a topic has no answer; the safety look makes up for it", zap.Error(err))
	}
	t.queue.begin(t.process.idleAfter, t.closeIfIdle)
	return nil
}

// allowed names the rights that are missing. One slot stands for all.
func (t *topic) allowed(ctx context.Context, notes bool) error {
	lacks := rights.Check(ctx, t.process.cfg.Redis, rights.Need{Worker: true, Takes: true}, rights.Topic{Name: t.qualified, Slots: 1, Notes: notes})
	return silence.Explain(t.process.cfg.Redis, lacks)
}

// define reads the definition of the topic, and notes in it that its slots are held by leases.
func (t *topic) define(ctx context.Context) error {
	held, err := t.process.scripts.Defined(ctx, t.qualified)
	switch {
	case err != nil:
		return err
	case held == nil:
		return fmt.Errorf("%w; the first send to it makes it", ErrUnknownTopic)
	case held.Sharing == definition.SharingZooKeeper:
		return ErrZooKeeper
	}
	kind, known := message.ParseKind(held.Kind)
	if !known {
		return fmt.Errorf("its kind in Redis is %.40q, which this program does not know", held.Kind)
	}
	own := message.Topic{Name: t.name, Kind: kind, Slots: held.Slots, Literal: held.Literal, Notes: held.Notes}
	t.definition, err = definition.Agree(ctx, t.process.scripts, t.qualified, own, definition.Sharing{Way: definition.SharingRedis})
	if errors.Is(err, message.ErrTopicConflict) {
		if held, again := t.process.scripts.Defined(ctx, t.qualified); again == nil && held != nil && held.Sharing == definition.SharingZooKeeper {
			return ErrZooKeeper // since a moment ago
		}
	}
	return err
}

// slotsAtOnce are looked at in one round trip.
const slotsAtOnce = 512

// firstLook wakes the slots that have anything. Most have nothing, and a turn costs ten times as much as a look.
func (t *topic) firstLook(ctx context.Context) error {
	for from := 0; from < t.definition.Slots; from += slotsAtOnce {
		pipe := t.process.cfg.Redis.Pipeline()
		var exist []*redis.IntCmd
		for i := from; i < min(from+slotsAtOnce, t.definition.Slots); i++ {
			k := protocol.KeysOf(t.qualified, i)
			exist = append(exist, pipe.Exists(ctx, k.Store, k.Retry, k.Prepare))
		}
		_, err := pipe.Exec(ctx)
		for n, cmd := range exist {
			if cmd.Err() != nil || cmd.Val() > 0 {
				t.scheduled.Wake(from+n, 0)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}
