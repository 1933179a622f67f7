package poll

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/definition"
	"github.com/slotmq/go-rmq/internal/servers/rights"
	"github.com/slotmq/go-rmq/internal/servers/silence"
	"github.com/slotmq/go-rmq/message"
)

var (
	// ErrUnknownTopic is found by errors.Is in the error of a take from a topic that nobody has defined.
	// The first send to it does that, or a listener.
	ErrUnknownTopic = errors.New("no such topic")

	// ErrZooKeeper is found by errors.Is in the error of a take from a topic that its listeners share by ZooKeeper:
	// who takes has no session there, so they would take over its batches at once.
	ErrZooKeeper = errors.New("its listeners share the topic by ZooKeeper, and take those for dead who have no session there; take from another topic, or let a listener pass the messages on")
)

// open reads what the topic is, and begins the work of its desk. It goes on when the taker that needed it has gone: others may wait, too.
func (d *desk) open() {
	err := d.begin()
	if err != nil {
		d.failed = fmt.Errorf("topic %s: %w", d.name, err)
		d.forget(d)
		d.life.End(err)
	}
	close(d.opened)
}

func (d *desk) begin() error {
	ctx := d.life.Requests
	if err := (message.Topic{Name: d.name, Kind: message.KindPriority}).Validate(); err != nil { // the name; the kind is not known yet
		return err
	}
	d.qualified = protocol.Qualify(d.cfg.Namespace, d.name)
	if err := d.allowed(ctx, false); err != nil { // before anything is asked that may be refused
		return err
	}
	if err := d.define(ctx); err != nil {
		return d.explain(err)
	}
	if d.topic.Notes {
		if err := d.allowed(ctx, true); err != nil {
			return err
		}
	}
	d.away = d.watch(d.life)
	d.build()
	// Subscribed first, so that nothing sent after the first look is missed.
	sub, err := d.ears.Subscribe(ctx)
	if err != nil {
		return d.explain(err)
	}
	d.policies.Begin(ctx)
	if err := d.tellOthers(ctx); err != nil {
		_ = sub.Close()
		d.policies.End()
		return d.explain(err)
	}
	d.run(sub)
	if err := d.firstLook(ctx); err != nil {
		d.log.Warn("the first look at a topic has no answer; the safety look makes up for it", zap.String("topic", d.name), zap.Error(err))
	}
	d.mu.Lock()
	d.idle = time.AfterFunc(d.idleAfter, d.closeIfIdle)
	d.mu.Unlock()
	return nil
}

// allowed names the rights that are missing. One slot stands for all.
func (d *desk) allowed(ctx context.Context, notes bool) error {
	lacks := rights.Check(ctx, d.cfg.Redis, rights.Need{Worker: true, Takes: true}, rights.Topic{Name: d.qualified, Slots: 1, Notes: notes})
	return silence.Explain(d.cfg.Redis, lacks)
}

// define reads the definition of the topic, and notes in it that its slots are held by leases.
func (d *desk) define(ctx context.Context) error {
	held, err := d.scripts.Defined(ctx, d.qualified)
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
	t := message.Topic{Name: d.name, Kind: kind, Slots: held.Slots, Literal: held.Literal, Notes: held.Notes}
	d.topic, err = definition.Agree(ctx, d.scripts, d.qualified, t, definition.Sharing{Way: definition.SharingRedis})
	if errors.Is(err, message.ErrTopicConflict) {
		if held, again := d.scripts.Defined(ctx, d.qualified); again == nil && held != nil && held.Sharing == definition.SharingZooKeeper {
			return ErrZooKeeper // since a moment ago
		}
	}
	return err
}

// slotsAtOnce are looked at in one round trip.
const slotsAtOnce = 512

// firstLook wakes the slots that have anything. Most have nothing, and a turn costs ten times as much as a look.
func (d *desk) firstLook(ctx context.Context) error {
	for from := 0; from < d.topic.Slots; from += slotsAtOnce {
		pipe := d.cfg.Redis.Pipeline()
		var exist []*redis.IntCmd
		for i := from; i < min(from+slotsAtOnce, d.topic.Slots); i++ {
			k := protocol.KeysOf(d.qualified, i)
			exist = append(exist, pipe.Exists(ctx, k.Store, k.Retry, k.Prepare))
		}
		_, err := pipe.Exec(ctx)
		for n, cmd := range exist {
			if cmd.Err() != nil || cmd.Val() > 0 {
				d.scheduled.Wake(from+n, 0)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}
