package servertest

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/slotmq/go-rmq/internal/testing/await"
)

// long is a session that does not end while a test runs.
const long = 30 * time.Second

func mustCreate(t *testing.T, conn *zk.Conn, node, data string, flags int32) {
	t.Helper()
	if _, err := conn.Create(node, []byte(data), flags, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatalf("create %s: %v", node, err)
	}
}

func wantNode(t *testing.T, conn *zk.Conn, node, want string) {
	t.Helper()
	var got []byte
	await.Nil(t, "get "+node, func() (err error) { // the member may have been stalled, and left by its client
		got, _, err = conn.Get(node)
		return err
	})
	if string(got) != want {
		t.Errorf("%s = %q; want %q", node, got, want)
	}
}

// awaitGone waits until a node is deleted, and tells how long that took.
func awaitGone(t *testing.T, conn *zk.Conn, node string) time.Duration {
	t.Helper()
	begin := time.Now()
	for {
		there, _, changed, err := conn.ExistsW(node)
		if err != nil {
			t.Fatal(err)
		}
		if !there {
			return time.Since(begin)
		}
		await.Signal(t, "the end of "+node, changed)
	}
}

// states collects what becomes of a session.
type states chan zk.State

func (s states) hear(e zk.Event) {
	if e.Type == zk.EventSession {
		s <- e.State
	}
}

// await skips states until want.
func (s states) await(t *testing.T, want zk.State) time.Duration {
	t.Helper()
	begin := time.Now()
	for await.Signal(t, want.String(), s) != want {
		continue
	}
	return time.Since(begin)
}

func TestZooKeeperAnswers(t *testing.T) {
	t.Parallel()
	begin := time.Now()
	srv := ZooKeeper(t, "tickTime=50")
	t.Logf("ready after %v", time.Since(begin)) // for information; a busy machine is no bug
	mustCreate(t, srv.Client(t, 12_345*time.Millisecond), "/k", "v", 0)
	wantNode(t, srv.Client(t, long), "/k", "v")

	sessions, err := srv.ask("cons", startPatience)
	if err != nil || !strings.Contains(sessions, ",to=12345,") || !strings.Contains(sessions, ",to=30000,") {
		t.Errorf("other sessions than were asked for: %v\n%s", err, sessions)
	}
	if conf, err := srv.ask("conf", startPatience); wordField(conf, "tickTime", "=") != "50" {
		t.Errorf("%v\n%s", err, conf)
	}
	if srv.Log() == "" || srv.TLSConfig() != nil || len(srv.Servers()) != 1 || srv.Servers()[0] != srv.Addr() {
		t.Errorf("%+v", srv)
	}

	zookeeperNoticesASnatchedPort(t, srv) // with the same server, since each costs seconds
	zookeeperPauseHangsAndResumeGoesOn(t, srv)
}

func TestZooKeeperKeepsDataAndSessions(t *testing.T) {
	t.Parallel()
	srv := ZooKeeper(t)
	addr := srv.Addr()
	heard := make(states, 100)
	conn := srv.Client(t, time.Minute, heard.hear) // a restart on a busy machine takes long
	mustCreate(t, conn, "/k", "v", 0)
	mustCreate(t, conn, "/e", "", zk.FlagEphemeral)
	id := conn.SessionID()

	srv.Kill()
	heard.await(t, zk.StateDisconnected)
	begin := time.Now()
	srv.Restart(t)
	t.Logf("killed, and ready again after %v", time.Since(begin))
	t.Logf("client is back %v later", heard.await(t, zk.StateHasSession))
	wantNode(t, conn, "/k", "v")
	if there, _, err := conn.Exists("/e"); !there || conn.SessionID() != id || err != nil {
		t.Errorf("the session is another, or its node is gone: %v", err)
	}

	if srv.Addr() != addr {
		t.Errorf("restarted on %s, was %s", srv.Addr(), addr)
	}
}

