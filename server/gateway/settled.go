package gateway

import (
	"github.com/slotmq/go-rmq/luascripts"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/poll"
)

// What takers say of messages is counted here, and not by an observer of the poller: to tell that one what became of each
// message, every finish would have to read the contents of its batch.

// outcomes is how many messages of a batch had which, in the words of results; rest is that of all others, "" if they are done.
type outcomes struct {
	of   map[string]int
	rest string
}

func (o *outcomes) add(outcome string, all bool) {
	if all {
		o.rest = outcome
		return
	}
	set(&o.of, outcome, o.of[outcome]+1)
}

// whatBecame is what the outcomes are called in metrics.
var whatBecame = map[string]message.What{"": message.Done, failed: message.Failed, dead: message.Died, later: message.Snoozed, notStarted: message.HandedBack}

// settled counts what became of a batch.
func (c *call) settled(receipt string, said outcomes) {
	name, err := poll.TopicOf(receipt)
	left, err2 := poll.SizeOf(receipt)
	if err != nil || err2 != nil {
		return // it was finished, so it is one
	}
	topic := luascripts.Qualify(c.cfg.Namespace, name)
	for outcome, n := range said.of {
		c.metrics.count(topic, whatBecame[outcome], n)
		left -= n
	}
	c.metrics.count(topic, whatBecame[said.rest], left)
}
