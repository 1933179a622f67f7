package servertest

import (
	"crypto/rand"
	"fmt"
	"net"
	"path"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/slotmq/go-rmq/internal/sharing/keeper/zxid"
	"github.com/slotmq/go-rmq/internal/testing/await"
)

// silent is a zk.Logger: tests take servers away on purpose.
type silent struct{}

func (silent) Printf(string, ...any) {}

// impatientConn does not wait long for the welcome of a server that takes a connection while it
// starts and then forgets it. The library would wait for 6.7 session timeouts, so minutes.
type impatientConn struct {
	net.Conn
	met bool // something was read
}

const welcomePatience = 10 * time.Second

func (c *impatientConn) SetReadDeadline(t time.Time) error {
	if soon := time.Now().Add(welcomePatience); !c.met && soon.Before(t) {
		t = soon
	}
	return c.Conn.SetReadDeadline(t)
}

func (c *impatientConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.met = c.met || n > 0
	return n, err
}

// newZooKeeperClient is a client that has a session, closed with the test.
func newZooKeeperClient(t testing.TB, servers []string, dial zk.Dialer, sessionTimeout time.Duration, on []func(zk.Event)) *zk.Conn {
	t.Helper()
	session, seen := make(chan struct{}, 1), new(zxid.Seen)
	kept := func(network, addr string, timeout time.Duration) (net.Conn, error) {
		conn, err := dial(network, addr, timeout)
		if err != nil {
			return nil, err
		}
		return seen.Conn(&impatientConn{Conn: conn}), nil
	}
	conn, _, err := zk.Connect(servers, sessionTimeout,
		zk.WithDialer(kept), zk.WithLogger(silent{}), zk.WithLogInfo(false),
		zk.WithEventCallback(func(e zk.Event) {
			if e.State == zk.StateHasSession {
				select {
				case session <- struct{}{}:
				default: // not the first one
				}
			}
			for _, f := range on {
				f(e)
			}
		}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close) // waits a second if the server is away
	await.Signal(t, fmt.Sprintf("a session with %v", servers), session)
	return conn
}

// Chroot creates a node for this test alone and returns its path. On a server of
// the user's own it is removed with the test.
func (s *ZooKeeperServer) Chroot(t testing.TB) string {
	t.Helper()
	conn := s.Client(t, 10*time.Second)
	root := "/rmq-test-" + rand.Text()
	if _, err := conn.Create(root, nil, 0, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatalf("create %s: %v", root, err)
	}
	if s.proc == nil {
		t.Cleanup(func() {
			if err := removeTree(conn, root); err != nil {
				t.Logf("remove %s: %v", root, err) // an ACL of the test's, for example
			}
		})
	}
	return root
}

// removeTree deletes a node and all below it.
func removeTree(conn *zk.Conn, node string) error {
	children, _, err := conn.Children(node)
	if err != nil {
		return err
	}
	for _, child := range children {
		if err := removeTree(conn, path.Join(node, child)); err != nil {
			return err
		}
	}
	return conn.Delete(node, -1)
}
