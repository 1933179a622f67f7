package servertest

import (
	"errors"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
)

// All with one ensemble, since each costs many seconds.
func TestEnsemble(t *testing.T) {
	t.Parallel()
	begin := time.Now()
	e := Ensemble(t, 3)
	t.Logf("ready after %v", time.Since(begin))
	conn := e.Client(t, time.Minute)
	id := conn.SessionID()
	mustCreate(t, conn, "/e", "v", zk.FlagEphemeral)

	old := e.Leader(t)
	begin = time.Now()
	old.Kill()
	next := e.Leader(t) // waits for the election
	t.Logf("killed: another leads after %v", time.Since(begin))
	if next == old || len(e.Followers(t)) != 1 {
		t.Fatalf("%s leads", next.Addr())
	}
	awaitWrite(t, e, conn, "/e", "w")
	t.Logf("and a client writes after %v", time.Since(begin))
	if conn.SessionID() != id {
		t.Error("the session was lost")
	}

	begin = time.Now()
	old.Restart(t)
	e.AwaitReady(t)
	t.Logf("restarted: in step after %v", time.Since(begin))
	if e.Leader(t) != next || len(e.Followers(t)) != 2 || len(e.Members()) != 3 {
		t.Errorf("%s leads", e.Leader(t).Addr())
	}
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

	leader, followers := e.Leader(t), e.Followers(t)
	for _, m := range followers {
		m.Stop()
	}
	e.await(t, "one of three still leads", func() error {
		if _, err := leader.status(askPatience); err == nil {
			return errors.New("it answers")
		}
		return nil
	})
}

// awaitWrite writes until it works.
func awaitWrite(t *testing.T, e *ZooKeeperEnsemble, conn *zk.Conn, node, data string) {
	t.Helper()
	e.await(t, "write "+node, func() error {
		_, err := conn.Set(node, []byte(data), -1)
		return err
	})
}
