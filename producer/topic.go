package producer

import (
	"context"
	"errors"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slotmq/go-rmq/internal/definition"
	"github.com/slotmq/go-rmq/luascripts"
	"github.com/slotmq/go-rmq/message"
)

// topic is what a producer keeps about a topic it sends to.
type topic struct {
	message.Topic
	name string // qualified by the namespace

	mu     sync.Mutex   // held while the definition is compared
	agreed atomic.Int64 // when to compare it again, since epoch; 0: it never agreed

	stores   []string // keys by slot, made when first used; used by the flusher only
	lanes    []int32  // by slot: 1 + index of the slot's lane in flight inFlight; guarded by Producer.mu
	inFlight uint64
}

// epoch makes monotonic moments fit an atomic integer.
var epoch = time.Now()

// topic returns what is kept about t, once its definition has agreed with the
// stored one. To compare it again now and then is up to the flusher, so that no
// Send waits for that.
func (p *Producer) topic(ctx context.Context, t message.Topic) (*topic, error) {
	if known := (*p.topics.Load())[t]; known != nil && known.agreed.Load() > 0 {
		return known, nil
	}
	if err := t.Validate(); err != nil {
		return nil, err
	}
	p.mu.Lock()
	known := (*p.topics.Load())[t]
	if known == nil {
		full := t.WithDefaults()
		known = &topic{
			Topic: full, name: luascripts.Qualify(p.cfg.Namespace, t.Name),
			stores: make([]string, full.Slots), lanes: make([]int32, full.Slots),
		}
		grown := maps.Clone(*p.topics.Load())
		grown[t] = known
		p.topics.Store(&grown)
	}
	p.mu.Unlock()
	return known, p.agree(ctx, known)
}

// agree compares the topic's definition with the stored one, unless that was
// done lately.
func (p *Producer) agree(ctx context.Context, t *topic) error {
	due := func() bool { return int64(time.Since(epoch)) >= t.agreed.Load() }
	if !due() {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !due() {
		return nil
	}
	err := definition.Agree(ctx, p.scripts, t.name, t.Topic, "")
	now := time.Since(epoch)
	switch {
	case err == nil:
		t.agreed.Store(int64(now + recheck))
	case errors.Is(err, message.ErrTopicConflict):
		t.agreed.Store(0)
	case t.agreed.Load() > 0:
		// It agreed before, and definitions do not change. The write that
		// follows will tell what is wrong with Redis.
		t.agreed.Store(int64(now + time.Second))
		return nil
	}
	return err
}

// store returns the key of a slot's store, which is made once only.
func (t *topic) store(slot int) string {
	if t.stores[slot] == "" {
		t.stores[slot] = luascripts.StoreKey(t.name, slot)
	}
	return t.stores[slot]
}
