package consumer

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/luascripts"
)

// subscribe listens to the wake-ups of all topics.
func (c *Consumer) subscribe(ctx context.Context) (*redis.PubSub, error) {
	channels := make([]string, len(c.topics))
	for i, t := range c.topics {
		channels[i] = luascripts.WakeChannel(t.name)
	}
	sub := c.rdb.Subscribe(ctx, channels...)
	// Receive heeds a deadline of ctx, and not that it is cancelled.
	stop := context.AfterFunc(ctx, func() { _ = sub.Close() })
	defer stop()
	for range channels {
		if _, err := sub.Receive(ctx); err != nil {
			_ = sub.Close()
			return nil, fmt.Errorf("subscribe to wake-ups: %w", err)
		}
	}
	return sub, nil
}

// hear passes wake-ups on to the schedule.
func (c *Consumer) hear(sub *redis.PubSub) {
	defer sub.Close()
	byChannel := make(map[string]*topic, len(c.topics))
	for _, t := range c.topics {
		byChannel[luascripts.WakeChannel(t.name)] = t
	}
	notes := sub.ChannelWithSubscriptions(redis.WithChannelSize(1000), redis.WithChannelHealthCheckInterval(5*time.Second))
	for {
		select {
		case <-c.background.Done():
			return
		case note, open := <-notes:
			switch note := note.(type) {
			case *redis.Subscription: // anew, after the connection was lost: wake-ups may be missing
				if t := byChannel[note.Channel]; t != nil {
					c.look(t)
					c.pokeMembers()
				}
			case *redis.Message:
				t := byChannel[note.Channel]
				if t == nil {
					continue
				}
				if note.Payload == membersChanged {
					c.pokeMembers()
					continue
				}
				luascripts.ParseWake(note.Payload, func(slot int, in time.Duration) { c.schedule.wake(t, slot, in) })
			}
			if !open {
				return
			}
		}
	}
}

func (c *Consumer) pokeMembers() {
	select {
	case c.poke <- struct{}{}:
	default:
	}
}
