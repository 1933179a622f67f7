package ask

import (
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/record"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/slots"
)

// Ground is what all subjects ask Redis with.
type Ground struct {
	Redis     redis.UniversalClient
	Scripts   *protocol.Scripts
	Namespace string         // of all topics
	Slots     slots.Sharing  // by ZooKeeper; nil: by Redis alone
	Journal   record.Journal // nil: there is none
	Hide      bool           // contents stay out of texts about other messages
	Masters   LastAnswers
}

// Topic is a topic as it is defined in Redis.
type Topic struct {
	message.Topic
	Sharing   string    // how workers share its slots: "redis", "zookeeper", or empty: no worker has started yet
	Created   time.Time // zero: it is not known
	Namespace string    // that its programs use; if none is stored, that of the inspector
	Foreign   bool      // Namespace is not the inspector's, so it cannot see the topic's workers in ZooKeeper
}

// Keys are those of one slot of a topic.
func (g *Ground) Keys(topic string, slot int) protocol.SlotKeys {
	return protocol.KeysOf(g.Qualified(topic), slot)
}

// Qualified is the topic's name as it is in keys.
func (g *Ground) Qualified(topic string) string { return protocol.Qualify(g.Namespace, topic) }
