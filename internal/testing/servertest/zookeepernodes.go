package servertest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
)

// Nodes are the nodes of a ZooKeeper as an operator sees them, who has a client and
// knows nothing of RMQ. While ZooKeeper is away, the methods wait.
type Nodes struct {
	t    testing.TB
	conn *zk.Conn
}

const nodesSession = 30 * time.Second

// Nodes looks at the nodes of the server, with a session of its own that ends with
// the test.
func (s *ZooKeeperServer) Nodes(t testing.TB) *Nodes {
	t.Helper()
	return &Nodes{t, s.Client(t, nodesSession)}
}

// Nodes looks at the nodes of the ensemble.
func (e *ZooKeeperEnsemble) Nodes(t testing.TB) *Nodes {
	t.Helper()
	return &Nodes{t, e.Client(t, nodesSession)}
}

// Read returns what a node holds and, of an ephemeral one, the session it belongs to.
// Of a node that is not there it returns nil.
func (n *Nodes) Read(path string) (data []byte, session int64) {
	n.t.Helper()
	n.ask("read "+path, func() error {
		read, stat, err := n.conn.Get(path)
		if err == nil {
			data, session = append([]byte{}, read...), stat.EphemeralOwner
		}
		return err
	})
	return data, session
}

// Children returns the names of the nodes below one; none if that is not there.
func (n *Nodes) Children(path string) (names []string) {
	n.t.Helper()
	n.ask("children of "+path, func() (err error) {
		names, _, err = n.conn.Children(path)
		return err
	})
	return names
}

// Delete deletes a node, whatever it holds. One that is not there is fine.
func (n *Nodes) Delete(path string) {
	n.t.Helper()
	n.ask("delete "+path, func() error { return n.conn.Delete(path, -1) })
}

// ask puts a request until it is answered. NoNode is an answer.
func (n *Nodes) ask(what string, request func() error) {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startPatience)
	defer cancel()
	err := poll(ctx, func() error {
		err := request()
		if errors.Is(err, zk.ErrNoNode) {
			return nil
		}
		return err
	})
	if err != nil {
		n.t.Fatalf("%s: %v", what, err)
	}
}
