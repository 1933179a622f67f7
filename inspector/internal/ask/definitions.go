package ask

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
	"github.com/slotmq/go-rmq/internal/protocol/limits"
	"github.com/slotmq/go-rmq/internal/protocol/script"
	"github.com/slotmq/go-rmq/message"
)

// Stored is what is stored about a topic.
type Stored struct {
	Topic          // without Kind and Slots if something is wrong
	Tree    string // of ZooKeeper
	Untold  bool   // its namespace is not stored, and the name may begin with one
	Wrong   string // what is wrong with it; empty: nothing
	Missing bool   // it is not there at all
	Hidden  bool   // it cannot be looked at
}

// Defined reads the definitions of all listed topics.
func (g *Ground) Defined(ctx context.Context) ([]Stored, error) {
	names, err := g.Names(ctx)
	if err != nil {
		return nil, err
	}
	return g.Definitions(ctx, names)
}

// Definitions reads those of some topics. The topics that a [PartialError] names have
// something wrong.
func (g *Ground) Definitions(ctx context.Context, names []string) ([]Stored, error) {
	all := make([]Stored, 0, len(names))
	failed := g.Failing()
	for some := range slices.Chunk(names, PerPipeline) {
		keys := make([]string, len(some))
		for n, name := range some {
			keys[n] = protocol.DefinitionKey(g.Qualified(name))
		}
		var sent []redis.Cmder
		cmds, silent := make([]*redis.SliceCmd, len(some)), g.Masters.Silent(ctx, g.Redis, keys)
		for n, key := range keys {
			if silent[n] == nil {
				cmds[n] = redis.NewSliceCmd(ctx, "hmget", key, "kind", "slots", "literal", "sharing", "layout", "created", "tree", "namespace", "notes")
				sent = append(sent, cmds[n])
			}
		}
		script.ExecOnce(ctx, g.Redis, sent...)
		for n, key := range keys {
			var values []any
			err := silent[n]
			if err == nil {
				values, err = cmds[n].Result()
			}
			switch {
			case err == nil:
				all = append(all, g.readDefinition(some[n], key, values))
			case redis.HasErrorPrefix(err, "WRONGTYPE"):
				all = append(all, Stored{Topic: Topic{Topic: message.Topic{Name: some[n]}}, Wrong: key + " is not a hash"})
			default:
				if err := failed.Add(ctx, some[n], -1, key, fmt.Errorf("read %s: %w", key, g.Explain(err))); err != nil {
					return nil, err
				}
				all = append(all, Stored{Topic: Topic{Topic: message.Topic{Name: some[n]}}, Wrong: key + " cannot be read", Hidden: true})
			}
		}
	}
	return all, failed.Err()
}

// readDefinition reads the fields in the order in which definitions asks for them.
func (g *Ground) readDefinition(name, key string, values []any) Stored {
	text := make([]string, len(values))
	there := false
	for n, v := range values {
		if s, ok := v.(string); ok {
			text[n], there = s, true
		}
	}
	d := Stored{Topic: Topic{Topic: message.Topic{Name: name}, Sharing: text[3], Namespace: g.Namespace}, Tree: text[6]}
	if !there {
		d.Wrong, d.Missing = key+" is missing", true
		return d
	}
	if created, err := strconv.ParseInt(text[5], 10, 64); err == nil && created > 0 {
		d.Created = time.UnixMilli(created)
	}
	read := message.Topic{Name: name, Literal: text[2] == "1", Notes: text[8] == "1"}
	read.Kind, _ = message.ParseKind(text[0])
	read.Slots, _ = strconv.Atoi(text[1])
	if _, stored := values[7].(string); stored {
		d.Namespace, d.Foreign = text[7], text[7] != g.Namespace
	} else {
		d.Untold = strings.Contains(name, ":")
	}
	if d.Wrong = wrongIn(&d, g.Qualified(name), key, text, read); d.Wrong == "" {
		d.Topic.Topic = read
	}
	return d
}

