package wakeups

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/cluster"
	"github.com/slotmq/go-rmq/internal/wait"
)

// In a Cluster a producer announces what it has stored on one master by SPUBLISH, which that master
// passes on to no other: PUBLISH costs each of the others as much as two messages do. So a worker is
// subscribed at each master that has slots of its topics. Where nobody is, the producer publishes to
// all. So a subscription that is not made yet, or on a server that does not know SSUBSCRIBE, costs
// no wake-up unless another worker has its own already; and when it is made all slots are looked at.

// layoutEvery is how often the masters are compared with those that the worker is subscribed at.
// One that is lost is looked for at once.
const layoutEvery = 30 * time.Second

// unsubscribed is what a server says of a channel whose hash slot moves to another one.
const unsubscribed = "sunsubscribe"

var errMoved = errors.New("the channel has moved to another master")

// ear is the subscription at one master.
type ear struct {
	master
	end context.CancelFunc
}

// hearMasters keeps a subscription at each master until the worker stops listening.
func (e *Ears) hearMasters() {
	var running sync.WaitGroup
	defer running.Wait()
	ears, lost := map[string]*ear{}, make(chan *ear)
	for {
		masters := e.masters(e.Shift.Listening)
		for addr, old := range ears {
			if !maps.Equal(old.near, masters[addr].near) {
				old.end()
				delete(ears, addr)
			}
		}
		for addr, m := range masters {
			if ears[addr] != nil {
				continue
			}
			ctx, end := context.WithCancel(e.Shift.Listening)
			made := &ear{m, end}
			ears[addr] = made
			running.Go(func() {
				e.hearMaster(ctx, m)
				select {
				case lost <- made:
				case <-ctx.Done():
				}
			})
		}
		select {
		case <-e.Shift.Listening.Done():
			return
		case gone := <-lost:
			gone.end()
			if ears[gone.addr] == gone {
				delete(ears, gone.addr)
			}
			wait.Sleep(e.Shift.Listening, lastTry) // it may go on like that, and each time all slots are looked at
		case <-time.After(layoutEvery):
		}
	}
}

// hearMaster passes on what is heard at one master until its subscription is lost.
func (e *Ears) hearMaster(ctx context.Context, m master) {
	sub, err := subscribeAt(ctx, m.UniversalClient, slices.Collect(maps.Keys(m.near)), (*redis.PubSub).SSubscribe, 1)
	if err == nil {
		for _, topic := range m.near {
			e.Hearer.Missed(topic)
		}
		if err = e.receive(ctx, sub, m.near); ctx.Err() == nil {
			e.Log.Info("subscription to wake-ups is lost, and made anew", zap.String("server", m.addr), zap.Error(err))
		}
	}
	if ctx.Err() != nil {
		return
	}
	cluster.NoteError(ctx, e.Redis, err)
	if cluster.Refused(err) && !cluster.Passes(err) { // an old server, or one that grants no right to it
		wait.Sleep(ctx, layoutEvery)
	}
}
