package journal

import (
	"context"
	"strings"
)

// LookAll tells what is known of some contents of a slot, 500 at most, in their order. It is zero for one
// of which nothing is.
func (j *Journal) LookAll(ctx context.Context, t Topic, slot int, contents []string) ([]History, error) {
	if len(contents) == 0 {
		return nil, nil
	}
	hashes, args := make([]Hash, len(contents)), make([]any, len(contents))
	for i, content := range contents {
		hashes[i] = HashOf(content)
		args[i] = hashes[i][:]
	}
	found, err := j.entries(ctx, t.id, slot, "hash IN (?"+strings.Repeat(", ?", len(contents)-1)+")", args...)
	if err != nil {
		return nil, j.dialect.advise("look", err)
	}
	known := map[Hash]History{}
	for i, h := range histories(slot, found) {
		known[found[i].hash] = h
	}
	all := make([]History, len(contents))
	for i, hash := range hashes {
		all[i] = known[hash]
	}
	return all, nil
}

// Slots are those of a topic with sends, in order.
func (j *Journal) Slots(ctx context.Context, t Topic) ([]int, error) {
	all, err := j.slots(ctx, t.id)
	return all, j.dialect.advise("slots", err)
}
