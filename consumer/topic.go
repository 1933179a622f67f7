package consumer

import (
	"fmt"
	"sync"
	"time"

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
	looking  sync.Mutex // held during a safety look
	looks    int
	clock    serverClock

	// Guarded by schedule.mu.
	used    int     // places taken
	waiting []*slot // ready, but for a place
	hung    []*slot // left to handlers that ignore their context, until those return
}

func newTopic(t message.Topic, namespace string, l MessageListener, o ListenOptions) *topic {
	t = t.WithDefaults()
	return &topic{Topic: t, name: luascripts.Qualify(namespace, t.Name), opts: o, listener: l}
}

func (t *topic) makeSlots(worker string) {
	t.worker, t.used, t.waiting = worker, 0, nil
	t.slots = make([]*slot, t.Slots)
	for i := range t.slots {
		t.slots[i] = t.newSlot(i, 0)
	}
}

func (t *topic) newSlot(index, incarnation int) *slot {
	x := &slot{topic: t, index: index, incarnation: incarnation, worker: t.worker, inHeap: -1}
	if incarnation > 0 {
		x.worker = fmt.Sprintf("%s+%d", t.worker, incarnation)
	}
	x.turn.Keys, x.turn.Priority = luascripts.KeysOf(t.name, index), t.Kind == message.KindPriority
	return x
}

// batchTarget is how long a batch should take: short enough that an urgent
// message, a retry or a move of the slot need not wait long, long enough that
// turns cost little beside the work.
const batchTarget = 10 * time.Millisecond

const (
	firstBatch = 16
	batchBytes = 1 << 20
)

// batchSize follows how long the topic's messages take and how large they are.
type batchSize struct {
	mu      sync.Mutex
	known   bool
	average time.Duration // for one message
	bytes   int           // of one message
}

func (b *batchSize) learn(took time.Duration, messages, bytes int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	each, size := took/time.Duration(messages), bytes/messages
	if !b.known {
		b.known, b.average, b.bytes = true, each, size
		return
	}
	b.average += (each - b.average) / 4
	b.bytes += (size - b.bytes) / 4
}

func (b *batchSize) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.known {
		return firstBatch
	}
	n := luascripts.MaxBatch
	if b.average > 0 {
		n = int(min(time.Duration(n), batchTarget/b.average))
	}
	if b.bytes > 0 {
		n = min(n, batchBytes/b.bytes)
	}
	return max(1, n)
}
