package removal

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/script"
)

var (
	//go:embed slot.lua
	slotSource string
	slotScript = script.New(slotSource)

	//go:embed topic.lua
	topicSource string
	topicScript = script.New(topicSource)

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

// Delete deletes the topic, or says what is in the way. If that came only while it deleted, the pauses, unique marks and limit
// of the topic may be gone.
func (t Topic) Delete(ctx context.Context, rdb redis.UniversalClient) error {
	if err := t.deleteDefinition(ctx, rdb, false); err != nil {
		return err
	}
	for _, does := range []int{looks, deletes} {
		if err := t.each(ctx, rdb, does); err != nil {
			return err
		}
	}
	definition, err := rdb.HGetAll(ctx, protocol.DefinitionKey(t.Name)).Result()
	if err != nil {
		return err
	}
	if err = rdb.SRem(ctx, protocol.TopicsKey, t.Name).Err(); err == nil {
		err = t.deleteDefinition(ctx, rdb, true)
	}
	planned, found := t.lastLook(ctx, rdb)
	if err = errors.Join(err, found); err != nil {
		err = errors.Join(err, t.putBack(context.WithoutCancel(ctx), rdb, definition, planned))
	}
	return err
}

// InTheWay says what is in flight and must not go.
func (t Topic) InTheWay(ctx context.Context, rdb redis.UniversalClient) error {
	return t.each(ctx, rdb, looksInFlight)
}

// What slot.lua is to do.
const (
	looks = iota
	deletes
	looksInFlight
)

// each does something with each slot, until there is an error.
func (t Topic) each(ctx context.Context, rdb redis.UniversalClient, does int) error {
	for slot := range t.Slots {
		if err := t.slot(ctx, rdb, slot, does); err != nil {
			return err
		}
	}
	return nil
}

// parts are the keys of a slot in which anything may be.
func (t Topic) parts(slot int) []string {
	k := protocol.KeysOf(t.Name, slot)
	return []string{k.Store, k.Retry, k.Dead, protocol.PlanKey(t.Name, slot), k.Prepare}
}

// slot deletes the keys of a slot if nothing is there, or only looks.
func (t Topic) slot(ctx context.Context, rdb redis.UniversalClient, slot, does int) error {
	first := append(t.parts(slot), protocol.KeysOf(t.Name, slot).Meta)
	answer, err := run(ctx, rdb, slotScript, first, protocol.OfSlot(t.Name, slot), does, t.InFlight)
	switch {
	case err != nil:
		return err
	case answer == 0:
		err = fmt.Errorf("there is something in slot %d again: stop the senders, workers and plans of the topic first", slot)
		return errors.Join(err, t.notePlan(ctx, rdb, slot))
	case answer == 2:
		return fmt.Errorf("slot %d is in flight, and only ZooKeeper knows whether its worker lives: start a worker that finishes it", slot)
	case answer > 2:
		return fmt.Errorf("slot %d is in flight, by a lease until %s: wait for its end", slot, time.UnixMilli(answer).Format(time.TimeOnly))
	}
	return nil
}

// notePlan notes the slot as one that may have plans, if it has one. Without that note the plan
// could not be found and ended, and the topic not be deleted.
func (t Topic) notePlan(ctx context.Context, rdb redis.UniversalClient, slot int) error {
	n, err := rdb.Exists(ctx, protocol.PlanKey(t.Name, slot)).Result()
	if err == nil && n > 0 {
		err = rdb.SAdd(ctx, protocol.PlansKey(t.Name), slot).Err()
	}
	return err
}

// deleteDefinition deletes all that is kept of the topic as a whole, if no one takes from it, or only looks.
func (t Topic) deleteDefinition(ctx context.Context, rdb redis.UniversalClient, deletes bool) error {
	who := []string{protocol.WorkersKey(t.Name), protocol.TakersKey(t.Name)}
	all := slices.DeleteFunc(protocol.OfTopic(t.Name), func(key string) bool {
		return key == protocol.EndedKey(t.Name) // expires by itself: without it, a program that has declared a plan would define the topic anew
	})
	answer, err := run(ctx, rdb, topicScript, who, all, deletes)
	if err == nil && answer == 0 {
		err = errors.New("a worker or a gateway takes from it, so the topic stays: stop all of them first")
	}
	return err
}

// run calls a script with keys, some of them first, and returns its answer.
func run(ctx context.Context, rdb redis.UniversalClient, s *script.Script, first, all []string, args ...any) (int64, error) {
	call := s.Call(len(all), len(all)+len(args))
	for _, key := range first {
		call = append(call, key)
	}
	for _, key := range all {
		if !slices.Contains(first, key) {
			call = append(call, key)
		}
	}
	cmd := redis.NewIntCmd(ctx, append(call, args...)...)
	script.Exec(ctx, rdb, cmd)
	return cmd.Val(), script.Err(cmd)
}

// lastLook returns an error if any slot has something, and which slots have plans.
func (t Topic) lastLook(ctx context.Context, rdb redis.UniversalClient) (planned []any, err error) {
	for slot := range t.Slots {
		n, failed := rdb.Exists(ctx, t.parts(slot)...).Result()
		if failed != nil {
			return planned, failed
		}
		if n == 0 {
			continue
		}
		err = errors.New("a message or a plan came meanwhile, so the topic stays: stop its senders first")
		if n, failed = rdb.Exists(ctx, protocol.PlanKey(t.Name, slot)).Result(); n > 0 {
			planned = append(planned, slot)
		}
		if failed != nil {
			return planned, failed
		}
	}
	return planned, err
}

// putBack brings the definition back, unless the topic has been defined again.
func (t Topic) putBack(ctx context.Context, rdb redis.UniversalClient, definition map[string]string, planned []any) error {
	args := append(restoreScript.Call(1, 1+2*len(definition)), protocol.DefinitionKey(t.Name))
	for field, value := range definition {
		args = append(args, field, value)
	}
	cmd := redis.NewIntCmd(ctx, args...)
	script.Exec(ctx, rdb, cmd)
	err := cmd.Err()
	if len(planned) > 0 {
		err = errors.Join(err, rdb.SAdd(ctx, protocol.PlansKey(t.Name), planned...).Err())
	}
	return errors.Join(err, rdb.SAdd(ctx, protocol.TopicsKey, t.Name).Err())
}
