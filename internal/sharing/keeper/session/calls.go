package session

import (
	"context"
	"errors"
	"strings"

	"github.com/go-zookeeper/zk"
)

// calls are those to ZooKeeper in a session. A call waits for its answer no longer than the
// session's AnswerTimeout, and its error names the call and the path; errors.Is finds
// zk.ErrNoNode and the like in it. After zk.ErrConnectionClosed, or without an
// answer, a write may have been executed, or may be yet.
type calls struct {
	*caller
	acl []zk.ACL // of what is created
}

// node is what a read returns.
type node struct {
	data     []byte
	children []string
	there    bool
	stat     *zk.Stat
	watch    <-chan zk.Event
}

// authenticate sends the password. The library sends it again on each new connection,
// but only if it got an answer the first time.
func (c *calls) authenticate(ctx context.Context, auth string) error {
	user, password, _ := strings.Cut(auth, ":")
	c.acl = zk.DigestACL(zk.PermAll, user, password)
	return Retry(ctx, func() error {
		_, err := ask(ctx, c.caller, call{what: "authenticate", path: "user " + user}, func(conn *zk.Conn) (struct{}, error) {
			return struct{}{}, conn.AddAuth("digest", []byte(auth))
		})
		return err
	})
}

func (c *calls) Get(ctx context.Context, path string) ([]byte, *zk.Stat, error) {
	n, err := ask(ctx, c.caller, call{what: "read", path: path}, func(conn *zk.Conn) (n node, err error) {
		n.data, n.stat, err = conn.Get(path)
		return n, err
	})
	return n.data, n.stat, err
}

// GetW leaves a watch that fires when the node changes or goes. It is closed, without
// an event, when the session is over.
func (c *calls) GetW(ctx context.Context, path string) ([]byte, *zk.Stat, <-chan zk.Event, error) {
	n, err := ask(ctx, c.caller, call{what: "read", path: path}, func(conn *zk.Conn) (n node, err error) {
		n.data, n.stat, n.watch, err = conn.GetW(path)
		return n, err
	})
	return n.data, n.stat, n.watch, err
}

// Children lists without leaving a watch.
func (c *calls) Children(ctx context.Context, path string) ([]string, error) {
	n, err := ask(ctx, c.caller, call{what: "list", path: path}, func(conn *zk.Conn) (n node, err error) {
		n.children, n.stat, err = conn.Children(path)
		return n, err
	})
	return n.children, err
}

// ChildrenW leaves a watch that fires when a child comes or goes.
func (c *calls) ChildrenW(ctx context.Context, path string) ([]string, <-chan zk.Event, error) {
	n, err := ask(ctx, c.caller, call{what: "list", path: path}, func(conn *zk.Conn) (n node, err error) {
		n.children, n.stat, n.watch, err = conn.ChildrenW(path)
		return n, err
	})
	return n.children, n.watch, err
}

func (c *calls) Exists(ctx context.Context, path string) (bool, *zk.Stat, error) {
	n, err := ask(ctx, c.caller, call{what: "look for", path: path}, func(conn *zk.Conn) (n node, err error) {
		n.there, n.stat, err = conn.Exists(path)
		return n, err
	})
	return n.there, n.stat, err
}

// ExistsW leaves a watch that fires when the node comes, changes or goes.
func (c *calls) ExistsW(ctx context.Context, path string) (bool, *zk.Stat, <-chan zk.Event, error) {
	n, err := ask(ctx, c.caller, call{what: "look for", path: path}, func(conn *zk.Conn) (n node, err error) {
		n.there, n.stat, n.watch, err = conn.ExistsW(path)
		return n, err
	})
	return n.there, n.stat, n.watch, err
}

// Sync makes the server catch up with the leader.
func (c *calls) Sync(ctx context.Context, path string) error {
	_, err := ask(ctx, c.caller, call{what: "sync", path: path}, func(conn *zk.Conn) (string, error) {
		return conn.Sync(path)
	})
	return err
}

// Set writes if the node is of that version; -1 is any.
func (c *calls) Set(ctx context.Context, path string, data []byte, version int32) (*zk.Stat, error) {
	return ask(ctx, c.caller, call{what: "write", path: path, writes: true}, func(conn *zk.Conn) (*zk.Stat, error) {
		return conn.Set(path, data, version)
	})
}

// Create makes a node that stays.
func (c *calls) Create(ctx context.Context, path string, data []byte) error {
	return c.create(ctx, path, data, 0)
}

func (c *calls) create(ctx context.Context, path string, data []byte, flags int32) error {
	_, err := ask(ctx, c.caller, call{what: "create", path: path, writes: true}, func(conn *zk.Conn) (string, error) {
		return conn.Create(path, data, flags, c.acl)
	})
	return err
}

// Remove deletes a node. That it is gone already is fine.
func (c *calls) Remove(ctx context.Context, path string) error {
	_, err := ask(ctx, c.caller, call{what: "remove", path: path, writes: true}, func(conn *zk.Conn) (struct{}, error) {
		return struct{}{}, conn.Delete(path, -1)
	})
	if errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	return err
}

// RemoveLasting deletes a node that belongs to no session, and reports whether it did. If
// a node of a session has taken its place since, that one must stay. No version shows the
// difference, since each begins at 0. But only a node without a session can have children.
// So the same transaction also makes a child and deletes it again: if that is not
// possible, it fails as a whole.
func (c *calls) RemoveLasting(ctx context.Context, path string) (removed bool, err error) {
	below := path + "/removed"
	_, err = ask(ctx, c.caller, call{what: "remove", path: path, writes: true}, func(conn *zk.Conn) ([]zk.MultiResponse, error) {
		return conn.Multi(&zk.CreateRequest{Path: below, Acl: c.acl}, &zk.DeleteRequest{Path: below, Version: -1},
			&zk.DeleteRequest{Path: path, Version: -1})
	})
	if errors.Is(err, zk.ErrNoChildrenForEphemerals) || errors.Is(err, zk.ErrNoNode) {
		return false, nil
	}
	return err == nil, err
}
