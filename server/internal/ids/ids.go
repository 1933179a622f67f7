package ids

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/script"
	"github.com/slotmq/go-rmq/luascripts"
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

// keptFor is how long Redis keeps an id after the last try: longer than any pause between two.
const keptFor = 30 * 24 * time.Hour

// IDs are those of a process. It observes what becomes of the messages.
type IDs struct {
	rdb       redis.UniversalClient
	namespace string

	mu    sync.Mutex
	ended map[string][]ending // by store; the next try of the slot has Redis forget them
}

// ending is that of a message.
type ending struct {
	key   string
	fence int64
}

// New returns ids that are kept in a Redis.
func New(rdb redis.UniversalClient, namespace string) *IDs {
	return &IDs{rdb: rdb, namespace: namespace, ended: map[string][]ending{}}
}

// keyOf names what Redis has of a content.
func keyOf(store, content string) string {
	sum := sha256.Sum256([]byte(content))
	return "pushed{" + store + "}:" + hex.EncodeToString(sum[:12])
}

func (i *IDs) storeOf(d *rmq.Delivery) string {
	return luascripts.StoreKey(luascripts.Qualify(i.namespace, d.Topic.Name), d.Slot)
}

// Begin returns the id of a try. It is fresh if a wait begins with it. If another worker has begun with a later batch of the
// content, the error is rmq.ErrLeaseLost.
func (i *IDs) Begin(ctx context.Context, d *rmq.Delivery, fresh string) (string, error) {
	store := i.storeOf(d)
	id := redis.NewCmd(ctx, append(beginScript.Call(1, 5), keyOf(store, d.Content), d.Attempt, d.Fence, fresh, keptFor.Milliseconds())...)
	if err := i.exec(ctx, store, id); err != nil {
		return "", err
	}
	text, err := id.Text()
	if err == nil && text == "" {
		err = rmq.ErrLeaseLost
	}
	return text, err
}

// exec sends a command, and before it what there is to forget in its slot.
func (i *IDs) exec(ctx context.Context, store string, cmds ...redis.Cmder) error {
	i.mu.Lock()
	over := i.ended[store]
	delete(i.ended, store)
	i.mu.Unlock()
	if len(over) > 0 {
		args := forgetScript.Call(len(over), 2*len(over))
		for _, e := range over {
			args = append(args, e.key)
		}
		for _, e := range over {
			args = append(args, e.fence)
		}
		cmds = append([]redis.Cmder{redis.NewCmd(ctx, args...)}, cmds...)
	}
	script.Exec(ctx, i.rdb, cmds...)
	for _, cmd := range cmds {
		if err := script.Err(cmd); err != nil {
			i.add(store, over)
			return err
		}
	}
	return nil
}

func (i *IDs) add(store string, over []ending) {
	if len(over) > 0 {
		i.mu.Lock()
		i.ended[store] = append(i.ended[store], over...)
		i.mu.Unlock()
	}
}

// Back notes that the target has surely not handled a first try. Without that note its next try would have another id, so
// what cannot be noted costs no message.
func (i *IDs) Back(ctx context.Context, d *rmq.Delivery) {
	if d.Attempt == 1 {
		cmd := redis.NewCmd(ctx, append(backScript.Call(1, 2), keyOf(i.storeOf(d), d.Content), strconv.FormatInt(d.Fence, 10))...)
		script.Exec(ctx, i.rdb, cmd)
	}
}

// Observe notes what has ended, when Redis has let go of it.
func (i *IDs) Observe(e *message.Event) {
	store := luascripts.StoreKey(e.Topic.Name, e.Slot)
	var over []ending
	for _, item := range e.Items {
		switch item.What {
		case message.Done, message.Died, message.Dropped:
			over = append(over, ending{keyOf(store, item.Content), e.Fence})
		}
	}
	i.add(store, over)
}

// Check is an error if the user of Redis may not keep the ids of a topic. It says nothing of a Redis that does not answer.
func (i *IDs) Check(ctx context.Context, topic string) error {
	store := luascripts.StoreKey(luascripts.Qualify(i.namespace, topic), 0)
	err := i.rdb.HDel(ctx, keyOf(store, ""), "-").Err()
	if redis.HasErrorPrefix(err, "NOPERM") {
		return fmt.Errorf("rights to the webhook-ids of topic %s: %w; see docs/DEPLOYMENT.md", topic, err)
	}
	return nil
}

// Close has Redis forget what has ended and had no try behind it.
func (i *IDs) Close(ctx context.Context) error {
	i.mu.Lock()
	stores := make([]string, 0, len(i.ended))
	for store := range i.ended {
		stores = append(stores, store)
	}
	i.mu.Unlock()
	for _, store := range stores {
		if err := i.exec(ctx, store); err != nil {
			return fmt.Errorf("forget webhook-ids: %w", err)
		}
	}
	return nil
}
