package keeper

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
)

// verify fails unless the holder is found dead, or alive.
func verify(t *testing.T, m *Member, holder string, want bool) {
	t.Helper()
	if dead, err := m.Verify(await.Context(t), holder); dead != want || err != nil {
		t.Errorf("Verify(%s): %v, %v; want %v", holder, dead, err, want)
	}
	if m.Dead(holder) != want {
		t.Errorf("Dead(%s): %v", holder, !want)
	}
}

// comes makes a worker's node that lives as long as somebody else's session.
func comes(t *testing.T, conn *zk.Conn, path string) {
	t.Helper()
	if _, err := conn.Create(path, nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
}

func TestVerify(t *testing.T) {
	t.Parallel()
	cfg, _ := shared(t)
	k := New(cfg)
	m := join(t, k, worker())
	closed, killed := join(t, k, worker()), join(t, k, worker())
	verify(t, m, closed.ID(), false)
	if err := closed.Leaving(await.Context(t)); err != nil {
		t.Fatal(err)
	}
	verify(t, m, closed.ID(), false)
	closed.Close()
	verify(t, m, closed.ID(), true)

	killed.Abandon()
	verify(t, m, killed.ID(), false) // its handlers may still run
	servertest.SharedZooKeeper(t).ExpireSession(t, killed.session.ID())
	verify(t, m, killed.ID(), true)
	verify(t, m, "who has never lived", true)

	for _, who := range []string{m.ID(), ""} {
		if dead, err := m.Verify(await.Context(t), who); dead || err == nil {
			t.Errorf("Verify(%q): %v, %v", who, dead, err)
		}
	}
}

// What was proven stays so, for all members of the process, and needs no server.
func TestDeadForEver(t *testing.T) {
	t.Parallel()
	srv := servertest.SharedZooKeeper(t)
	proxy := servertest.NewProxy(t, srv.Addr())
	k := New(config(srv.Chroot(t), long, proxy.Addr()))
	m, other, third := join(t, k, worker()), join(t, k, worker()), join(t, k, worker())
	third.Close()
	verify(t, m, third.ID(), true)
	proxy.Cut()
	verify(t, m, third.ID(), true)
	verify(t, other, third.ID(), true)
	if dead, err := m.Verify(await.Context(t), "another"); dead || err == nil {
		t.Errorf("without a server: %v, %v", dead, err)
	}
}

// A lost session proves nothing, whatever it may see.
func TestVerifyOnALostSession(t *testing.T) {
	t.Parallel()
	cfg, _ := shared(t)
	k := New(cfg)
	m, closed := join(t, k, worker()), join(t, k, worker())
	closed.Close()
	servertest.SharedZooKeeper(t).ExpireSession(t, m.session.ID())
	// Lost or not yet noticed: no proof in either case.
	if dead, err := m.Verify(await.Context(t), closed.ID()); dead || err == nil || m.Dead(closed.ID()) {
		t.Errorf("%v, %v", dead, err)
	}
	await.Signal(t, "lost", m.Lost())
	if dead, err := m.Verify(await.Context(t), closed.ID()); dead || m.Dead(closed.ID()) {
		t.Errorf("%v, %v", dead, err)
	} else {
		wantError(t, err, "ZooKeeper has ended the session")
	}
	left := join(t, k, worker())
	left.Abandon()
	if dead, err := left.Verify(await.Context(t), closed.ID()); dead {
		t.Error("dead by the word of nobody")
	} else {
		wantError(t, err, "the session was abandoned")
	}
}

// The write comes before the look. That it is refused, since an operator has deleted what
// is written to, is as good. What is proven is not asked again.
func TestBarrier(t *testing.T) {
	t.Parallel()
	m, proxy, witness := behind(t, long, Stop)
	holder := m.tree.worker("x")
	var mu sync.Mutex
	var asked []string
	proxy.OnRequest(func(b []byte) bool {
		mu.Lock()
		defer mu.Unlock()
		for _, r := range requests(b) {
			switch r {
			case request{opExists, holder}:
				asked = append(asked, "look")
			case request{opSet, m.tree.owned(m.ID())}:
				asked = append(asked, "write")
			}
		}
		return true
	})
	wants := func(want string) {
		t.Helper()
		mu.Lock()
		defer mu.Unlock()
		got := strings.Join(asked, " ")
		for strings.Contains(got, "write write") { // it writes from time to time, too
			got = strings.ReplaceAll(got, "write write", "write")
		}
		if got = strings.TrimSuffix(got, " write"); got != want && got != "write"+want {
			t.Errorf("asked %q, not %q", asked, want)
		}
		asked = nil
	}
	comes(t, witness, holder)
	verify(t, m, "x", false)
	wants("write look")
	if err := witness.Delete(m.tree.owned(m.ID()), -1); err != nil {
		t.Fatal(err)
	}
	verify(t, m, "x", false)
	wants("write look")

	if err := witness.Delete(holder, -1); err != nil {
		t.Fatal(err)
	}
	verify(t, m, "x", true)
	wants("write look")
	verify(t, m, "x", true)
	wants("") // it is known

	// Without the write there is no proof.
	proxy.OnRequest(func(b []byte) bool { return !asks(b, opSet) })
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if dead, err := m.Verify(ctx, "y"); dead || err == nil {
		t.Errorf("%v, %v", dead, err)
	}
}

// Somebody has deleted what all write to before they look.
func TestVerifyWithoutAnythingOwned(t *testing.T) {
	t.Parallel()
	cfg, conn := shared(t)
	k := New(cfg)
	m, closed := join(t, k, worker()), join(t, k, worker())
	closed.Close()
	tr := newTree(cfg.Root, "")
	for _, path := range []string{tr.owned(m.ID()), tr.owners()} {
		if err := conn.Delete(path, -1); err != nil {
			t.Fatal(err)
		}
	}
	verify(t, m, closed.ID(), true)
	await.Nil(t, "its node is there again", func() error {
		if !there(t, conn, tr.owned(m.ID())) {
			return errors.New("not yet")
		}
		return nil
	})
}

// A node that belongs to no session, as of a tree that was copied, is not alive.
func TestVerifyOfACopy(t *testing.T) {
	t.Parallel()
	cfg, conn := shared(t)
	m := join(t, New(cfg), worker())
	put(t, conn, newTree(cfg.Root, "").worker("a copy"), `{"topics":{"orders":1}}`)
	verify(t, m, "a copy", true)
}

// A person has made the tree again a moment ago. A worker whose node went with the old one
// may not have heard of that, so no worker counts as dead before a session timeout has
// passed.
func TestVerifyInATreeMadeAgain(t *testing.T) {
	t.Parallel()
	cfg, conn := shared(t)
	put(t, conn, cfg.Root+"/meta", `{"layout":1,"tree":"OURS","again":true}`)
	m := join(t, New(cfg), worker())
	if left := time.Until(m.deaths.from); left <= 0 || left > m.Timeout() {
		t.Errorf("deaths are proven in %v, with a session of %v", left, m.Timeout())
	}
	verify(t, m, "whose node went with the tree", false)
	m.deaths.from = time.Now() // a session timeout later
	verify(t, m, "whose node went with the tree", true)

	cfg.SessionTimeout = 4 * time.Second
	_, made, err := conn.Get(cfg.Root + "/meta")
	must.Do(t, err)
	await.True(t, "a session timeout later, by the server's clock", func() bool {
		now, err := conn.Set(cfg.Root, nil, -1)
		must.Do(t, err)
		return now.Mtime >= made.Mtime+cfg.SessionTimeout.Milliseconds()
	})
	m = join(t, New(cfg), worker())
	verify(t, m, "whose node went long ago", true)
}
