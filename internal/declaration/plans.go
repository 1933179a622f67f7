package declaration

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/score"
	"github.com/slotmq/go-rmq/internal/protocol/script"
	"github.com/slotmq/go-rmq/internal/servers/cluster"
	"github.com/slotmq/go-rmq/internal/servers/rights"
	"github.com/slotmq/go-rmq/internal/upkeep/plan"
	"github.com/slotmq/go-rmq/message"
)

// atOnce is how much is asked for in one round trip.
const atOnce = 100

// Plans are those of one topic.
type Plans struct {
	Redis   redis.UniversalClient
	Scripts *protocol.Scripts
	Topic   message.Topic // as it is defined; its Name is qualified

	// Define defines the topic, if it is not there. nil: it is.
	Define func(ctx context.Context) error

	// Silent returns for each key why its server must not be asked. nil: each may be.
	Silent func(ctx context.Context, keys []string) []error
}

// silent is why one of the servers must not be asked.
func (p *Plans) silent(ctx context.Context, keys ...string) error {
	if p.Silent == nil {
		return nil
	}
	for _, err := range p.Silent(ctx, keys) {
		if err != nil {
			return err
		}
	}
	return nil
}

// held is a rule of one name, in a slot.
type held struct {
	slot int
	protocol.PlanStand
	plan.Held
}

func (p *Plans) keys(slot int) protocol.PlanKeys {
	return protocol.KeysOf(p.Topic.Name, slot).Plans(p.Topic.Notes)
}

// Noted are the slots that may have plans.
func (p *Plans) Noted(ctx context.Context) ([]int, error) {
	which, err := p.noted(ctx)
	return which, p.explain(err)
}

// explain adds what to do to an error that says what the Redis user may not do.
func (p *Plans) explain(err error) error { return rights.Explain(err, rights.User(p.Redis)) }

func (p *Plans) noted(ctx context.Context) (which []int, err error) {
	key := protocol.PlansKey(p.Topic.Name)
	if err := p.silent(ctx, key); err != nil {
		return nil, err
	}
	noted := p.Redis.SScan(ctx, key, 0, "", atOnce).Iterator()
	for noted.Next(ctx) {
		if slot, err := strconv.Atoi(noted.Val()); err == nil && slot >= 0 && slot < p.Topic.Slots { // else a person has written it
			which = append(which, slot)
		}
	}
	slices.Sort(which)
	return slices.Compact(which), read(key, noted.Err())
}

// named are the rules of one name, of all slots.
func (p *Plans) named(ctx context.Context, name string) (all []held, err error) {
	which, err := p.noted(ctx)
	for some := range slices.Chunk(which, atOnce) {
		keys, stores := make([]protocol.PlanKeys, len(some)), make([]string, len(some))
		var cmds []redis.Cmder
		for n, slot := range some {
			keys[n] = p.keys(slot)
			stores[n] = keys[n].Store
			cmds = append(cmds, redis.NewStringCmd(ctx, "hget", keys[n].Rule, name))
		}
		if err := p.silent(ctx, stores...); err != nil {
			return nil, err
		}
		script.Exec(ctx, p.Redis, cmds...)
		for n, slot := range some {
			stored, err := cmds[n].(*redis.StringCmd).Result()
			switch {
			case err == redis.Nil:
				continue
			case err != nil:
				return nil, read(keys[n].Rule, err)
			}
			x := held{slot: slot, PlanStand: protocol.PlanStand{Stored: stored}}
			since, text, _ := plan.Split(stored)
			x.Since = since
			if rule, err := plan.Read(name, text); err == nil {
				x.Rule = rule
			}
			all = append(all, x)
		}
	}
	return all, err
}

// stands reads where the plan of a rule stands.
func (p *Plans) stands(ctx context.Context, name string, x *held) error {
	k := p.keys(x.slot)
	times := redis.NewSliceCmd(ctx, "zmscore", k.Plan, name)
	script.ExecOnce(ctx, p.Redis, times)
	if times.Err() != nil {
		return read(k.Plan, times.Err())
	}
	switch at := times.Val()[0].(type) {
	case string: // of an older server
		x.At = at
	case float64:
		x.At = strconv.FormatFloat(at, 'g', -1, 64)
	}
	x.Next = Time(times.Val()[0])
	return nil
}

// Time is a score, as Redis answers it, as a time; zero if there is none.
func Time(reply any) time.Time {
	switch x := reply.(type) {
	case string: // of an older server
		return score.Time(score.Parse(x))
	case float64:
		return score.Time(score.Whole(x))
	}
	return time.Time{}
}

// clock is what the clock of a key's server shows.
func (p *Plans) clock(ctx context.Context, key string) (time.Time, error) {
	server, _, err := cluster.MasterFor(ctx, p.Redis, key)
	if err != nil {
		return time.Time{}, err
	}
	now, err := server.Time(ctx).Result()
	return now.Truncate(time.Millisecond), err
}

// read adds to an error which key it is about.
func read(key string, err error) error {
	if err != nil {
		return fmt.Errorf("read %s: %w", key, err)
	}
	return nil
}