func zookeeperPauseHangsAndResumeGoesOn(t *testing.T, srv *ZooKeeperServer) {
	t.Helper()
	conn := srv.Client(t, long)
	mustCreate(t, conn, "/e", "v", zk.FlagEphemeral)
	if stopped(srv.proc.pid()) {
		t.Error("it does not run")
	}
	srv.Pause()
	if !stopped(srv.proc.pid()) {
		t.Error("some thread of it runs")
	}
	if st, err := srv.status(askPatience); err == nil {
		t.Errorf("a paused server answered: %+v", st)
	}
	srv.Resume()
	wantNode(t, conn, "/e", "v")
	srv.Pause()
	srv.Stop() // also of a paused server
	if _, err := srv.status(askPatience); err == nil {
		t.Error("a stopped server answered")
	}
}

// Two servers on one port: the second must neither pass for the first nor be
// reported as a broken server.
func zookeeperNoticesASnatchedPort(t *testing.T, first *ZooKeeperServer) {
	t.Helper()
	java, classPath := zookeeperJava(t, jarsOfZooKeeper())
	_, text, _ := strings.Cut(first.Addr(), ":")
	second := &ZooKeeperServer{daemon: daemon{Dir: t.TempDir(), addr: first.Addr()}}
	conf, err := second.configure(0, []string{"clientPort=" + text})
	if err != nil {
		t.Fatal(err)
	}
	await.True(t, "the first server is not taken for the second", func() bool { // which may be slow to answer
		err := second.probe()
		return err != nil && strings.Contains(err.Error(), "another server")
	})
	second.proc = &process{path: java, argv: zookeeperArgs(classPath, conf), dir: second.Dir}
	if err := second.launch(second.probe); err == nil || !second.proc.portTaken() {
		t.Errorf("not recognised: %v", err)
	}
	await.Nil(t, "the first one serves", first.probe)
}

func TestZooKeeperReportsABadConfiguration(t *testing.T) {
	t.Parallel()
	java, classPath := zookeeperJava(t, jarsOfZooKeeper())
	srv := &ZooKeeperServer{daemon: daemon{Dir: t.TempDir()}}
	err := srv.start(java, classPath, []string{"tickTime=soon"})
	if err == nil || !strings.Contains(err.Error(), `For input string: "soon"`) {
		t.Errorf("err = %v", err)
	}
}

// To guard nodes by a password needs nothing of the server.
func TestZooKeeperKnowsPasswords(t *testing.T) {
	t.Parallel()
	srv := SharedZooKeeper(t)
	root := srv.Chroot(t)
	owner, stranger := srv.Client(t, long), srv.Client(t, long)
	if err := owner.AddAuth("digest", []byte("rmq:secret")); err != nil {
		t.Fatal(err)
	}
	acl := append(zk.DigestACL(zk.PermAll, "rmq", "secret"), zk.WorldACL(zk.PermRead)...)
	if _, err := owner.Create(root+"/k", []byte("v"), 0, acl); err != nil {
		t.Fatal(err)
	}
	wantNode(t, stranger, root+"/k", "v")
	if _, err := stranger.Set(root+"/k", nil, -1); !errors.Is(err, zk.ErrNoAuth) {
		t.Errorf("a stranger writes: %v", err)
	}
	if _, err := owner.Set(root+"/k", []byte("w"), -1); err != nil {
		t.Error(err)
	}
}

func TestZooKeeperTLS(t *testing.T) {
	t.Parallel()
	begin := time.Now()
	srv := ZooKeeperTLS(t)
	t.Logf("ready after %v", time.Since(begin))
	conn := srv.Client(t, long)
	mustCreate(t, conn, "/e", "v", zk.FlagEphemeral)
	plain := *srv
	plain.tls = nil
	if _, err := plain.status(time.Second); err == nil {
		t.Error("answered without TLS")
	}
	witness := srv.Client(t, long)
	srv.ExpireSession(t, conn.SessionID())
	awaitGone(t, witness, "/e")
	mustCreate(t, witness, "/k", "v", 0)
	srv.Kill()
	srv.Restart(t)
	wantNode(t, srv.Client(t, long), "/k", "v")
}
