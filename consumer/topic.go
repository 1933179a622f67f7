package consumer

import (
	"fmt"
	"sync"

	"github.com/slotmq/go-rmq/luascripts"
	"github.com/slotmq/go-rmq/message"
)

// topic is what a consumer keeps about a topic it listens to.
type topic struct {
	message.Topic
	name     string // qualified by the namespace
	opts     ListenOptions
	listener MessageListener
	worker   string // id of the consumer
	slots    []*slot
	size     batchSize
	looking  sync.Mutex    // held while the results of a safety look are compared
	lookNow  chan struct{} // there is a reason for a safety look
	poke     chan struct{} // the list of members has changed

	// Guarded by schedule.mu.
	used    int     // places taken
	waiting []*slot // ready, but for a place
	hung    []*slot // left to handlers that ignore their context, until those return
}

func newTopic(t message.Topic, namespace string, l MessageListener, o ListenOptions) *topic {
	t = t.WithDefaults()
	return &topic{
		Topic: t, name: luascripts.Qualify(namespace, t.Name), opts: o, listener: l,
		lookNow: make(chan struct{}, 1), poke: make(chan struct{}, 1),
	}
}

func (t *topic) makeSlots(worker string) {
	t.worker, t.used, t.waiting = worker, 0, nil
	t.slots = make([]*slot, t.Slots)
	for i := range t.slots {
		t.slots[i] = t.newSlot(i, 0)
	}
}

// newSlot makes a slot, or another incarnation of one, which takes turns under a
// worker's id of its own.
func (t *topic) newSlot(index, incarnation int) *slot {
	x := &slot{topic: t, index: index, incarnation: incarnation, worker: t.worker, inHeap: -1}
	if incarnation > 0 {
		x.worker = fmt.Sprintf("%s+%d", t.worker, incarnation)
	}
	x.turn.Keys, x.turn.Priority = luascripts.KeysOf(t.name, index), t.Kind == message.KindPriority
	return x
}
