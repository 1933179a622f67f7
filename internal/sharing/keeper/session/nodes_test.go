package session

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
	one, other := opened(t, config(long, srv.Addr())), opened(t, config(long, proxy.Addr()))
	claims := func(s *Session, path string, want bool) {
		t.Helper()
		if mine, err := s.Claim(await.Context(t), path, nil); mine != want || err != nil {
			t.Errorf("claim %s: %v, %v; want %v", path, mine, err, want)
		}
	}
	claims(one, root+"/a", true)
	claims(one, root+"/a", true)
	claims(other, root+"/a", false)
	if err := one.Remove(await.Context(t), root+"/a"); err != nil {
		t.Fatal(err)
	}
	claims(other, root+"/a", true)

	lost := proxy.LoseNextReply(root + "/b")
	claims(other, root+"/b", true)
	await.Signal(t, "the reply gets lost", lost)
	claims(one, root+"/b", false)

	if mine, err := one.Claim(await.Context(t), root+"/no/such", nil); mine || !errors.Is(err, zk.ErrNoNode) {
		t.Errorf("%v, %v", mine, err)
	}
}

// Only a node that belongs to no session is deleted, and nothing is left below one that stays.
func TestRemoveLasting(t *testing.T) {
	t.Parallel()
	srv := servertest.SharedZooKeeper(t)
	root, conn := srv.Chroot(t), srv.Client(t, long)
	s := opened(t, config(long, srv.Addr()))
	path := root + "/a"
	removes := func(want bool) {
		t.Helper()
		if removed, err := s.RemoveLasting(await.Context(t), path); removed != want || err != nil {
			t.Errorf("%v, %v; want %v", removed, err, want)
		}
	}
	removes(false) // it is not there
	comes(t, conn, path, zk.FlagEphemeral)
	removes(false) // somebody else's
	if !there(t, conn, path) {
		t.Error("a node of a session is removed")
	}
	if err := conn.Delete(path, -1); err != nil {
		t.Fatal(err)
	}
	comes(t, conn, path, 0)
	removes(true)
	if there(t, conn, path) {
		t.Error("it is still there")
	}
	comes(t, conn, path, 0)
	comes(t, conn, path+"/below", 0)
	removed, err := s.RemoveLasting(await.Context(t), path)
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
	s := opened(t, config(long, proxy.Addr()))
	path := root + "/no"
	_, _, err := s.Get(await.Context(t), path)
	if !errors.Is(err, zk.ErrNoNode) || Passing(err) {
		t.Error(err)
	}
	wantError(t, err, "read "+path)
	_, err = s.Set(await.Context(t), path, nil, -1)
	if !errors.Is(err, zk.ErrNoNode) {
		t.Error(err)
	}
	wantError(t, err, "write "+path)
	if err := s.Remove(await.Context(t), path); err != nil {
		t.Error(err)
	}
	if err := s.Create(await.Context(t), path, nil); err != nil {
		t.Error(err)
	}
	if err := s.Create(await.Context(t), path, nil); !errors.Is(err, zk.ErrNodeExists) {
		t.Error(err)
	}
	if _, err := s.Set(await.Context(t), path, nil, 7); !errors.Is(err, zk.ErrBadVersion) {
		t.Error(err)
	}

	// No call outlasts its context.
	proxy.Freeze()
	defer proxy.Thaw()
	reason := errors.New("no patience")
	ctx, cancel := context.WithTimeoutCause(context.Background(), 10*time.Millisecond, reason)
	defer cancel()
	if _, _, err := s.Get(ctx, path); !errors.Is(err, reason) {
		t.Error(err)
	}
	grant(s, 300*time.Millisecond)
	if _, _, err := s.Get(context.Background(), path); !errors.Is(err, errNoAnswer) || !Passing(err) {
		t.Error(err)
	}
}
