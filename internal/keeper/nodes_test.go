package keeper

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

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
		if mine, err := s.claim(within(t), path, nil); mine != want || err != nil {
			t.Errorf("claim %s: %v, %v; want %v", path, mine, err, want)
		}
	}
	claims(one, root+"/a", true)
	claims(one, root+"/a", true)
	claims(other, root+"/a", false)
	if err := one.remove(within(t), root+"/a"); err != nil {
		t.Fatal(err)
	}
	claims(other, root+"/a", true)

	lost := proxy.LoseNextReply(root + "/b")
	claims(other, root+"/b", true)
	await(t, "the reply gets lost", lost)
	claims(one, root+"/b", false)

	if mine, err := one.claim(within(t), root+"/no/such", nil); mine || !errors.Is(err, zk.ErrNoNode) {
		t.Errorf("%v, %v", mine, err)
	}
}

func openHere(t *testing.T, root string, servers ...string) *session {
	t.Helper()
	s, err := open(within(t), New(config(root, long, servers...)).cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.close)
	return s
}

// Each call says what it was about, and keeps what ZooKeeper said.
func TestCallsNameTheirNode(t *testing.T) {
	t.Parallel()
	srv := servertest.SharedZooKeeper(t)
	proxy := servertest.NewProxy(t, srv.Addr())
	root := srv.Chroot(t)
	s := openHere(t, root, proxy.Addr())
	path := root + "/no"
	_, _, err := s.get(within(t), path)
	if !errors.Is(err, zk.ErrNoNode) || passing(err) {
		t.Error(err)
	}
	wantError(t, err, "read "+path)
	_, err = s.set(within(t), path, nil, -1)
	if !errors.Is(err, zk.ErrNoNode) {
		t.Error(err)
	}
	wantError(t, err, "write "+path)
	if err := s.remove(within(t), path); err != nil {
		t.Error(err)
	}
	if err := s.create(within(t), path, nil); err != nil {
		t.Error(err)
	}
	if err := s.create(within(t), path, nil); !errors.Is(err, zk.ErrNodeExists) {
		t.Error(err)
	}
	if _, err := s.set(within(t), path, nil, 7); !errors.Is(err, zk.ErrBadVersion) {
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
