package inspector

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/slotmq/go-rmq/internal/protocol/limits"
)

// Topics returns the topics of the namespace, by name. A topic whose definition is missing or
// cannot be read has no Kind and no Slots: it does not hide the others. Verify and Doctor say
// what is wrong with it. A [PartialError] names those whose master does not answer.
//
// An inspector without a namespace sees the topics of all namespaces. Their names begin with
// the namespace, and they are Foreign.
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

// Topic returns one of them. If there is none of that name, the error wraps
// [ErrUnknownTopic].
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

// unknown is the error for a topic that is not there. It names topics that are, those first
// whose names need the fewest changes: with hundreds of topics the one that was meant would
// hardly be among the five that it names.
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
