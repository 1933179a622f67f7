package wakeups

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/lifetime"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/servers/away"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
)

var ctx = context.Background()

// listener notes what it hears, and how often it overslept.
type listener struct {
	Handler
	mu        sync.Mutex
	woken     map[spot]int // a topic's slot, how often
	overslept map[int]int
}

type spot struct{ topic, slot int }

func (l *listener) Woken(topic, slot int, _ time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.woken[spot{topic, slot}]++
}

func (l *listener) Overslept(topic int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.overslept[topic]++
}

func (l *listener) Missed(int) {}

func (l *listener) heard(topic, slot int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.woken[spot{topic, slot}]
}

func (l *listener) looks(topic int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.overslept[topic]
}

var topics = []Topic{{Name: "wide", Slots: 16}, {Name: "wider", Slots: 32}}

// listening is a worker that only listens.
func listening(t *testing.T, rdb redis.UniversalClient) (*Subscriber, *listener) {
	t.Helper()
	l := &listener{woken: map[spot]int{}, overslept: map[int]int{}}
	s := lifetime.New()
	e := &Subscriber{Life: s, Redis: rdb, Topics: topics, Handler: l, Silence: silence, Log: zap.NewNop(), Away: &away.Watch{
		Log: away.In(zap.NewNop()), Redis: rdb, Ctx: s.Background, Go: func(look func()) bool { s.Go(look); return true },
	}}
	sub, err := e.Subscribe(ctx)
	must.Do(t, err)
	s.Go(func() { e.Run(sub) })
	t.Cleanup(func() {
		s.EndBackground()
		s.EndListening()
		s.Wait()
	})
	return e, l
}

// announce publishes at each master what a producer would, until so many hear each of it, and returns for
// which slots.
func announce(t *testing.T, e *Subscriber, listeners int64) (all []spot) {
	t.Helper()
	await.True(t, "all listen", func() bool {
		all = nil
		for _, m := range e.masters(ctx) {
			for topic, x := range topics {
				for slot := range x.Slots {
					channel := protocol.NearChannel(x.Name, slot)
					if _, lowest := m.near[channel]; !lowest {
						continue
					}
					if m.Do(ctx, "spublish", channel, protocol.AppendWake(nil, slot, 0)).Val() != listeners {
						return false
					}
					all = append(all, spot{topic, slot})
				}
			}
		}
		return true
	})
	slices.SortFunc(all, func(a, b spot) int { return 100*(a.topic-b.topic) + a.slot - b.slot })
	return all
}

// What is published at one master is heard there by each worker: also after its connections were cut, and
// after a hash slot has moved to another master, or there and back. And whenever a subscription has begun
// the slots of its topic are looked at.
func TestEachMasterIsHeard(t *testing.T) {
	t.Parallel()
	cluster := servertest.Cluster(t, 3, 0)
	e, one := listening(t, cluster.Client(t))
	_, other := listening(t, cluster.Client(t))
	both := []*listener{one, other}
	hear := func(when string) []spot {
		t.Helper()
		before := map[spot][2]int{}
		for topic, x := range topics {
			for slot := range x.Slots {
				before[spot{topic, slot}] = [2]int{one.heard(topic, slot), other.heard(topic, slot)}
			}
		}
		all := announce(t, e, 2)
		for _, s := range all {
			for i, l := range both {
				await.True(t, when+", each hears it", func() bool { return l.heard(s.topic, s.slot) > before[s][i] })
			}
		}
		return all
	}
	first := hear("at first")
	if len(first) != 6 {
		t.Fatalf("two topics at three masters have %d channels", len(first))
	}
	looks := [2]int{one.looks(0), other.looks(1)}
	if looks[0] < 3 || looks[1] < 3 {
		t.Errorf("a worker has looked %d times at the one topic, another %d times at the other", looks[0], looks[1])
	}

	for _, node := range cluster.Nodes() {
		must.Do(t, node.Client(t).Do(ctx, "client", "kill", "type", "pubsub").Err())
	}
	hear("after a cut")
	await.True(t, "where a subscription was made anew, the slots are looked at", func() bool {
		return one.looks(0) >= looks[0]+3 && other.looks(1) >= looks[1]+3
	})

	lowest := protocol.StoreKey("wide", 0)
	home := cluster.MasterOf(t, lowest)
	cluster.Migrate(t, lowest).Finish(t)
	moved := hear("after a slot has moved")
	await.True(t, "another slot is the lowest of a master", func() bool { // the client learns it
		moved = hear("after a slot has moved")
		return !slices.Equal(moved, first)
	})
	for _, was := range first { // what a producer may still publish on that has not seen it
		await.True(t, "a channel of before is heard", func() bool {
			channel := protocol.NearChannel(topics[was.topic].Name, was.slot)
			return cluster.MasterOf(t, protocol.StoreKey(topics[was.topic].Name, was.slot)).Client(t).SPublish(ctx, channel, "").Val() > 0 // both, unless a connection was made anew
		})
	}

	cluster.MoveSlot(t, cluster.Slot(t, lowest), home).Finish(t)
	await.True(t, "all is as it was", func() bool { return slices.Equal(hear("home again"), first) })
	away := cluster.Migrate(t, lowest)
	away.Finish(t)
	cluster.MoveSlot(t, away.Slot, home).Finish(t)
	await.True(t, "all is as it was", func() bool { return slices.Equal(hear("there and back"), first) })
}

