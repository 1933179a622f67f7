package servertest

import (
	"slices"
	"testing"

	"github.com/go-zookeeper/zk"
)

func TestNodesAreSeenAndDeleted(t *testing.T) {
	t.Parallel()
	srv := ZooKeeper(t)
	conn, nodes := srv.Client(t, long), srv.Nodes(t)
	mustCreate(t, conn, "/a", "x", 0)
	mustCreate(t, conn, "/a/b", "y", zk.FlagEphemeral)
	if data, session := nodes.Read("/a"); string(data) != "x" || session != 0 {
		t.Errorf("/a: %q of session %#x", data, session)
	}
	if data, session := nodes.Read("/a/b"); string(data) != "y" || session != conn.SessionID() {
		t.Errorf("/a/b: %q of session %#x, want %#x", data, session, conn.SessionID())
	}
	if names := nodes.Children("/a"); !slices.Equal(names, []string{"b"}) {
		t.Errorf("below /a: %v", names)
	}
	srv.Restart(t) // of a running server: stops it first; and a look outlasts it
	nodes.Delete("/a/b")
	nodes.Delete("/a/b")
	if data, _ := nodes.Read("/a/b"); data != nil {
		t.Errorf("/a/b: %q after it was deleted", data)
	}
	if names := append(nodes.Children("/a"), nodes.Children("/none")...); len(names) != 0 {
		t.Errorf("there is still %v", names)
	}
}
