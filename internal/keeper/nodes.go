package keeper

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/go-zookeeper/zk"
)

// The calls to ZooKeeper. A call waits for its answer no longer than the session's
// answerTimeout, and its error names the call and the path; errors.Is finds
// zk.ErrNoNode and the like in it. After zk.ErrConnectionClosed, or without an
// answer, a write may have been executed, or may be yet.

func (s *session) get(ctx context.Context, path string) ([]byte, *zk.Stat, error) {
	n, err := ask(ctx, s, call{what: "read", path: path}, func(c *zk.Conn) (n node, err error) {
		n.data, n.stat, err = c.Get(path)
		return n, err
	})
	return n.data, n.stat, err
}

// getW leaves a watch that fires when the node changes or goes. It is closed, without
// an event, when the session is over.
func (s *session) getW(ctx context.Context, path string) ([]byte, *zk.Stat, <-chan zk.Event, error) {
	n, err := ask(ctx, s, call{what: "read", path: path}, func(c *zk.Conn) (n node, err error) {
		n.data, n.stat, n.watch, err = c.GetW(path)
		return n, err
	})
	return n.data, n.stat, n.watch, err
}

// childrenW leaves a watch that fires when a child comes or goes.
func (s *session) childrenW(ctx context.Context, path string) ([]string, <-chan zk.Event, error) {
	n, err := ask(ctx, s, call{what: "list", path: path}, func(c *zk.Conn) (n node, err error) {
		n.children, n.stat, n.watch, err = c.ChildrenW(path)
		return n, err
	})
	return n.children, n.watch, err
}

// children lists without leaving a watch.
func (s *session) children(ctx context.Context, path string) ([]string, error) {
	n, err := ask(ctx, s, call{what: "list", path: path}, func(c *zk.Conn) (n node, err error) {
		n.children, n.stat, err = c.Children(path)
		return n, err
	})
	return n.children, err
}

func (s *session) exists(ctx context.Context, path string) (bool, *zk.Stat, error) {
	n, err := ask(ctx, s, call{what: "look for", path: path}, func(c *zk.Conn) (n node, err error) {
		n.there, n.stat, err = c.Exists(path)
		return n, err
	})
	return n.there, n.stat, err
}

// existsW leaves a watch that fires when the node comes, changes or goes.
func (s *session) existsW(ctx context.Context, path string) (bool, *zk.Stat, <-chan zk.Event, error) {
	n, err := ask(ctx, s, call{what: "look for", path: path}, func(c *zk.Conn) (n node, err error) {
		n.there, n.stat, n.watch, err = c.ExistsW(path)
		return n, err
	})
	return n.there, n.stat, n.watch, err
}

// set writes if the node is of that version; -1 is any.
func (s *session) set(ctx context.Context, path string, data []byte, version int32) (*zk.Stat, error) {
	return ask(ctx, s, call{what: "write", path: path, writes: true}, func(c *zk.Conn) (*zk.Stat, error) {
		return c.Set(path, data, version)
	})
}

// create makes a node that stays.
func (s *session) create(ctx context.Context, path string, data []byte) error {
	return s.make(ctx, path, data, 0)
}

func (s *session) make(ctx context.Context, path string, data []byte, flags int32) error {
	_, err := ask(ctx, s, call{what: "create", path: path, writes: true}, func(c *zk.Conn) (string, error) {
		return c.Create(path, data, flags, s.acl)
	})
	return err
}

// claim makes a node that lives as long as the session, and reports whether it is this
// session's. A create without an answer may have worked, and so a node that is there
// already may be our own.
func (s *session) claim(ctx context.Context, path string, data []byte) (mine bool, err error) {
	const tries = 3 // the one that had it may have left just then
	for range tries {
		err = s.make(ctx, path, data, zk.FlagEphemeral)
		if err == nil {
			return true, nil
		}
		if !errors.Is(err, zk.ErrNodeExists) && !passing(err) {
			return false, err
		}
		there, stat, err := s.exists(ctx, path)
		if err != nil {
			return false, err
		}
		if there {
			return stat.EphemeralOwner == s.id(), nil
		}
	}
	return false, err
}

// remove deletes a node. That it is gone already is fine.
func (s *session) remove(ctx context.Context, path string) error {
	_, err := ask(ctx, s, call{what: "remove", path: path, writes: true}, func(c *zk.Conn) (struct{}, error) {
		return struct{}{}, c.Delete(path, -1)
	})
	if errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	return err
}

// removeOwn deletes a node if it is this session's.
func (s *session) removeOwn(ctx context.Context, path string) error {
	there, stat, err := s.exists(ctx, path)
	if err != nil || !there || stat.EphemeralOwner != s.id() {
		return err
	}
	return s.remove(ctx, path)
}

// removeLasting deletes a node that belongs to no session, and reports whether it did. A
// node of a session that has taken its place meanwhile must stay, and no version shows the
// difference, since each begins at 0. But only a node without a session can have children.
// So the same transaction makes a child and deletes it again, and fails as a whole if that
// is not possible.
func (s *session) removeLasting(ctx context.Context, path string) (removed bool, err error) {
	below := path + "/removed"
	_, err = ask(ctx, s, call{what: "remove", path: path, writes: true}, func(c *zk.Conn) ([]zk.MultiResponse, error) {
		return c.Multi(&zk.CreateRequest{Path: below, Acl: s.acl}, &zk.DeleteRequest{Path: below, Version: -1},
			&zk.DeleteRequest{Path: path, Version: -1})
	})
	if errors.Is(err, zk.ErrNoChildrenForEphemerals) || errors.Is(err, zk.ErrNoNode) {
		return false, nil
	}
	return err == nil, err
}

// sync makes the server catch up with the leader.
func (s *session) sync(ctx context.Context, path string) error {
	_, err := ask(ctx, s, call{what: "sync", path: path}, func(c *zk.Conn) (string, error) {
		return c.Sync(path)
	})
	return err
}

// node is what a read returns.
type node struct {
	data     []byte
	children []string
	there    bool
	stat     *zk.Stat
	watch    <-chan zk.Event
}

// ensure creates a node that stays, unless it exists: we may lack the right to create
// it, and do not need it then.
func (s *session) ensure(ctx context.Context, path string, data []byte) error {
	there, _, err := s.exists(ctx, path)
	if there || err != nil {
		return err
	}
	err = s.create(ctx, path, data)
	switch {
	case errors.Is(err, zk.ErrNodeExists):
		return nil
	case errors.Is(err, zk.ErrNoNode):
		return fmt.Errorf("%w; create %s first", err, path[:strings.LastIndex(path, "/")])
	}
	return err
}
