package session

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/go-zookeeper/zk"
)

// nodes are what takes more than one call.
type nodes struct {
	*calls
}

// Claim makes a node that lives as long as the session, and reports whether it is this
// session's. A create without an answer may have worked, and so a node that is there
// already may be our own.
func (n nodes) Claim(ctx context.Context, path string, data []byte) (mine bool, err error) {
	const tries = 3 // the one that had it may have left just then
	for range tries {
		err = n.create(ctx, path, data, zk.FlagEphemeral)
		if err == nil {
			return true, nil
		}
		if !errors.Is(err, zk.ErrNodeExists) && !Passing(err) {
			return false, err
		}
		there, stat, err := n.Exists(ctx, path)
		if err != nil {
			return false, err
		}
		if there {
			return stat.EphemeralOwner == n.life.ID(), nil
		}
	}
	return false, err
}

// Ensure creates a node that stays, unless it exists: we may lack the right to create
// it, and do not need it then.
func (n nodes) Ensure(ctx context.Context, path string, data []byte) error {
	there, _, err := n.Exists(ctx, path)
	if there || err != nil {
		return err
	}
	err = n.Create(ctx, path, data)
	switch {
	case errors.Is(err, zk.ErrNodeExists):
		return nil
	case errors.Is(err, zk.ErrNoNode):
		return fmt.Errorf("%w; create %s first", err, path[:strings.LastIndex(path, "/")])
	}
	return err
}

// RemoveOwn deletes a node if it is this session's.
func (n nodes) RemoveOwn(ctx context.Context, path string) error {
	there, stat, err := n.Exists(ctx, path)
	if err != nil || !there || stat.EphemeralOwner != n.life.ID() {
		return err
	}
	return n.Remove(ctx, path)
}

// RemoveAll deletes a node and all below it.
func (n nodes) RemoveAll(ctx context.Context, path string) error {
	for {
		children, err := n.Children(ctx, path)
		if errors.Is(err, zk.ErrNoNode) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, child := range children {
			if err := n.RemoveAll(ctx, path+"/"+child); err != nil {
				return err
			}
		}
		if err := n.Remove(ctx, path); !errors.Is(err, zk.ErrNotEmpty) { // otherwise one has come meanwhile
			return err
		}
	}
}
