package ask

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/slotmq/go-rmq/internal/protocol/limits"
)

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
