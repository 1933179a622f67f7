package inspector

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/definition"
	"github.com/slotmq/go-rmq/internal/protocol/script"
	"github.com/slotmq/go-rmq/message"
)

// storedTopic is what is stored about a topic.
type storedTopic struct {
	Topic          // without Kind and Slots if something is wrong
	tree    string // of ZooKeeper
	untold  bool   // its namespace is not stored, and the name may begin with one
	wrong   string // what is wrong with it; empty: nothing
	missing bool   // it is not there at all
	hidden  bool   // it cannot be looked at
}

// defined reads the definitions of all listed topics.
func (i *Inspector) defined(ctx context.Context) ([]storedTopic, error) {
	names, err := i.names(ctx)
	if err != nil {
		return nil, err
	}
	return i.definitions(ctx, names)
}

// definitions reads those of some topics. The topics that a [PartialError] names have
// something wrong.
func (i *Inspector) definitions(ctx context.Context, names []string) ([]storedTopic, error) {
	all := make([]storedTopic, 0, len(names))
	failed := failures{i: i}
	for some := range slices.Chunk(names, perPipeline) {
		keys := make([]string, len(some))
		for n, name := range some {
			keys[n] = protocol.DefinitionKey(i.qualified(name))
		}
		var sent []redis.Cmder
		cmds, silent := make([]*redis.SliceCmd, len(some)), i.masters.silent(ctx, i.rdb, keys)
		for n, key := range keys {
			if silent[n] == nil {
				cmds[n] = redis.NewSliceCmd(ctx, "hmget", key, "kind", "slots", "literal", "sharing", "layout", "created", "tree", "namespace", "notes")
				sent = append(sent, cmds[n])
			}
		}
		script.ExecOnce(ctx, i.rdb, sent...)
		for n, key := range keys {
			var values []any
			err := silent[n]
			if err == nil {
				values, err = cmds[n].Result()
			}
			switch {
			case err == nil:
				all = append(all, i.readDefinition(some[n], key, values))
			case redis.HasErrorPrefix(err, "WRONGTYPE"):
				all = append(all, storedTopic{Topic: Topic{Topic: message.Topic{Name: some[n]}}, wrong: key + " is not a hash"})
			default:
				if err := failed.add(ctx, some[n], -1, key, fmt.Errorf("read %s: %w", key, i.explain(err))); err != nil {
					return nil, err
				}
				all = append(all, storedTopic{Topic: Topic{Topic: message.Topic{Name: some[n]}}, wrong: key + " cannot be read", hidden: true})
			}
		}
	}
	return all, failed.err()
}

// readDefinition reads the fields in the order in which definitions asks for them.
func (i *Inspector) readDefinition(name, key string, values []any) storedTopic {
	text := make([]string, len(values))
	there := false
	for n, v := range values {
		if s, ok := v.(string); ok {
			text[n], there = s, true
		}
	}
	d := storedTopic{Topic: Topic{Topic: message.Topic{Name: name}, Sharing: text[3], Namespace: i.cfg.Namespace}, tree: text[6]}
	if !there {
		d.wrong, d.missing = key+" is missing", true
		return d
	}
	if created, err := strconv.ParseInt(text[5], 10, 64); err == nil && created > 0 {
		d.Created = time.UnixMilli(created)
	}
	read := message.Topic{Name: name, Literal: text[2] == "1", Notes: text[8] == "1"}
	read.Kind, _ = message.ParseKind(text[0])
	read.Slots, _ = strconv.Atoi(text[1])
	if _, stored := values[7].(string); stored {
		d.Namespace, d.Foreign = text[7], text[7] != i.cfg.Namespace
	} else {
		d.untold = strings.Contains(name, ":")
	}
	refuse := func(field, value string) { d.wrong = fmt.Sprintf("%s has %s %.40q", key, field, value) }
	switch {
	case text[4] != strconv.Itoa(protocol.Layout):
		refuse("layout", text[4])
		d.wrong += fmt.Sprintf("; this program knows %d", protocol.Layout)
	case read.Kind == 0:
		refuse("kind", text[0])
	case read.Slots == 0 || message.Topic{Name: "any", Kind: read.Kind, Slots: read.Slots}.Validate() != nil:
		refuse("slots", text[1])
	case !isBit(text[2]):
		refuse("literal", text[2])
	case !isBit(text[8]):
		refuse("notes", text[8])
	case text[3] != "" && text[3] != definition.SharingRedis && text[3] != definition.SharingZooKeeper:
		refuse("sharing", text[3])
	case d.Foreign && d.Namespace != "" && !strings.HasPrefix(i.qualified(name), d.Namespace+":"):
		refuse("namespace", d.Namespace) // as programs do
	default:
		d.Topic.Topic = read
	}
	return d
}

func isBit(text string) bool { return text == "0" || text == "1" }

// names returns the names of the namespace's topics, without the namespace.
func (i *Inspector) names(ctx context.Context) ([]string, error) {
	const page = 250 // Redis may bring somewhat more
	names := map[string]bool{}
	prefix := i.qualified("")
	if err := i.masters.silent(ctx, i.rdb, []string{protocol.TopicsKey})[0]; err != nil {
		return nil, fmt.Errorf("list topics in %s: %w", protocol.TopicsKey, err)
	}
	for cursor := uint64(0); ; {
		found, next, err := i.rdb.SScan(ctx, protocol.TopicsKey, cursor, "", page).Result()
		if err != nil {
			return nil, fmt.Errorf("list topics in %s: %w", protocol.TopicsKey, i.explain(err))
		}
		for _, name := range found {
			if name, ours := strings.CutPrefix(name, prefix); ours && name != "" {
				names[name] = true
			}
		}
		if cursor = next; cursor == 0 {
			return slices.Sorted(maps.Keys(names)), nil
		}
	}
}
