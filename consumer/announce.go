package consumer

import (
	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/cluster"
	"github.com/slotmq/go-rmq/luascripts"
)

// announcer publishes on the topics' channels: that a slot was left, or a question about
// one. What gets lost costs only time.
type announcer struct {
	shift *shift
	rdb   redis.UniversalClient
	log   *zap.Logger
}

// announce publishes in the background, through the server that holds a key, because that
// one has just answered.
func (c *announcer) announce(t *topic, key string, payload []byte) {
	c.shift.announcing.Go(func() {
		server, _, err := cluster.MasterFor(c.shift.requests, c.rdb, key)
		if err == nil {
			err = server.Publish(c.shift.requests, luascripts.WakeChannel(t.name), payload).Err()
		}
		if err != nil {
			c.log.Debug("wake-up was not published", zap.String("topic", t.Name), zap.Error(err))
		}
	})
}

// membersChanged is what a worker publishes on a topic's channel when it comes
// or goes.
const membersChanged = "members"

// announceMembers lets the other workers of some topics, whose lists are on one server,
// know that these have changed.
func (c *announcer) announceMembers(topics []*topic) {
	if len(topics) == 0 {
		return
	}
	server, _, err := cluster.MasterFor(c.shift.requests, c.rdb, luascripts.WorkersKey(topics[0].name))
	if err == nil {
		pipe := server.Pipeline()
		for _, t := range topics {
			pipe.Publish(c.shift.requests, luascripts.WakeChannel(t.name), membersChanged)
		}
		_, err = pipe.Exec(c.shift.requests)
	}
	if err != nil {
		c.log.Debug("changes of the list of members were not published", zap.Error(err))
	}
}
