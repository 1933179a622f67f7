package wakeups

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/lifetime"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/servers/away"
	"github.com/slotmq/go-rmq/internal/servers/cluster"
	"github.com/slotmq/go-rmq/internal/servers/wait"
	"github.com/slotmq/go-rmq/internal/worker/flow"
)

// Every server of a Cluster passes on what is published at any of them, so one
// subscription hears all that is published to all: see near.go for the rest. It is
// watched, and moved to another server when its own hangs: after some silence it asks
// for a sign of life, and ends when that does not come in time. With Sentinel it moves
// to the new master in the same way. Where there is one server only, nothing can be
// done about one that hangs, and it is asked less often: only the connection may have
// died without a word.
const (
	silence     = 2 * time.Second
	longSilence = 10 * time.Second
	signOfLife  = time.Second
)

// The pause between tries to subscribe doubles, from the first to the last of these.
const firstTry, lastTry = 20 * time.Millisecond, time.Second

// SilenceOf is how long the subscription of a worker on rdb may be silent.
func SilenceOf(rdb redis.UniversalClient) time.Duration {
	if cluster.IsSingle(rdb) {
		return longSilence
	}
	return silence
}

// Handler acts on what is published about a topic: an index into Subscriber.Topics.
type Handler interface {
	Woken(topic, slot int, in time.Duration) // something is due in a slot
	Asked(topic, slot int, holder string)    // does the holder carry the batch in flight there?
	Cancelled(topic, slot int)               // something in flight there is to be cancelled
	PlansChanged(topic, slot int)            // a plan there was set
	MembersChanged(topic int)                // workers came or went
	PolicyChanged(topic int)                 // a person has limited the topic, or ended that
	Led(topic int, w flow.Word)              // another worker says how many handlers it tries
	Overslept(topic int)                     // wake-ups may have been missed, and nothing else
	Missed(topic int)                        // anything that is published may have been missed
}

// Topic is one to subscribe to.
type Topic struct {
	Name  string // with its namespace
	Slots int
}

// Subscriber receives what is published about some topics.
type Subscriber struct {
	Life    *lifetime.Lifetime
	Redis   redis.UniversalClient
	Topics  []Topic
	Handler Handler
	Silence time.Duration // before the subscription is asked for a sign of life: see SilenceOf
	Log     *zap.Logger
	Away    *away.Watch
}

// pubsub is a connection to one server, and what it is subscribed to.
type pubsub struct {
	*redis.PubSub
	topics sync.Map // channel → topic
}

// Subscription to the channels of all topics, at one server.
type Subscription struct {
	*pubsub
	location
}

// location is a server, and a key that it holds.
type location struct{ addr, key string }

// Subscribe makes a subscription at any server that answers. If there is only one, it waits for it as long as it
// will later.
func (s *Subscriber) Subscribe(ctx context.Context) (*Subscription, error) {
	return s.subscribe(ctx, "", max(silence, s.Silence))
}