// A subscription that is lost, and is still told to listen, takes no channel from the one that is heard.
func TestLostSubscriptionTakesNothing(t *testing.T) {
	t.Parallel()
	e, l := listening(t, servertest.SharedRedis(t).Client(t))
	for _, m := range e.masters(ctx) {
		lost, stands := &pubsub{PubSub: m.Subscribe(ctx)}, &pubsub{PubSub: m.Subscribe(ctx)}
		must.Do(t, lost.Close())
		e.Life.Go(func() { e.receiveFrom(stands, m.addr, false) })
		e.subscribeNear(stands, m)
		e.subscribeNear(lost, m)
		await.True(t, "what is published is heard", func() bool {
			must.Do(t, m.Do(ctx, "spublish", protocol.NearChannel("wide", 0), protocol.AppendWake(nil, 0, 0)).Err())
			return l.heard(0, 0) > 0
		})
	}
}

// A master that hangs holds up its own channels and no others. When it goes on, or a replica has taken its
// place, each worker hears it again, and has looked at its slots.
func TestMastersThatHangOrFail(t *testing.T) {
	t.Parallel()
	cluster := servertest.Cluster(t, 3, 1)
	e, l := listening(t, cluster.Client(t))
	all := announce(t, e, 1)
	lowest := protocol.StoreKey("wide", 0)
	at := func(s spot) *servertest.Server {
		return cluster.MasterOf(t, protocol.StoreKey(topics[s.topic].Name, s.slot))
	}
	publish := func(s spot) int64 {
		heard, _ := at(s).Client(t).Do(ctx, "spublish", protocol.NearChannel(topics[s.topic].Name, s.slot), protocol.AppendWake(nil, s.slot, 0)).Int64()
		return heard
	}
	hung := cluster.MasterOf(t, lowest)
	var others []spot
	for _, s := range all {
		if at(s) != hung {
			others = append(others, s)
		}
	}
	looks := [2]int{l.looks(0), l.looks(1)} // before: on a busy machine a replica may take the place of the one that hangs, at any time
	hung.Pause()
	for range 3 {
		for _, s := range others {
			before := l.heard(s.topic, s.slot)
			await.True(t, "another master is heard", func() bool { return publish(s) == 1 && l.heard(s.topic, s.slot) > before })
		}
	}
	hung.Resume()
	cluster.AwaitReady(t)

	was := cluster.MasterOf(t, lowest)
	if cluster.Failover(t, lowest) == was {
		t.Fatal("it is the master still")
	}
	for _, s := range announce(t, e, 1) {
		before := l.heard(s.topic, s.slot)
		await.True(t, "each master is heard", func() bool { return publish(s) == 1 && l.heard(s.topic, s.slot) > before })
	}
	for topic := range topics {
		await.True(t, "the slots of the new master are looked at", func() bool { return l.looks(topic) > looks[topic] })
	}
}