// wrongIn says which field of a definition this program cannot read, or nothing.
func wrongIn(d *Stored, qualified, key string, text []string, read message.Topic) string {
	refuse := func(field, value string) string { return fmt.Sprintf("%s has %s %.40q", key, field, value) }
	switch {
	case text[4] != strconv.Itoa(protocol.Layout):
		return refuse("layout", text[4]) + fmt.Sprintf("; this program knows %d", protocol.Layout)
	case read.Kind == 0:
		return refuse("kind", text[0])
	case read.Slots == 0 || message.Topic{Name: "any", Kind: read.Kind, Slots: read.Slots}.Validate() != nil:
		return refuse("slots", text[1])
	case !isBit(text[2]):
		return refuse("literal", text[2])
	case !isBit(text[8]):
		return refuse("notes", text[8])
	case text[3] != "" && text[3] != definition.SharingRedis && text[3] != definition.SharingZooKeeper:
		return refuse("sharing", text[3])
	case d.Foreign && d.Namespace != "" && !strings.HasPrefix(qualified, d.Namespace+":"):
		return refuse("namespace", d.Namespace) // as programs do
	}
	return ""
}

func isBit(text string) bool { return text == "0" || text == "1" }

// Names returns the names of the namespace's topics, without the namespace.
func (g *Ground) Names(ctx context.Context) ([]string, error) {
	const page = 250 // Redis may bring somewhat more
	names := map[string]bool{}
	prefix := g.Qualified("")
	if err := g.Masters.Silent(ctx, g.Redis, []string{protocol.TopicsKey})[0]; err != nil {
		return nil, fmt.Errorf("list topics in %s: %w", protocol.TopicsKey, err)
	}
	for cursor := uint64(0); ; {
		found, next, err := g.Redis.SScan(ctx, protocol.TopicsKey, cursor, "", page).Result()
		if err != nil {
			return nil, fmt.Errorf("list topics in %s: %w", protocol.TopicsKey, g.Explain(err))
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

// About looks up the topic that an operation is about.
func (g *Ground) About(ctx context.Context, operation, topic string) (Topic, error) {
	if err := Given(ctx, operation); err != nil {
		return Topic{}, err
	}
	return g.Topic(ctx, topic)
}

// Topic looks one up. If there is none of that name, the error wraps [ErrUnknownTopic].
func (g *Ground) Topic(ctx context.Context, name string) (Topic, error) {
	if err := Given(ctx, "look up topic "+name); err != nil {
		return Topic{}, err
	}
	found, err := g.Definitions(ctx, []string{name})
	failed := g.Failing()
	switch err := failed.Merge(err); {
	case err != nil:
		return Topic{}, err
	case failed.Err() != nil: // then there is no part of a result
		return Topic{}, fmt.Errorf("look up topic %s: %w", name, failed.Found.Failures[0].Err)
	case found[0].Wrong == "":
		return found[0].Topic, nil
	case !found[0].Missing:
		return Topic{}, fmt.Errorf("look up topic %s: %s", name, found[0].Wrong)
	}
	names, err := g.Names(ctx)
	if err != nil {
		return Topic{}, err
	}
	if slices.Contains(names, name) {
		return Topic{}, fmt.Errorf("look up topic %s: %s", name, found[0].Wrong)
	}
	return Topic{}, g.Unknown(name, names)
}

// Unknown is the error for a topic that is not there. It names topics that are, those first
// whose names need the fewest changes: with hundreds of topics the one that was meant would
// hardly be among the five that it names.
func (g *Ground) Unknown(name string, names []string) error {
	where := "in this Redis"
	if g.Namespace != "" {
		where = "in namespace " + g.Namespace
	}
	const most = 5
	name = name[:min(len(name), limits.NameBytes)]
	text := "; there is none " + where
	if len(names) > 0 {
		distance := make(map[string]int, len(names))
		for _, other := range names {
			distance[other] = distanceOf(name, other)
		}
		slices.SortStableFunc(names, func(a, b string) int { return distance[a] - distance[b] })
		is := "is"
		if len(names) > 1 {
			is = "are"
		}
		text = "; " + where + " there " + is + " " + strings.Join(names[:min(most, len(names))], ", ")
		if rest := len(names) - most; rest > 0 {
			text += fmt.Sprintf(" and %d more", rest)
		}
	}
	return fmt.Errorf("%w: %q%s", ErrUnknownTopic, name, text)
}

// distanceOf counts the bytes to type differently (Levenshtein's distance).
func distanceOf(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		corner := row[0]
		row[0] = i + 1
		for j := range len(b) {
			differs := 1
			if a[i] == b[j] {
				differs = 0
			}
			corner, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, corner+differs)
		}
	}
	return row[len(b)]
}
