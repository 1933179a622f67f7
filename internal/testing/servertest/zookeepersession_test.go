package servertest

import (
	"encoding/hex"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
)

func TestExpiredSessionIsSeenByAll(t *testing.T) {
	t.Parallel()
	srv := SharedZooKeeper(t)
	node := srv.Chroot(t) + "/e"
	heard := make(states, 100)
	victim, witness := srv.Client(t, long, heard.hear), srv.Client(t, long)
	mustCreate(t, victim, node, "", zk.FlagEphemeral)
	id := victim.SessionID()
	if _, stat, err := witness.Get(node); err != nil || stat.EphemeralOwner != id {
		t.Fatalf("%+v, %v; want the owner %#x", stat, err, id)
	}
	begin := time.Now()
	srv.ExpireSession(t, id)
	t.Logf("expired in %v", time.Since(begin))
	if there, _, err := witness.Exists(node); there || err != nil {
		t.Errorf("the node is there, or %v", err)
	}
	t.Logf("its client learns it %v later", heard.await(t, zk.StateExpired))
	how, text := outcome(t, func(tb testing.TB) { srv.ExpireSession(tb, id) })
	if how != "fatal" || !strings.Contains(text, "there is none") {
		t.Errorf("a session that is gone was ended: %q %s", how, text)
	}
}

// The answer is lost; the second try finds nothing, and that is right.
func TestExpireSessionOverABadNetwork(t *testing.T) {
	t.Parallel()
	srv := SharedZooKeeper(t)
	node := srv.Chroot(t) + "/e"
	conn, witness := srv.Client(t, long), srv.Client(t, long)
	mustCreate(t, conn, node, "", zk.FlagEphemeral)
	proxy := NewProxy(t, srv.Addr())
	lost := proxy.LoseNextReply("\x00\x00\x00\x08\x00\x00\x00\x01\xff\xff\xff\xf5") // a close
	if err := expireSession([]string{proxy.Addr()}, srv.dial, conn.SessionID()); err != nil {
		t.Fatal(err)
	}
	<-lost
	if there, _, err := witness.Exists(node); there || err != nil {
		t.Errorf("the node is there, or %v", err)
	}
}

// The wanted bytes are Java's: new Random(id ^ 0xB3415C00L).nextBytes(new byte[16]).
func TestSessionPassword(t *testing.T) {
	t.Parallel()
	for id, want := range map[int64]string{
		0x1234_5678_9abc_def0: "88b9f5cf1eb77589c42b0fe23e96263d",
		-2:                    "0dd532b5c441e3927c04b55e50fd9421",
	} {
		if got := hex.EncodeToString(sessionPassword(id)); got != want {
			t.Errorf("password of %#x: %s, want %s", id, got, want)
		}
	}
}

func TestZooKeeperBehindAProxy(t *testing.T) {
	t.Parallel()
	srv := SharedZooKeeper(t)
	proxy := NewProxy(t, srv.Addr())
	root := srv.Chroot(t)
	witness := srv.Client(t, long)
	heard := make(states, 100)
	conn := newZooKeeperClient(t, []string{proxy.Addr()}, srv.dial, long, []func(zk.Event){heard.hear})
	id := conn.SessionID()

	proxy.Cut()
	heard.await(t, zk.StateDisconnected)
	proxy.Mend()
	t.Logf("back %v after a cut", heard.await(t, zk.StateHasSession))

	lost := proxy.LoseNextReply(root + "/k")
	if _, err := conn.Create(root+"/k", []byte("v"), 0, zk.WorldACL(zk.PermAll)); !errors.Is(err, zk.ErrConnectionClosed) {
		t.Fatalf("the reply came back: %v", err)
	}
	<-lost
	wantNode(t, witness, root+"/k", "v")
	heard.await(t, zk.StateHasSession)
	if conn.SessionID() != id {
		t.Error("a cut has cost the session")
	}

	brief := make(states, 100)
	conn = newZooKeeperClient(t, []string{proxy.Addr()}, srv.dial, 5*time.Second, []func(zk.Event){brief.hear})
	mustCreate(t, conn, root+"/e", "", zk.FlagEphemeral)
	proxy.Freeze()
	t.Logf("frozen: disconnected after %v", brief.await(t, zk.StateDisconnected))
	t.Logf("and its node is gone %v later", awaitGone(t, witness, root+"/e"))
	proxy.Thaw()
	t.Logf("it learns that %v after the thaw", brief.await(t, zk.StateExpired))
}
