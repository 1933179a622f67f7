package removal

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/script"
	"github.com/slotmq/go-rmq/luascripts"
)

var (
	//go:embed remove.lua
	removeSource string
	removeScript = script.New(removeSource)

	//go:embed restore.lua
	restoreSource string
	restoreScript = script.New(restoreSource)
)

// Topic is one to be deleted.
type Topic struct {
	Name     string // qualified
	Slots    int
	InFlight bool // what is in flight may go, too: whoever took it is dead
}

// Delete deletes the topic, or says what is in the way: then some of its slots may have lost their pauses.
func (t Topic) Delete(ctx context.Context, rdb redis.UniversalClient) error {
	for slot := range t.Slots {
		if err := t.deleteSlot(ctx, rdb, slot); err != nil {
			return err
		}
	}
	definition, err := rdb.HGetAll(ctx, luascripts.DefinitionKey(t.Name)).Result()
	if err != nil {
		return err
	}
	if err = rdb.SRem(ctx, luascripts.TopicsKey, t.Name).Err(); err == nil {
		err = t.deleteDefinition(ctx, rdb)
	}
	if err == nil {
		err = t.nothingSent(ctx, rdb)
	}
	if err != nil {
		err = errors.Join(err, t.putBack(context.WithoutCancel(ctx), rdb, definition))
	}
	return err
}

// deleteSlot deletes the keys of a slot if nothing is there.
func (t Topic) deleteSlot(ctx context.Context, rdb redis.UniversalClient, slot int) error {
	k := luascripts.KeysOf(t.Name, slot)
	full := []string{k.Store, k.Retry, k.Dead, luascripts.PlanKey(t.Name, slot)}
	if !t.InFlight {
		full = append(full, k.Prepare)
	}
	free, err := remove(ctx, rdb, luascripts.OfSlot(t.Name, slot), full, "-inf")
	if err == nil && !free {
		err = fmt.Errorf("there is something in slot %d again: stop the senders, workers and plans of the topic first", slot)
	}
	return err
}

// deleteDefinition deletes all that is kept of the topic as a whole, if no one takes from it.
func (t Topic) deleteDefinition(ctx context.Context, rdb redis.UniversalClient) error {
	now, err := rdb.Time(ctx).Result()
	if err != nil {
		return err
	}
	who := []string{luascripts.WorkersKey(t.Name), luascripts.TakersKey(t.Name)}
	free, err := remove(ctx, rdb, luascripts.OfTopic(t.Name), who, now.UnixMilli())
	if err == nil && !free {
		err = errors.New("a worker or a gateway has begun to take from it, so the topic stays: stop all of them first")
	}
	return err
}

// remove deletes keys, unless a sorted set among them has a member with a score of least or more.
func remove(ctx context.Context, rdb redis.UniversalClient, keys, inTheWay []string, least any) (bool, error) {
	args := removeScript.Call(len(keys), len(keys)+2)
	for _, key := range inTheWay {
		args = append(args, key)
	}
	for _, key := range keys {
		if !slices.Contains(inTheWay, key) {
			args = append(args, key)
		}
	}
	cmd := redis.NewIntCmd(ctx, append(args, len(inTheWay), least)...)
	script.Exec(ctx, rdb, cmd)
	return cmd.Val() == 1, script.Err(cmd)
}

// nothingSent returns an error if any slot has messages.
func (t Topic) nothingSent(ctx context.Context, rdb redis.UniversalClient) error {
	for slot := range t.Slots {
		n, err := rdb.Exists(ctx, luascripts.StoreKey(t.Name, slot)).Result()
		if err != nil {
			return err
		}
		if n > 0 {
			return errors.New("a message was sent meanwhile, so the topic stays: stop its senders first")
		}
	}
	return nil
}

// putBack brings the definition back, unless the topic has been defined again.
func (t Topic) putBack(ctx context.Context, rdb redis.UniversalClient, definition map[string]string) error {
	args := append(restoreScript.Call(1, 1+2*len(definition)), luascripts.DefinitionKey(t.Name))
	for field, value := range definition {
		args = append(args, field, value)
	}
	cmd := redis.NewIntCmd(ctx, args...)
	if script.Exec(ctx, rdb, cmd); cmd.Err() != nil {
		return cmd.Err()
	}
	return rdb.SAdd(ctx, luascripts.TopicsKey, t.Name).Err()
}
