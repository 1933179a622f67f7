package luascripts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// Touch begins the worker's lease anew and reports whether it still holds
// batch number. On false it must stop working on the batch.
func (s *Scripts) Touch(ctx context.Context, k SlotKeys, worker string, number int64) (bool, error) {
	cmd := redis.NewIntCmd(ctx, append(s.touch.begin(3, 1), k.Meta, worker, number)...)
	s.Exec(ctx, cmd)
	held, err := cmd.Result()
	if err != nil {
		return false, fmt.Errorf("touch batch %d in %s: %w", number, k.Meta, err)
	}
	return held == 1, nil
}

// Cancel removes a content that waits in the slot. A copy in flight goes on,
// and is reported.
func (s *Scripts) Cancel(ctx context.Context, k SlotKeys, content string) (removed, inFlight bool, err error) {
	cmd := redis.NewIntSliceCmd(ctx, s.cancelArgs(k, content)...)
	s.Exec(ctx, cmd)
	reply, err := cmd.Result()
	if err != nil {
		return false, false, fmt.Errorf("cancel in slot %s: %w", k.Store, err)
	}
	return reply[0] == 1, reply[1] == 1, nil
}

func (s *Scripts) cancelArgs(k SlotKeys, content string) []any {
	return append(s.cancel.begin(6, 5), k.Store, k.Prepare, k.Retry, k.Dead, k.Why, content)
}

// Members shows the worker in the topic's list of Redis-only members, or takes
// it out, and returns the list and whether it has changed since the last call
// of anybody. The worker counts for ttl from now on.
func (s *Scripts) Members(ctx context.Context, topic, worker string, ttl time.Duration, here bool) (members []string, changed bool, err error) {
	cmd := s.MembersCmd(ctx, topic, worker, ttl, here)
	s.Exec(ctx, cmd)
	return MembersAnswer(topic, worker, cmd)
}

// MembersCmd is Members as a command, for Exec.
func (s *Scripts) MembersCmd(ctx context.Context, topic, worker string, ttl time.Duration, here bool) redis.Cmder {
	stay := 0
	if here {
		stay = 1
	}
	return redis.NewStringSliceCmd(ctx, append(s.members.begin(4, 1), WorkersKey(topic), worker, ttl.Milliseconds(), stay)...)
}

// MembersAnswer is what Members returns, of a command that was executed.
func MembersAnswer(topic, worker string, cmd redis.Cmder) (members []string, changed bool, err error) {
	reply, err := cmd.(*redis.StringSliceCmd).Result()
	if err != nil {
		return nil, false, fmt.Errorf("enter or take out worker %s in %s: %w", worker, WorkersKey(topic), err)
	}
	return reply[1:], reply[0] == "1", nil
}

// SendArgs begins the arguments of a call of send.lua for one store. Pairs of
// score and content follow. A content that waits keeps its score, or with last
// takes the new one; most is how many contents may wait, 0 for any number.
//
// The reply is a list of integers: how many were stored, and the places of those
// that were refused, 1 being the first pair.
func (s *Scripts) SendArgs(store string, last bool, most int) []any {
	rule := "first"
	if last {
		rule = "last"
	}
	return append(s.send.begin(3, 1), store, rule, most)
}

// Definition is a topic's definition as it is stored.
type Definition struct {
	Kind    string
	Slots   int
	Literal bool
	Sharing string // "redis", "zookeeper", or empty while no worker has started
	Layout  int
	Tree    string // id of the tree in ZooKeeper, or empty while no worker knows it

	// Namespace that is a part of the topic's qualified name: namespace "a" and
	// topic "b:c" have the keys of namespace "a:b" and topic "c".
	Namespace string
}

// Define writes the topic's definition unless it has one, enters the topic in
// the list of all, and returns the definition that holds. The caller compares.
func (s *Scripts) Define(ctx context.Context, topic string, d Definition) (Definition, error) {
	held, errs := s.DefineAll(ctx, []string{topic}, []Definition{d})
	return held[0], errs[0]
}

