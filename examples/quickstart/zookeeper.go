package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/slotmq/go-rmq/examples/internal/store"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/rmq"
)

// shared waits until ZooKeeper shows that so many workers have all slots of a topic
// between them, and says who. Without ZooKeeper it waits for as many to be in the
// topic's list: a worker that finds others there is on trial for 2 s.
func shared(ctx context.Context, s *store.Store, t rmq.Topic, workers int) error {
	if s.ZooKeeper == nil {
		return listed(ctx, s, t, workers)
	}
	for {
		shown, err := s.Shown(ctx, t.Name)
		if err != nil {
			return err
		}
		slots := 0
		for _, own := range shown {
			slots += len(own)
		}
		if len(shown) == workers && slots == t.Slots && balanced(shown) {
			for _, id := range slices.Sorted(maps.Keys(shown)) {
				say("ZooKeeper shows: %s has %s.", id, numbers(shown[id]))
			}
			return nil
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("%d workers share %s: %w; ZooKeeper shows %v", workers, t.Name, ctx.Err(), shown)
		}
	}
}

// listed waits until so many workers are in a topic's list of members in Redis.
func listed(ctx context.Context, s *store.Store, t rmq.Topic, workers int) error {
	for {
		n, err := s.Redis.ZCard(ctx, protocol.WorkersKey(protocol.Qualify(s.Namespace, t.Name))).Result()
		if err != nil || n == int64(workers) {
			return err
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("%d workers share %s: %w; there are %d", workers, t.Name, ctx.Err(), n)
		}
	}
}

// balanced reports whether all have the same number of slots, give or take one.
func balanced(shown map[string][]int) bool {
	var sizes []int
	for _, own := range shown {
		sizes = append(sizes, len(own))
	}
	return slices.Max(sizes)-slices.Min(sizes) <= 1
}
