package servertest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
)

// All with one ensemble, since each costs many seconds.
func TestEnsemble(t *testing.T) {
	t.Parallel()
	begin := time.Now()
	e := Ensemble(t, 3, "syncLimit=60") // 6 s: a stall of the machine deposes no leader
	t.Logf("ready after %v", time.Since(begin))
	conn := e.Client(t, time.Minute)
	id := conn.SessionID()
	mustCreate(t, conn, "/e", "v", zk.FlagEphemeral)

	old := e.Leader(t)
	begin = time.Now()
	old.Kill()
	next := e.Leader(t) // waits for the election
	t.Logf("killed: another leads after %v", time.Since(begin))
	if next == old {
		t.Fatalf("%s leads", next.Addr())
	}
	awaitFollowers(t, e, 1)
	awaitWrite(t, e, conn, "/e", "w")
	t.Logf("and a client writes after %v", time.Since(begin))
	if conn.SessionID() != id {
		t.Error("the session was lost")
	}

	begin = time.Now()
	old.Restart(t)
	e.AwaitReady(t)
	t.Logf("restarted: in step after %v", time.Since(begin))
	if e.Leader(t) != next || len(e.Members()) != 3 {
		t.Errorf("%s leads", e.Leader(t).Addr())
	}
	awaitFollowers(t, e, 2)
	wantNode(t, old.Client(t, long), "/e", "w")

	begin = time.Now()
	next.Pause()
	third := e.Leader(t)
	t.Logf("paused: another leads after %v", time.Since(begin))
	next.Resume()
	e.AwaitReady(t)
	t.Logf("resumed: in step after %v", time.Since(begin))
	if third == next || e.Leader(t) != third {
		t.Errorf("%s leads, not %s", e.Leader(t).Addr(), third.Addr())
	}
	conn.Close() // which may be lost, and then /e stays for a minute
	ensembleDownAndBack(t, e)
}

func ensembleDownAndBack(t *testing.T, e *ZooKeeperEnsemble) {
	t.Helper()
	heard := make(states, 100)
	conn := e.Client(t, time.Minute, heard.hear)
	mustCreate(t, conn, "/f", "v", zk.FlagEphemeral)
	e.Kill()
	heard.await(t, zk.StateDisconnected)
	begin := time.Now()
	e.Restart(t)
	t.Logf("back after %v", time.Since(begin))
	heard.await(t, zk.StateHasSession)
	wantNode(t, conn, "/f", "v")

	witness := e.Client(t, long)
	begin = time.Now()
	e.ExpireSession(t, conn.SessionID())
	t.Logf("a session expired in %v", time.Since(begin))
	awaitGone(t, witness, "/f")

	leader := e.Leader(t)
	for _, m := range awaitFollowers(t, e, 2) {
		m.Stop()
	}
	e.await(t, "one of three still leads", func() error {
		if _, err := leader.status(askPatience); err == nil {
			return errors.New("it answers")
		}
		return nil
	})
}

// awaitFollowers returns the followers when there are so many: one that answers late is left out.
func awaitFollowers(t *testing.T, e *ZooKeeperEnsemble, n int) (followers []*ZooKeeperServer) {
	t.Helper()
	e.await(t, "the followers", func() error {
		if followers = e.Followers(t); len(followers) != n {
			return fmt.Errorf("%d follow, not %d", len(followers), n)
		}
		return nil
	})
	return followers
}

// awaitWrite writes until it works.
func awaitWrite(t *testing.T, e *ZooKeeperEnsemble, conn *zk.Conn, node, data string) {
	t.Helper()
	e.await(t, "write "+node, func() error {
		_, err := conn.Set(node, []byte(data), -1)
		return err
	})
}
