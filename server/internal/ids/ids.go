package ids

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/script"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/rmq"
)

var (
	//go:embed begin.lua
	beginSource string
	beginScript = script.New(beginSource)

	//go:embed back.lua
	backSource string
	backScript = script.New(backSource)

	//go:embed forget.lua
	forgetSource string
	forgetScript = script.New(forgetSource)
)

const (
	keptFor = 30 * 24 * time.Hour // since the last try: longer than any pause between two
	atOnce  = 256                 // messages in one call of a script
	usually = time.Second         // the rest is kept for keptFor, and does no harm
)

// IDs are those of a process. It observes what becomes of the messages.
type IDs struct {
	rdb       redis.UniversalClient
	namespace string
	fresh     func(topic string, slot int, fence int64, content string) string
	within    time.Duration // for all ids of a batch
	busy      sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	batches map[string]*batch // that are under way, by store
}

// batch are the ids of messages that were taken together.
type batch struct {
	fence int64
	left  int           // that have not ended; guarded by IDs.mu
	begun chan struct{} // closed when ids are complete, as far as Redis has answered
	ids   map[string]string
}

// entry is a message of a batch.
type entry struct {
	key     string
	attempt int
	fresh   string
}

// New returns ids that are kept in a Redis. An id that begins is made by fresh, for a topic without its namespace.
func New(rdb redis.UniversalClient, namespace string, fresh func(topic string, slot int, fence int64, content string) string) *IDs {
	return &IDs{rdb: rdb, namespace: namespace, fresh: fresh, within: usually, batches: map[string]*batch{}}
}

// storeOf is the store of a delivery.
func (i *IDs) storeOf(d *rmq.Delivery) string {
	return protocol.StoreKey(protocol.Qualify(i.namespace, d.Topic.Name), d.Slot)
}

// keyOf names what Redis has of a content.
func keyOf(store, content string) string {
	sum := sha256.Sum256([]byte(content))
	return "pushed{" + store + "}:" + hex.EncodeToString(sum[:12])
}

func (i *IDs) entryOf(store, topic string, slot int, fence int64, content string, attempt int) entry {
	return entry{keyOf(store, content), attempt, i.fresh(topic, slot, fence, content)}
}

// Observe begins the ids of a batch when it was taken, and forgets them when its messages have ended in Redis.
func (i *IDs) Observe(e *message.Event) {
	store := protocol.StoreKey(e.Topic.Name, e.Slot)
	topic := e.Topic.Name[len(protocol.Qualify(i.namespace, "")):]
	var taken []entry
	var over []string
	ended := 0
	for _, item := range e.Items {
		switch item.What {
		case message.Taken:
			taken = append(taken, i.entryOf(store, topic, e.Slot, e.Fence, item.Content, item.Attempt))
		case message.Done, message.Died, message.Dropped:
			over = append(over, keyOf(store, item.Content))
			ended++
		case message.Failed, message.Snoozed, message.HandedBack, message.Overtaken:
			ended++
		}
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.closed {
		return // a later try asks again
	}
	b := i.batches[store]
	if taken != nil {
		b = &batch{fence: e.Fence, left: len(taken), begun: make(chan struct{}), ids: map[string]string{}}
		i.batches[store] = b
	} else if b != nil && b.fence == e.Fence {
		if b.left -= ended; b.left <= 0 {
			delete(i.batches, store)
		}
	}
	if taken != nil {
		i.busy.Go(func() {
			defer close(b.begun)
			ctx, cancel := context.WithTimeout(context.Background(), i.within)
			defer cancel()
			_ = i.begin(ctx, b.fence, taken, b.ids) // each try asks again
		})
	}
	if over != nil {
		fence := e.Fence
		i.busy.Go(func() { i.forget(fence, over) })
	}
}

// begin begins the messages of a batch, and notes their ids by their keys.
func (i *IDs) begin(ctx context.Context, fence int64, all []entry, ids map[string]string) error {
	for some := range slices.Chunk(all, atOnce) {
		args := beginScript.Call(len(some), 3*len(some)+2)
		for _, e := range some {
			args = append(args, e.key)
		}
		args = append(args, fence, keptFor.Milliseconds())
		for _, e := range some {
			args = append(args, e.attempt, e.fresh)
		}
		cmd := redis.NewStringSliceCmd(ctx, args...)
		script.Exec(ctx, i.rdb, cmd)
		if err := script.Err(cmd); err != nil {
			return err
		}
		for n, e := range some {
			ids[e.key] = cmd.Val()[n]
		}
	}
	return nil
}

// forget makes Redis forget the ids of messages that have ended.
func (i *IDs) forget(fence int64, over []string) {
	ctx, cancel := context.WithTimeout(context.Background(), i.within)
	defer cancel()
	for some := range slices.Chunk(over, atOnce) {
		args := forgetScript.Call(len(some), len(some)+1)
		for _, key := range some {
			args = append(args, key)
		}
		script.Exec(ctx, i.rdb, redis.NewCmd(ctx, append(args, fence)...))
	}
}

// Begin returns the id of a try. If another worker has begun with a later batch of the content, the error is
// rmq.ErrLeaseLost.
func (i *IDs) Begin(ctx context.Context, d *rmq.Delivery) (string, error) {
	store := i.storeOf(d)
	e := i.entryOf(store, d.Topic.Name, d.Slot, d.Fence, d.Content, d.Attempt)
	i.mu.Lock()
	b := i.batches[store]
	i.mu.Unlock()
	ids := map[string]string{}
	if b != nil && b.fence == d.Fence {
		select {
		case <-b.begun:
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
		ids = b.ids
	}
	id, known := ids[e.key]
	if !known {
		one := map[string]string{}
		if err := i.begin(ctx, d.Fence, []entry{e}, one); err != nil {
			return "", err
		}
		id = one[e.key]
	}
	if id == "" {
		return "", rmq.ErrLeaseLost
	}
	return id, nil
}

// Back notes that the target has surely not handled a first try. Without that note its next try has another id; so if
// it cannot be noted, no message is lost.
func (i *IDs) Back(ctx context.Context, d *rmq.Delivery) {
	if d.Attempt == 1 {
		cmd := redis.NewCmd(ctx, append(backScript.Call(1, 2), keyOf(i.storeOf(d), d.Content), strconv.FormatInt(d.Fence, 10))...)
		script.Exec(ctx, i.rdb, cmd)
	}
}

// Check is an error if the user of Redis may not keep the ids of a topic. It says nothing of a Redis that does not answer.
func (i *IDs) Check(ctx context.Context, topic string) error {
	store := protocol.StoreKey(protocol.Qualify(i.namespace, topic), 0)
	err := i.rdb.HDel(ctx, keyOf(store, ""), "-").Err()
	if redis.HasErrorPrefix(err, "NOPERM") {
		return fmt.Errorf("rights to the webhook-ids of topic %s: %w; see docs/DEPLOYMENT.md", topic, err)
	}
	return nil
}

// Close waits until Redis has forgotten what has ended, but no longer than ctx.
func (i *IDs) Close(ctx context.Context) {
	i.mu.Lock()
	i.closed = true
	i.mu.Unlock()
	done := make(chan struct{})
	go func() {
		i.busy.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
}
