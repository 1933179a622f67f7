package keeper

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/slotmq/go-rmq/internal/sharing/keeper/session"
)

// shares is what the coordinator knows of one topic: its present assignment.
type shares struct {
	topic   string
	slots   int
	last    assignment
	version int32 // of the node; absent if there is none
	known   bool  // nothing was written since, as far as this member knows
	broken  bool  // a person must act
}

const absent = -2 // -1 would be any version

// read reads the topic's definition and its assignment.
func (h *shares) read(ctx context.Context, s *session.Session, t tree) error {
	data, _, err := s.Get(ctx, t.topic(h.topic))
	if errors.Is(err, zk.ErrNoNode) || errors.Is(err, zk.ErrNoAuth) {
		return broken(err)
	} else if err != nil {
		return err
	}
	var def topicNode
	if err := json.Unmarshal(data, &def); err != nil {
		return broken(fmt.Errorf("read %s: %w", t.topic(h.topic), err))
	}
	if def.Slots < 1 || def.Slots > noWorker+1 {
		return broken(fmt.Errorf("read %s: slots are %d", t.topic(h.topic), def.Slots))
	}
	path := t.assign(h.topic)
	data, stat, err := s.Get(ctx, path)
	switch {
	case errors.Is(err, zk.ErrNoNode):
		h.version = absent // the workers before may still have their slots
	case errors.Is(err, zk.ErrNoAuth):
		return broken(err)
	case err != nil:
		return err
	default:
		a, err := decodeAssignment(data)
		if errors.Is(err, errVersion) {
			return &newerError{path}
		}
		if h.version = stat.Version; err == nil {
			h.last = a
		} else {
			h.last.owners = nil // a damaged one is replaced, and says nothing
		}
	}
	h.slots, h.known = def.Slots, true
	return nil
}

// plan returns the owner of each slot from now on; nil if nothing changes.
// It is urgent if there are slots without a worker.
func (h *shares) plan(members []weighted) (owners []string, urgent bool) {
	if len(members) == 0 || h.broken {
		return nil, false // the last assignment stays, and messages wait
	}
	owners = assign(h.last.owners, h.slots, members)
	if slices.Equal(owners, h.last.owners) && h.version != absent {
		return nil, false
	}
	there := make(map[string]bool, len(members))
	for _, m := range members {
		there[m.id] = true
	}
	for slot := range owners {
		if slot >= len(h.last.owners) || !there[h.last.owners[slot]] {
			return owners, true
		}
	}
	return owners, false
}

// write makes the plan the assignment and returns how many slots have another owner.
// If another coordinator has written meanwhile it writes nothing, and h is not known
// any more.
func (h *shares) write(ctx context.Context, s *session.Session, t tree, owners []string) (moved int, err error) {
	next := assignment{gen: h.last.gen + 1, owners: owners}
	path := t.assign(h.topic)
	data, err := next.encode()
	if err != nil {
		return 0, broken(fmt.Errorf("write %s: %w", path, err))
	}
	stat := &zk.Stat{}
	h.known = false // until there is an answer
	if h.version == absent {
		if err = s.Ensure(ctx, t.assigns(), nil); err == nil { // all of it may have been deleted
			err = s.Create(ctx, path, data)
		}
	} else {
		stat, err = s.Set(ctx, path, data, h.version)
	}
	switch {
	case errors.Is(err, zk.ErrBadVersion), errors.Is(err, zk.ErrNodeExists), errors.Is(err, zk.ErrNoNode):
		return 0, nil
	case errors.Is(err, zk.ErrNoAuth):
		return 0, broken(err)
	case err != nil:
		return 0, err
	}
	for slot, owner := range owners {
		if slot >= len(h.last.owners) || h.last.owners[slot] != owner {
			moved++
		}
	}
	h.last, h.version, h.known = next, stat.Version, true
	return moved, nil
}
