package inspector

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/slotmq/go-rmq/internal/limits"
	"github.com/slotmq/go-rmq/internal/rights"
	"github.com/slotmq/go-rmq/luascripts"
	"github.com/slotmq/go-rmq/message"
)

// Topic is a topic as it is defined in Redis.
type Topic struct {
	message.Topic
	Sharing   string    // how its slots are shared out: "redis", "zookeeper", or empty: no worker has started yet
	Created   time.Time // zero: it is not known
	Namespace string    // that its programs give; if none is stored, that of the inspector
	Foreign   bool      // Namespace is not the inspector's, so it cannot see the topic's workers in ZooKeeper
}

// Topics are those of the namespace, by name. One whose definition is missing or cannot be
// read has no Kind and no Slots, so that it hides no other. Nothing else can be told of it;
// Verify and Doctor say what is wrong. A [PartialError] names those whose master does not answer.
//
// Without a namespace, those of all namespaces are among them, with theirs in front, and
// are Foreign.
func (i *Inspector) Topics(ctx context.Context) ([]Topic, error) {
	if err := given(ctx, "list topics"); err != nil {
		return nil, err
	}
	failed := failures{i: i}
	all, err := i.defined(ctx)
	if err := failed.merge(err); err != nil {
		return nil, err
	}
	topics := make([]Topic, len(all))
	for n, d := range all {
		topics[n] = d.Topic
	}
	return topics, failed.err()
}

// Topic is one of them. The error of one that is not there wraps [ErrUnknownTopic].
func (i *Inspector) Topic(ctx context.Context, name string) (Topic, error) {
	if err := given(ctx, "look up topic "+name); err != nil {
		return Topic{}, err
	}
	found, err := i.definitions(ctx, []string{name})
	failed := failures{i: i}
	switch err := failed.merge(err); {
	case err != nil:
		return Topic{}, err
	case failed.err() != nil: // then there is no part of a result
		return Topic{}, fmt.Errorf("look up topic %s: %w", name, failed.found.Failures[0].Err)
	case found[0].wrong == "":
		return found[0].Topic, nil
	case !found[0].missing:
		return Topic{}, fmt.Errorf("look up topic %s: %s", name, found[0].wrong)
	}
	names, err := i.names(ctx)
	if err != nil {
		return Topic{}, err
	}
	if slices.Contains(names, name) {
		return Topic{}, fmt.Errorf("look up topic %s: %s", name, found[0].wrong)
	}
	return Topic{}, i.unknown(name, names)
}

// unknown says which topics there are instead.
func (i *Inspector) unknown(name string, names []string) error {
	where := "in this Redis"
	if i.cfg.Namespace != "" {
		where = "in namespace " + i.cfg.Namespace
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
		text = "; " + where + " there is " + strings.Join(names[:min(most, len(names))], ", ")
		if rest := len(names) - most; rest > 0 {
			text += fmt.Sprintf(" and %d more", rest)
		}
	}
	return fmt.Errorf("%w: %q%s", ErrUnknownTopic, name, text)
}

// distanceOf counts how many bytes have to be typed differently.
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

// names are the topics of the namespace that are listed, by name and without it.
func (i *Inspector) names(ctx context.Context) ([]string, error) {
	const page = 250 // Redis may bring somewhat more
	names := map[string]bool{}
	prefix := i.qualified("")
	if err := i.silent(ctx, []string{luascripts.TopicsKey})[0]; err != nil {
		return nil, fmt.Errorf("list topics in %s: %w", luascripts.TopicsKey, err)
	}
	for cursor := uint64(0); ; {
		found, next, err := i.rdb.SScan(ctx, luascripts.TopicsKey, cursor, "", page).Result()
		if err != nil {
			return nil, fmt.Errorf("list topics in %s: %w", luascripts.TopicsKey, i.explain(err))
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

// explain says what to do where Redis turned the user away.
func (i *Inspector) explain(err error) error { return rights.Explain(err, rights.User(i.rdb)) }
