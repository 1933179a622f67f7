package wakeups

import (
	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/lifetime"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/servers/cluster"
	"github.com/slotmq/go-rmq/internal/worker/flow"
)

// Publisher publishes what the other workers of a topic are to know. What gets lost costs
// only time. A topic is named with its namespace. Left, Ask and Lead return at once;
// MembersChanged waits for Redis.
type Publisher struct {
	Life  *lifetime.Lifetime
	Redis redis.UniversalClient
	Log   *zap.Logger
}

// Left says that a slot was left, so that the worker that is to work at it begins.
func (p *Publisher) Left(topic string, slot int) {
	p.publish(topic, slot, protocol.AppendWake(nil, slot, 0))
}

// Ask asks the holder of a slot whether it carries the batch that is in flight there.
func (p *Publisher) Ask(topic string, slot int, holder string) {
	p.publish(topic, slot, protocol.AppendQuestion(nil, slot, holder))
}

// Lead reports to the other workers of a topic how many handlers this one keeps, and how many it tries.
func (p *Publisher) Lead(topic string, w flow.Word) {
	p.publish(topic, 0, w.Append(nil))
}

// publish publishes in the background, through the server that holds the slot, because that
// one has just answered.
func (p *Publisher) publish(topic string, slot int, payload []byte) {
	p.Life.Go(func() {
		server, _, err := cluster.MasterFor(p.Life.Requests, p.Redis, protocol.StoreKey(topic, slot))
		if err == nil {
			err = server.Publish(p.Life.Requests, protocol.WakeChannel(topic), payload).Err()
		}
		if err != nil {
			p.Log.Debug("wake-up or question was not published", zap.String("topic", topic), zap.Error(err))
		}
	})
}

// membersChanged is what a worker publishes on a topic's channel when it comes
// or goes.
const membersChanged = "members"

// MembersChanged says that the lists of members of some topics, which are on one server,
// have changed.
func (p *Publisher) MembersChanged(topics []string) {
	if len(topics) == 0 {
		return
	}
	server, _, err := cluster.MasterFor(p.Life.Requests, p.Redis, protocol.WorkersKey(topics[0]))
	if err == nil {
		pipe := server.Pipeline()
		for _, t := range topics {
			pipe.Publish(p.Life.Requests, protocol.WakeChannel(t), membersChanged)
		}
		_, err = pipe.Exec(p.Life.Requests)
	}
	if err != nil {
		p.Log.Debug("changes of the list of members were not published", zap.Error(err))
	}
}
