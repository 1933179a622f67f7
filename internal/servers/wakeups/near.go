package wakeups

import (
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/servers/cluster"
	"github.com/slotmq/go-rmq/internal/servers/wait"
)

// In a Cluster a producer announces what it has stored on one master by SPUBLISH, which that master passes
// on to no other master: PUBLISH costs each of the others as much as two messages do, and comes late. So a
// worker is subscribed at each master that has slots of its topics, to one channel for each topic. If no
// worker is subscribed there, the producer publishes to all masters. Whenever a subscription has begun, the
// slots of its topic are looked at.
//
// Which channel that is depends on where the slots are, and two programs may see it differently for a
// while. So a worker compares every few seconds, and keeps what it was subscribed to; and a producer
// that sees slots move publishes to all for longer than that.

// layoutEvery is how often the worker looks where the slots of its topics are.
const layoutEvery = 5 * time.Second

// unsubscribed is what a server says of a channel whose hash slot moves to another one.
const unsubscribed = "sunsubscribe"

// followMasters keeps a subscription at each master until the worker stops listening.
func (s *Subscriber) followMasters() {
	listening := s.Life.Listening
	var running sync.WaitGroup
	defer running.Wait()
	subs, known, lost := map[string]*pubsub{}, map[string]bool{}, make(chan string)
	for {
		begun := time.Now()
		masters := s.masters(listening)
		took := time.Since(begun)
		for addr, sub := range subs {
			if _, still := masters[addr]; !still {
				running.Go(func() { _ = sub.Close() }) // so it is lost; it may wait for a server that hangs
			}
		}
		for addr, m := range masters {
			sub := subs[addr]
			if sub == nil {
				sub = &pubsub{PubSub: m.Subscribe(listening)}
				first := !known[addr]
				subs[addr], known[addr] = sub, true
				running.Go(func() {
					s.receiveFrom(sub, addr, first)
					select {
					case lost <- addr:
					case <-listening.Done():
					}
				})
			}
			running.Go(func() { s.subscribeNear(sub, m) })
		}
		select {
		case <-listening.Done():
			return
		case addr := <-lost:
			delete(subs, addr)
		case <-time.After(max(layoutEvery, 100*took)): // with very many topics it takes at most a hundredth of a processor
			cluster.Reload(listening, s.Redis) // in the background: the next look has it
		}
	}
}

// subscribeNear subscribes to the channels of a master that are new. One that hangs would hold up others.
func (s *Subscriber) subscribeNear(sub *pubsub, m master) {
	for channel, topic := range m.near {
		if _, listens := sub.topics.LoadOrStore(channel, topic); listens {
			continue
		}
		if err := sub.SSubscribe(s.Life.Listening, channel); err != nil { // its receiver may learn nothing of that
			sub.topics.Delete(channel)
		}
	}
}

// receiveFrom passes on what one master publishes until its subscription is lost, and a moment more.
func (s *Subscriber) receiveFrom(sub *pubsub, addr string, first bool) {
	stood, err := s.receive(sub, s.Handler.Overslept)
	if s.Life.Listening.Err() != nil {
		return
	}
	cluster.NoteError(s.Life.Listening, s.Redis, err)
	if stood || first {
		s.Log.Info("subscription to wake-ups is lost, and made anew", zap.String("server", addr), zap.Error(err))
	}
	pause := lastTry // it may go on like that, and each time all slots are looked at
	// A client that has made a new connection names all channels in one command, which is refused, too.
	if cluster.Refused(err) && !cluster.Passes(err) && !redis.HasErrorPrefix(err, "CROSSSLOT") {
		pause = refusedFor // by an old server, or one that grants no right to it
	}
	wait.Sleep(s.Life.Listening, pause)
}

// refusedFor is how long a server that knows no such subscription, or refuses it, is left alone.
const refusedFor = 30 * time.Second