// subscribe is Subscribe. It tries the server to avoid last, and waits no longer than
// patience for each answer.
func (s *Subscriber) subscribe(ctx context.Context, avoid string, patience time.Duration) (*Subscription, error) {
	err := errors.New("no master of the Cluster is known")
	masters, channels := s.masters(ctx), s.channels()
	addrs := slices.Collect(maps.Keys(masters)) // in random order, as Go has it
	if last := slices.Index(addrs, avoid); last >= 0 {
		addrs = append(slices.Delete(addrs, last, last+1), avoid)
	}
	for _, addr := range addrs {
		var sub *pubsub
		if sub, err = subscribeAt(ctx, masters[addr].UniversalClient, channels, patience); err == nil {
			return &Subscription{sub, masters[addr].location}, nil
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, fmt.Errorf("subscribe to wake-ups: %w", err)
}

// channels are the channels of the topics, with their topics.
func (s *Subscriber) channels() map[string]int {
	all := make(map[string]int, len(s.Topics))
	for i, t := range s.Topics {
		all[protocol.WakeChannel(t.Name)] = i
	}
	return all
}

// master is a server that holds slots of the topics.
type master struct {
	redis.UniversalClient
	location
	near map[string]int // the near channels of the topics that have slots there, with their topics
}

// masters are all of them, by address. Where there is no Cluster it is the one server.
func (s *Subscriber) masters(ctx context.Context) map[string]master {
	all, many := map[string]master{}, cluster.IsCluster(s.Redis)
	for i, t := range s.Topics {
		found := map[string]bool{}
		for slot := range t.Slots {
			if len(all) > 0 && !many {
				return all
			}
			key := protocol.StoreKey(t.Name, slot)
			node, addr, err := cluster.MasterFor(ctx, s.Redis, key)
			if err != nil || found[addr] {
				continue
			}
			found[addr] = true // a higher slot is not the lowest
			if _, known := all[addr]; !known {
				all[addr] = master{node, location{addr, key}, map[string]int{}}
			}
			all[addr].near[protocol.NearChannel(t.Name, slot)] = i
		}
	}
	return all
}

// channelsAtOnce are subscribed to by one command.
const channelsAtOnce = 500

func subscribeAt(ctx context.Context, server redis.UniversalClient, channels map[string]int, patience time.Duration) (*pubsub, error) {
	sub := &pubsub{PubSub: server.Subscribe(ctx)}
	for channel, topic := range channels {
		sub.topics.Store(channel, topic)
	}
	// ReceiveTimeout ends at a deadline of ctx, but not when it is cancelled.
	stop := context.AfterFunc(ctx, func() { _ = sub.Close() })
	defer stop()
	for some := range slices.Chunk(slices.Collect(maps.Keys(channels)), channelsAtOnce) {
		err := sub.Subscribe(ctx, some...)
		for n := 0; n < len(some) && err == nil; {
			var note any
			if note, err = sub.ReceiveTimeout(ctx, patience); err == nil {
				if _, answer := note.(*redis.Subscription); answer {
					n++
				}
			}
		}
		if err != nil {
			_ = sub.Close()
			return nil, err
		}
	}
	return sub, nil
}

// Run passes on what is heard until the worker stops listening. When the subscription
// breaks it makes a new one, and says that wake-ups may have been missed.
func (s *Subscriber) Run(sub *Subscription) {
	if cluster.IsCluster(s.Redis) {
		s.Life.Go(s.followMasters)
	}
	for sub != nil {
		begun := time.Now()
		_, err := s.receive(sub.pubsub, s.Handler.Missed)
		if s.Life.Listening.Err() != nil {
			return
		}
		s.Log.Info("subscription to wake-ups is lost, and made anew", zap.String("server", sub.addr), zap.Error(err))
		s.Away.DoubtAt(sub.addr, sub.key, err)
		if time.Since(begun) < silence { // it may go on like that, and each time all slots are looked at
			wait.Sleep(s.Life.Listening, lastTry)
		}
		sub = s.subscribeAnew(sub.addr)
		for i := range s.Topics {
			s.Handler.Missed(i)
		}
	}
}

// subscribeAnew tries until there is a subscription, and returns none when the
// worker closes.
func (s *Subscriber) subscribeAnew(avoid string) *Subscription {
	for pause := firstTry; ; pause = min(2*pause, lastTry) {
		sub, err := s.subscribe(s.Life.Listening, avoid, silence)
		if err == nil {
			return sub
		}
		cluster.NoteError(s.Life.Listening, s.Redis, err)
		if !wait.Sleep(s.Life.Listening, pause) {
			return nil
		}
	}
}

// receive passes on what is heard until the subscription breaks or the worker stops listening, and closes
// it. It calls begun for each topic to which it is subscribed anew, and returns whether it stood.
func (s *Subscriber) receive(sub *pubsub, begun func(topic int)) (stood bool, err error) {
	defer sub.Close()
	stop := context.AfterFunc(s.Life.Listening, func() { _ = sub.Close() })
	defer stop()
	for wait := s.Silence; ; {
		note, err := sub.ReceiveTimeout(s.Life.Listening, wait)
		if err != nil {
			if reply := redis.Error(nil); wait == signOfLife || errors.As(err, &reply) || s.Life.Listening.Err() != nil {
				return stood, err
			}
			wait = signOfLife // the first error is silence, or the client has made a new connection
			if timeout := (net.Error)(nil); errors.As(err, &timeout) && timeout.Timeout() {
				_ = sub.Ping(s.Life.Listening)
			}
			continue
		}
		wait, stood = s.Silence, true
		switch note := note.(type) {
		case *redis.Subscription: // on a new connection
			if note.Kind == unsubscribed {
				sub.topics.Delete(note.Channel)
				cluster.Reload(s.Life.Listening, s.Redis)
			} else if i, ok := sub.topics.Load(note.Channel); ok {
				begun(i.(int))
			}
		case *redis.Message:
			if i, ok := sub.topics.Load(note.Channel); ok {
				s.pass(i.(int), note.Payload)
			}
		}
	}
}

// pass passes on what a payload says.
func (s *Subscriber) pass(topic int, payload string) {
	if payload == membersChanged {
		s.Handler.MembersChanged(topic)
	} else if payload == protocol.PolicyChanged {
		s.Handler.PolicyChanged(topic)
	} else if slot, holder, ok := protocol.ParseQuestion(payload); ok {
		s.Handler.Asked(topic, slot, holder)
	} else if slot, ok := protocol.ParseCancel(payload); ok {
		s.Handler.Cancelled(topic, slot)
	} else if slot, ok := protocol.ParsePlan(payload); ok {
		s.Handler.PlansChanged(topic, slot)
	} else if w, ok := flow.ParseWord(payload); ok {
		s.Handler.Led(topic, w)
	} else {
		protocol.ParseWake(payload, func(slot int, in time.Duration) { s.Handler.Woken(topic, slot, in) })
	}
}
