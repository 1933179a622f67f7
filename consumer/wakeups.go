package consumer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/cluster"
	"github.com/slotmq/go-rmq/internal/schedule"
	"github.com/slotmq/go-rmq/internal/wait"
	"github.com/slotmq/go-rmq/luascripts"
)

// Every server of a Cluster passes on what is published at any of them, so one
// subscription hears all wake-ups. It is watched, and moved to another server
// when its own hangs: after some silence it asks for a sign of life, and ends
// when that does not come in time. With Sentinel the new master is subscribed at
// in the same way. Where there is one server only, nothing can be done about one
// that hangs, and it is asked less often: only the connection may have died
// without a word.
const (
	silence     = 2 * time.Second
	longSilence = 10 * time.Second
	signOfLife  = time.Second
)

// silenceOf is how long the subscription of a worker on rdb may be silent.
func silenceOf(rdb redis.UniversalClient) time.Duration {
	if cluster.IsSingle(rdb) {
		return longSilence
	}
	return silence
}

// wakeups passes on what other workers and producers publish.
type wakeups struct {
	shift    *shift
	rdb      redis.UniversalClient
	topics   []*topic
	schedule *schedule.Schedule
	looks    *timetable
	lists    *timetable
	silence  time.Duration // before the subscription is asked for a sign of life
	log      *zap.Logger
}

// subscription to the wake-ups of all topics, at one server.
type subscription struct {
	*redis.PubSub
	addr string
}

// subscribe makes a subscription at any server that answers, at the one to
// avoid last.
func (c *wakeups) subscribe(ctx context.Context, avoid string) (*subscription, error) {
	channels := make([]string, len(c.topics))
	for i, t := range c.topics {
		channels[i] = luascripts.WakeChannel(t.name)
	}
	err := errors.New("no master of the Cluster is known")
	servers := c.servers(ctx)
	addrs := slices.Collect(maps.Keys(servers)) // in random order, as Go has it
	if last := slices.Index(addrs, avoid); last >= 0 {
		addrs = append(slices.Delete(addrs, last, last+1), avoid)
	}
	for _, addr := range addrs {
		var sub *redis.PubSub
		if sub, err = subscribeAt(ctx, servers[addr], channels); err == nil {
			return &subscription{sub, addr}, nil
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, fmt.Errorf("subscribe to wake-ups: %w", err)
}

// servers are those that hold slots of the topics, by address.
func (c *wakeups) servers(ctx context.Context) map[string]redis.UniversalClient {
	all := map[string]redis.UniversalClient{}
	many := cluster.IsCluster(c.rdb)
	for _, t := range c.topics {
		for i := range t.Slots {
			if len(all) > 0 && !many {
				return all
			}
			if node, addr, err := cluster.MasterFor(ctx, c.rdb, luascripts.StoreKey(t.name, i)); err == nil {
				all[addr] = node
			}
		}
	}
	return all
}

// channelsAtOnce are subscribed to by one command.
const channelsAtOnce = 500

func subscribeAt(ctx context.Context, server redis.UniversalClient, channels []string) (*redis.PubSub, error) {
	sub := server.Subscribe(ctx)
	// ReceiveTimeout heeds a deadline of ctx, and not that it is cancelled.
	stop := context.AfterFunc(ctx, func() { _ = sub.Close() })
	defer stop()
	for some := range slices.Chunk(channels, channelsAtOnce) {
		err := sub.Subscribe(ctx, some...)
		for range some {
			if err == nil {
				_, err = sub.ReceiveTimeout(ctx, silence)
			}
		}
		if err != nil {
			_ = sub.Close()
			return nil, err
		}
	}
	return sub, nil
}

// run passes wake-ups on to the schedule. When the subscription breaks it makes
// a new one, and looks at all slots, since wake-ups may be missing.
func (c *wakeups) run(sub *subscription) {
	for sub != nil {
		begun := time.Now()
		stop := context.AfterFunc(c.shift.listening, func() { _ = sub.Close() })
		err := c.receive(sub)
		stop()
		_ = sub.Close()
		if c.shift.listening.Err() != nil {
			return
		}
		c.log.Info("subscription to wake-ups is lost, and made anew", zap.String("server", sub.addr), zap.Error(err))
		if time.Since(begun) < silence { // it may go on like that, and each time all slots are looked at
			wait.Sleep(c.shift.listening, lastRepeat)
		}
		sub = c.subscribeAnew(sub.addr)
		for _, t := range c.topics {
			c.missed(t)
		}
	}
}

// subscribeAnew tries until there is a subscription, and returns none when the
// worker closes.
func (c *wakeups) subscribeAnew(avoid string) *subscription {
	for pause := firstRepeat; ; pause = min(2*pause, lastRepeat) {
		sub, err := c.subscribe(c.shift.listening, avoid)
		if err == nil {
			return sub
		}
		cluster.NoteError(c.shift.listening, c.rdb, err)
		if !wait.Sleep(c.shift.listening, pause) {
			return nil
		}
	}
}

// receive passes wake-ups on until the subscription breaks.
func (c *wakeups) receive(sub *subscription) error {
	byChannel := make(map[string]*topic, len(c.topics))
	for _, t := range c.topics {
		byChannel[luascripts.WakeChannel(t.name)] = t
	}
	for wait := c.silence; ; {
		note, err := sub.ReceiveTimeout(c.shift.listening, wait)
		if err != nil {
			if wait == signOfLife || c.shift.listening.Err() != nil {
				return err
			}
			wait = signOfLife // the first error is silence, or the client has made a new connection
			if timeout := (net.Error)(nil); errors.As(err, &timeout) && timeout.Timeout() {
				_ = sub.Ping(c.shift.listening)
			}
			continue
		}
		wait = c.silence
		switch note := note.(type) {
		case *redis.Subscription: // on a new connection
			if t := byChannel[note.Channel]; t != nil {
				c.missed(t)
			}
		case *redis.Message:
			c.pass(byChannel[note.Channel], note.Payload)
		}
	}
}

// pass does what a payload says.
func (c *wakeups) pass(t *topic, payload string) {
	switch {
	case t == nil:
	case payload == membersChanged:
		c.lists.hurry(t)
	default:
		if slot, holder, ok := luascripts.ParseQuestion(payload); ok {
			c.schedule.Asked(t.scheduled, slot, holder)
			return
		}
		luascripts.ParseWake(payload, func(slot int, in time.Duration) { c.schedule.Wake(t.scheduled, slot, in) })
	}
}

// missed makes up for wake-ups that may have been missed.
func (c *wakeups) missed(t *topic) {
	c.looks.hurry(t)
	c.lists.hurry(t)
}
