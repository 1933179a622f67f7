package keeper

import (
	"context"
	"errors"

	"github.com/go-zookeeper/zk"
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
	return k.remove(ctx, t.assign(topic), t.topic(topic)) // a coordinator takes what it knows of an assignment that is gone for old
}

func (k *Keeper) remove(ctx context.Context, paths ...string) error {
	s, err := open(ctx, k.cfg)
	if err != nil {
		return err
	}
	defer s.close()
	ctx, cancel := k.cfg.bound(ctx)
	defer cancel()
	for _, path := range paths {
		if err := insist(ctx, func() error { return s.removeAll(ctx, path) }); err != nil {
			return k.cfg.explain(err)
		}
	}
	return nil
}

func (s *session) removeAll(ctx context.Context, path string) error {
	for {
		children, err := s.children(ctx, path)
		if errors.Is(err, zk.ErrNoNode) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, child := range children {
			if err := s.removeAll(ctx, path+"/"+child); err != nil {
				return err
			}
		}
		if err := s.remove(ctx, path); !errors.Is(err, zk.ErrNotEmpty) { // otherwise one has come meanwhile
			return err
		}
	}
}
