package consumer

import (
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
	slots    []*slot
	size     batchSize
	looking  sync.Mutex // held during a safety look

	// Guarded by schedule.mu.
	used    int     // places taken
	waiting []*slot // ready, but for a place
}

func newTopic(t message.Topic, namespace string, l MessageListener, o ListenOptions) *topic {
	t = t.WithDefaults()
	return &topic{Topic: t, name: luascripts.Qualify(namespace, t.Name), opts: o, listener: l}
}

func (t *topic) makeSlots() {
	t.used, t.waiting = 0, nil
	t.slots = make([]*slot, t.Slots)
	for i := range t.slots {
		x := &slot{topic: t, index: i, inHeap: -1}
		x.turn.Keys, x.turn.Priority = luascripts.KeysOf(t.name, i), t.Kind == message.KindPriority
		t.slots[i] = x
	}
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