// DefineAll is Define for several topics, in one round trip each for the definitions
// and the list.
func (s *Scripts) DefineAll(ctx context.Context, topics []string, all []Definition) (held []Definition, errs []error) {
	cmds := make([]redis.Cmder, len(all))
	for i, d := range all {
		literal := 0
		if d.Literal {
			literal = 1
		}
		args := append(s.define.begin(8, 1), DefinitionKey(topics[i]), d.Kind, d.Slots, literal, d.Sharing, d.Layout, d.Tree, d.Namespace)
		cmds[i] = redis.NewStringSliceCmd(ctx, args...)
	}
	s.Exec(ctx, cmds...)
	held, errs = make([]Definition, len(all)), make([]error, len(all))
	var defined []string
	for i, cmd := range cmds {
		reply, err := cmd.(*redis.StringSliceCmd).Result()
		if err != nil {
			errs[i] = fmt.Errorf("define topic %s in %s: %w", topics[i], DefinitionKey(topics[i]), err)
			continue
		}
		defined = append(defined, topics[i])
		h := &held[i]
		*h = Definition{Kind: reply[0], Literal: reply[2] == "1", Sharing: reply[3], Tree: reply[5], Namespace: reply[6]}
		h.Slots, _ = strconv.Atoi(reply[1])
		h.Layout, _ = strconv.Atoi(reply[4])
	}
	if err := s.listSoon(ctx, defined); err != nil {
		for i := range errs {
			if errs[i] == nil {
				held[i], errs[i] = Definition{}, err
			}
		}
	}
	return held, errs
}

// listSoon enters topics in the list of all, and says what is wrong if the server does. On a
// Cluster another server has that list, and may hang. Nothing but people depends on it,
// and the next comparison enters the topics again.
func (s *Scripts) listSoon(ctx context.Context, topics []string) error {
	if len(topics) == 0 {
		return nil
	}
	listed := make(chan error, 1)
	go func() { listed <- s.list(ctx, topics) }()
	patience := time.NewTimer(200 * time.Millisecond)
	defer patience.Stop()
	select {
	case err := <-listed:
		var answer redis.Error
		if errors.As(err, &answer) {
			return err
		}
	case <-patience.C:
	case <-ctx.Done():
	}
	return nil
}

// list enters topics in the list of all. It looks first, because an addition is
// refused above maxmemory, where consumers must still be able to start.
func (s *Scripts) list(ctx context.Context, topics []string) error {
	looks := make([]redis.Cmder, len(topics))
	for i, topic := range topics {
		looks[i] = redis.NewBoolCmd(ctx, "sismember", TopicsKey, topic)
	}
	s.ExecOnce(ctx, looks...)
	var missing []any
	for i, look := range looks {
		in, err := look.(*redis.BoolCmd).Result()
		if err != nil {
			return fmt.Errorf("enter topic %s in %s: %w", topics[i], TopicsKey, err)
		}
		if !in {
			missing = append(missing, topics[i])
		}
	}
	if missing == nil {
		return nil
	}
	if err := s.rdb.SAdd(ctx, TopicsKey, missing...).Err(); err != nil {
		return fmt.Errorf("enter topic %v in %s: %w", missing[0], TopicsKey, err)
	}
	return nil
}

// rightsAtOnce is how many calls one script is asked about, which takes Redis about
// a millisecond.
const rightsAtOnce = 1000

// Rights tells for each call, a command with its arguments, whether the Redis
// user may make it, without making it. A key must stand where the command expects
// it. The answer is nil where Redis cannot tell: before 7.0, and in memory.
func (s *Scripts) Rights(ctx context.Context, calls [][]string) ([]bool, error) {
	var cmds []redis.Cmder
	for some := range slices.Chunk(calls, rightsAtOnce) {
		args := s.rights.begin(4*len(some), 0)
		for _, words := range some {
			args = append(args, len(words))
			for _, word := range words {
				args = append(args, word)
			}
		}
		cmds = append(cmds, redis.NewIntSliceCmd(ctx, args...))
	}
	s.Exec(ctx, cmds...)
	may := make([]bool, 0, len(calls))
	for _, cmd := range cmds {
		reply, err := cmd.(*redis.IntSliceCmd).Result()
		if err != nil {
			return nil, fmt.Errorf("ask what the user may do: %w", err)
		}
		for _, yes := range reply {
			may = append(may, yes == 1)
		}
	}
	if len(may) < len(calls) {
		return nil, nil
	}
	return may, nil
}
