package keeper

import (
	"context"
	"errors"

	"github.com/slotmq/go-rmq/internal/sharing/keeper/session"
)

// Remove deletes all that a namespace has in ZooKeeper, and nothing above it. No
// worker of it may be running: others would take it for dead.
func (k *Keeper) Remove(ctx context.Context, namespace string) error {
	if err := k.Validate(namespace); err != nil {
		return err
	}
	if namespace == "" {
		return errors.New("remove a namespace: it has no name") // the root may hold others
	}
	return k.remove(ctx, string(newTree(k.cfg.Root, namespace)))
}

// RemoveTopic deletes what a topic has there, so that it can be defined anew. No worker of the topic may be running.
func (k *Keeper) RemoveTopic(ctx context.Context, namespace, topic string) error {
	t := newTree(k.cfg.Root, namespace)
	return k.remove(ctx, t.assign(topic), t.topic(topic)) // if an assignment is gone, a coordinator knows that its copy is old
}

func (k *Keeper) remove(ctx context.Context, paths ...string) error {
	return k.visit(ctx, func(ctx context.Context, s *session.Session) error {
		for _, path := range paths {
			if err := session.Retry(ctx, func() error { return s.RemoveAll(ctx, path) }); err != nil {
				return err
			}
		}
		return nil
	})
}
