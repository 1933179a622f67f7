package store

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/slotmq/go-rmq/internal/protocol"
)

// CleanUp deletes the keys of this run's namespace, and no others, and what it has in
// ZooKeeper. It needs no search: the topics are listed, and the keys of a topic follow
// from its name.
func (s *Store) CleanUp(ctx context.Context) error {
	topics, err := s.Redis.SMembers(ctx, protocol.TopicsKey).Result()
	if err != nil {
		return fmt.Errorf("list topics: %w", err)
	}
	for _, topic := range topics {
		if !strings.HasPrefix(topic, s.Namespace+":") {
			continue
		}
		if err := s.forget(ctx, topic); err != nil {
			return fmt.Errorf("delete the keys of topic %s: %w", topic, err)
		}
	}
	return s.leaveZooKeeper(ctx)
}

func (s *Store) forget(ctx context.Context, topic string) error {
	text, err := s.Redis.HGet(ctx, protocol.DefinitionKey(topic), "slots").Result()
	if err != nil {
		return err
	}
	slots, err := strconv.Atoi(text)
	if err != nil {
		return err
	}
	for slot := range slots {
		if err := s.Redis.Del(ctx, protocol.OfSlot(topic, slot)...).Err(); err != nil {
			return err
		}
	}
	for _, key := range protocol.OfTopic(topic) {
		if err := s.Redis.Del(ctx, key).Err(); err != nil {
			return err
		}
	}
	return s.Redis.SRem(ctx, protocol.TopicsKey, topic).Err()
}
