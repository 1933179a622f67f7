package protocol

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol/script"
	"github.com/slotmq/go-rmq/luascripts"
)

var defineScript = script.New(luascripts.Source("define.lua"))

// Definition is a topic's definition as it is stored.
type Definition struct {
	Kind    string
	Slots   int
	Literal bool
	Notes   bool
	Sharing string // "redis", "zookeeper", or empty while no worker has started
	Layout  int
	Tree    string // id of the tree in ZooKeeper, or empty while no worker knows it

	// Namespace that is a part of the topic's qualified name: namespace "a" and
	// topic "b:c" have the keys of namespace "a:b" and topic "c". Open leaves it to the first
	// program that knows it.
	Namespace string
	Open      bool

	// MaxLate is how late a message may be that its workers handle; 0: however late it is, or it is not known. Only who
	// shares its slots tells it, and may leave that, too: if it is negative.
	MaxLate time.Duration

	Created time.Time // zero: it is not known. [Scripts.Define] does not tell it
}

// Define writes the definition of each topic that has none, adds the topics to the list of
// all topics, and returns the definitions that hold. The caller compares. It takes one round
// trip for the definitions and one for the list.
func (s *Scripts) Define(ctx context.Context, topics []string, all []Definition) (held []Definition, errs []error) {
	cmds := make([]redis.Cmder, len(all))
	for i, d := range all {
		args := append(defineScript.Call(1, 10), DefinitionKey(topics[i]), d.Kind, d.Slots, bit(d.Literal), bit(d.Notes), d.Sharing, d.Layout, d.Tree)
		if !d.Open {
			args = append(args, d.Namespace)
		}
		if !d.Open && d.Sharing != "" && d.MaxLate >= 0 {
			args = append(args, d.MaxLate.Milliseconds())
		}
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
		*h = Definition{Kind: reply[0], Literal: reply[2] == "1", Notes: reply[3] == "1", Sharing: reply[4], Tree: reply[6], Namespace: reply[7]}
		h.Slots, _ = strconv.Atoi(reply[1])
		h.Layout, _ = strconv.Atoi(reply[5])
		late, _ := strconv.ParseInt(reply[8], 10, 64)
		h.MaxLate = time.Duration(late) * time.Millisecond
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

// Defined reads the definition of a topic, and changes nothing. It is nil if there is none.
func (s *Scripts) Defined(ctx context.Context, topic string) (*Definition, error) {
	key := DefinitionKey(topic)
	values, err := s.rdb.HMGet(ctx, key, "kind", "slots", "literal", "notes", "sharing", "layout", "tree", "namespace", "created").Result()
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", key, err)
	}
	text, there := make([]string, len(values)), false
	for i, v := range values {
		if t, ok := v.(string); ok {
			text[i], there = t, true
		}
	}
	if !there {
		return nil, nil
	}
	d := &Definition{Kind: text[0], Literal: text[2] == "1", Notes: text[3] == "1", Sharing: text[4], Tree: text[6], Namespace: text[7], Open: values[7] == nil}
	d.Slots, _ = strconv.Atoi(text[1])
	d.Layout, _ = strconv.Atoi(text[5])
	if ms, err := strconv.ParseInt(text[8], 10, 64); err == nil && ms > 0 {
		d.Created = time.UnixMilli(ms)
	}
	return d, nil
}

func bit(on bool) int {
	if on {
		return 1
	}
	return 0
}

// listSoon adds topics to the list of all topics. It returns an error if the server answers
// with one. On a Cluster another server has that list, and may hang; then listSoon does not
// wait. Only people depend on the list, and the next comparison adds the topics again.
func (s *Scripts) listSoon(ctx context.Context, topics []string) error {
	if len(topics) == 0 {
		return nil
	}
	listed := make(chan error, 1)
	go func() { listed <- s.list(ctx, topics) }()
	longEnough := time.NewTimer(200 * time.Millisecond)
	defer longEnough.Stop()
	select {
	case err := <-listed:
		var answer redis.Error
		if errors.As(err, &answer) {
			return err
		}
	case <-longEnough.C:
	case <-ctx.Done():
	}
	return nil
}

// list adds topics to the list of all topics. It looks first, since mostly they are there. Above maxmemory
// Redis refuses to add, and consumers must still be able to start: that is no error.
func (s *Scripts) list(ctx context.Context, topics []string) error {
	looks := make([]redis.Cmder, len(topics))
	for i, topic := range topics {
		looks[i] = redis.NewBoolCmd(ctx, "sismember", TopicsKey, topic)
	}
	script.ExecOnce(ctx, s.rdb, looks...)
	var missing []any
	for i, look := range looks {
		in, err := look.(*redis.BoolCmd).Result()
		if err != nil {
			return fmt.Errorf("add topic %s to %s: %w", topics[i], TopicsKey, err)
		}
		if !in {
			missing = append(missing, topics[i])
		}
	}
	if missing == nil {
		return nil
	}
	if err := s.rdb.SAdd(ctx, TopicsKey, missing...).Err(); err != nil && !redis.HasErrorPrefix(err, "OOM") {
		return fmt.Errorf("add topic %v to %s: %w", missing[0], TopicsKey, err)
	}
	return nil
}
