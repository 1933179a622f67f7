package servertest

import (
	"os"
	"strings"
	"testing"
)

func TestSharedZooKeeperIsOneAndGuarded(t *testing.T) {
	t.Parallel()
	srv := SharedZooKeeper(t)
	if again := SharedZooKeeper(t); again != srv {
		t.Fatal("a second shared server")
	}
	one, other := srv.Chroot(t), srv.Chroot(t)
	if one == other {
		t.Fatalf("two tests have %s", one)
	}
	mustCreate(t, srv.Client(t, long), one+"/k", "v", 0)
	defer func() {
		if recover() == nil {
			t.Error("Kill of the shared server was allowed")
		}
	}()
	srv.Kill()
}

func TestZooKeeperOfTheUsersOwn(t *testing.T) {
	own := SharedZooKeeper(t)
	t.Setenv("RMQ_TEST_ZK", own.Addr()+","+own.Addr())
	srv, err := startSharedZooKeeper(t)
	if err != nil {
		t.Fatal(err)
	}
	if srv.Dir != "" || srv.Log() != "" || len(srv.Servers()) != 2 {
		t.Errorf("%+v", srv)
	}
	var root string
	t.Run("a test", func(t *testing.T) {
		root = srv.Chroot(t)
		conn := srv.Client(t, long)
		mustCreate(t, conn, root+"/a", "", 0)
		mustCreate(t, conn, root+"/a/b", "", 0)
	})
	if there, _, err := own.Client(t, long).Exists(root); there || err != nil {
		t.Errorf("%s was left behind, %v", root, err)
	}

	t.Setenv("RMQ_TEST_ZK", "127.0.0.1:1")
	if _, err := startSharedZooKeeper(t); err == nil || !strings.Contains(err.Error(), "RMQ_TEST_ZK=127.0.0.1:1") {
		t.Errorf("err = %v", err)
	}
}

func TestMissingZooKeeperSaysWhatToInstall(t *testing.T) {
	zookeeperJava(t, jarsOfZooKeeper())
	t.Setenv("RMQ_REQUIRE_SERVERS", "1")
	mustAskFor := func(dir, what string) {
		t.Helper()
		how, text := outcome(t, func(tb testing.TB) { zookeeperJava(tb, dir) })
		if how != "fatal" || !strings.Contains(text, what) || !strings.Contains(text, "apt-get install libzookeeper-java default-jre-headless") {
			t.Errorf("%q: %s", how, text)
		}
	}
	empty := t.TempDir()
	mustAskFor(empty, "zookeeper.jar")
	t.Setenv("RMQ_TEST_ZOOKEEPER_JARS", empty)
	mustAskFor(jarsOfZooKeeper(), empty+"/zookeeper.jar")
	if err := os.WriteFile(empty+"/zookeeper.jar", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	mustAskFor(empty, "slf4j-simple.jar")
	t.Setenv("PATH", empty)
	mustAskFor(jars, "Java")
}
