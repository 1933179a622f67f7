package inspector

import (
	"context"
	"maps"
	"slices"

	"github.com/slotmq/go-rmq/slots"
)

// shares is how the slots of one topic are shared out.
type shares struct {
	workers int      // -1: not known
	owners  []string // of each slot; none if nobody is known
}

// owner is the worker that shall have a slot, or empty.
func (s shares) owner(slot int) string {
	if slot < len(s.owners) {
		return s.owners[slot]
	}
	return ""
}

// shares asks who works at a topic. That ZooKeeper does not answer must not keep anybody
// from seeing what Redis has.
func (i *Inspector) shares(ctx context.Context, t Topic) (shares, error) {
	switch t.Sharing {
	case "redis":
		listed, err := i.members(ctx, []Topic{t})
		if err != nil { // also if only a part is missing: it is this topic
			return shares{workers: -1}, err
		}
		s := shares{workers: len(listed[t.Name]), owners: make([]string, t.Slots)}
		for id, own := range slots.Share(slices.Collect(maps.Keys(listed[t.Name])), t.Slots) {
			for _, slot := range own {
				s.owners[slot] = id
			}
		}
		return s, nil
	case "zookeeper":
		if i.cfg.Slots == nil || t.Foreign {
			return shares{workers: -1}, nil
		}
		view, err := i.view(ctx)
		if err != nil {
			return shares{workers: -1}, ctx.Err()
		}
		var s shares
		for _, w := range view.Workers {
			if _, works := w.Topics[t.Name]; works && !w.Leaving {
				s.workers++
			}
		}
		for _, seen := range view.Topics {
			if seen.Name == t.Name {
				s.owners = seen.Owners
			}
		}
		return s, nil
	}
	return shares{}, nil
}
