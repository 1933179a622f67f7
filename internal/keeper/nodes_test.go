package keeper

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
)

// A node is ours if our session owns it, whatever became of the answer to its create.
func TestClaim(t *testing.T) {
	t.Parallel()
	srv := servertest.SharedZooKeeper(t)
	proxy := servertest.NewProxy(t, srv.Addr())
	root := srv.Chroot(t)
	one, other := openHere(t, root, srv.Addr()), openHere(t, root, proxy.Addr())
	claims := func(s *session, path string, want bool) {
		t.Helper()
		if mine, err := s.claim(await.Context(t), path, nil); mine != want || err != nil {
			t.Errorf("claim %s: %v, %v; want %v", path, mine, err, want)
		}
	}
	claims(one, root+"/a", true)
	claims(one, root+"/a", true)
	claims(other, root+"/a", false)
	if err := one.remove(await.Context(t), root+"/a"); err != nil {
		t.Fatal(err)
	}
	claims(other, root+"/a", true)

	lost := proxy.LoseNextReply(root + "/b")
	claims(other, root+"/b", true)
	await.Signal(t, "the reply gets lost", lost)
	claims(one, root+"/b", false)

	if mine, err := one.claim(await.Context(t), root+"/no/such", nil); mine || !errors.Is(err, zk.ErrNoNode) {
		t.Errorf("%v, %v", mine, err)
	}
}

func openHere(t *testing.T, root string, servers ...string) *session {
	t.Helper()
	s, err := open(await.Context(t), New(config(root, long, servers...)).cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.close)
	return s
}

// Only a node that belongs to no session is deleted, and nothing is left below one that stays.
func TestRemoveLasting(t *testing.T) {
	t.Parallel()
	srv := servertest.SharedZooKeeper(t)
	root, conn := srv.Chroot(t), srv.Client(t, long)
	s := openHere(t, root, srv.Addr())
	path := root + "/a"
	removes := func(want bool) {
		t.Helper()
		if removed, err := s.removeLasting(await.Context(t), path); removed != want || err != nil {
			t.Errorf("%v, %v; want %v", removed, err, want)
		}
	}
	removes(false) // it is not there
	comes(t, conn, path)
	removes(false) // somebody else's
	if !there(t, conn, path) {
		t.Error("a node of a session is removed")
	}
	if err := conn.Delete(path, -1); err != nil {
		t.Fatal(err)
	}
	put(t, conn, path, "")
	removes(true)
	if there(t, conn, path) {
		t.Error("it is still there")
	}
	put(t, conn, path, "")
	put(t, conn, path+"/below", "")
	removed, err := s.removeLasting(await.Context(t), path)
	if removed || !errors.Is(err, zk.ErrNotEmpty) {
		t.Errorf("%v, %v", removed, err)
	}
	wantError(t, err, "remove "+path)
	if children, _, err := conn.Children(path); len(children) != 1 || err != nil {
		t.Errorf("there is %q below it, %v", children, err)
	}
}

// Each call says what it was about, and keeps what ZooKeeper said.
func TestCallsNameTheirNode(t *testing.T) {
	t.Parallel()
	srv := servertest.SharedZooKeeper(t)
	proxy := servertest.NewProxy(t, srv.Addr())
	root := srv.Chroot(t)
	s := openHere(t, root, proxy.Addr())
	path := root + "/no"
	_, _, err := s.get(await.Context(t), path)
	if !errors.Is(err, zk.ErrNoNode) || passing(err) {
		t.Error(err)
	}
	wantError(t, err, "read "+path)
	_, err = s.set(await.Context(t), path, nil, -1)
	if !errors.Is(err, zk.ErrNoNode) {
		t.Error(err)
	}
	wantError(t, err, "write "+path)
	if err := s.remove(await.Context(t), path); err != nil {
		t.Error(err)
	}
	if err := s.create(await.Context(t), path, nil); err != nil {
		t.Error(err)
	}
	if err := s.create(await.Context(t), path, nil); !errors.Is(err, zk.ErrNodeExists) {
		t.Error(err)
	}
	if _, err := s.set(await.Context(t), path, nil, 7); !errors.Is(err, zk.ErrBadVersion) {
		t.Error(err)
	}

	// No call outlasts its context.
	proxy.Freeze()
	defer proxy.Thaw()
	reason := errors.New("no patience")
	ctx, cancel := context.WithTimeoutCause(context.Background(), 10*time.Millisecond, reason)
	defer cancel()
	if _, _, err := s.get(ctx, path); !errors.Is(err, reason) {
		t.Error(err)
	}
	s.mu.Lock()
	s.granted = 300 * time.Millisecond
	s.mu.Unlock()
	if _, _, err := s.get(context.Background(), path); !errors.Is(err, errNoAnswer) || !passing(err) {
		t.Error(err)
	}
}
