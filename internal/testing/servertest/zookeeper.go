package servertest

import (
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
)

// ZooKeeperServer is a real ZooKeeper, alone or a member of an ensemble.
type ZooKeeperServer struct {
	daemon
	servers []string    // of a user's own there may be several
	tls     *tls.Config // nil for a server without TLS
}

// ZooKeeper starts a private server for this test and stops it with the test. The
// cfg are lines of zoo.cfg and win over the defaults: ZooKeeper(t, "tickTime=200").
// Sessions of 0.2 to 60 s are granted as they are asked for; one that is not renewed
// ends up to a tick, 0.1 s, later.
//
// After a Kill everything is still there: the kernel has it, though perhaps not yet
// the disk.
func ZooKeeper(t testing.TB, cfg ...string) *ZooKeeperServer {
	t.Helper()
	java, classPath := zookeeperJava(t, jarsOfZooKeeper())
	s := &ZooKeeperServer{daemon: daemon{Dir: t.TempDir()}}
	if err := s.start(java, classPath, cfg); err != nil {
		t.Fatal(err)
	}
	s.endWith(t)
	return s
}

// start starts a server that stands alone.
func (s *ZooKeeperServer) start(java, classPath string, cfg []string) error {
	return s.startOn(java, func(port int) ([]string, error) {
		conf, err := s.configure(port, cfg)
		return zookeeperArgs(classPath, conf), err
	}, s.probe)
}

var zookeeperDefaults = []string{
	"tickTime=100", "initLimit=100", "syncLimit=20", "maxSessionTimeout=60000",
	"admin.enableServer=false", "4lw.commands.whitelist=*", "maxClientCnxns=0",
	"forceSync=no",
}

// configure writes zoo.cfg. Of a key that comes twice the last value counts.
func (s *ZooKeeperServer) configure(port int, cfg []string) (conf string, err error) {
	client := "clientPort"
	if s.tls != nil {
		client = "secureClientPort"
	}
	lines := slices.Concat(zookeeperDefaults, []string{
		fmt.Sprintf("%s=%d", client, port),
		client + "Address=127.0.0.1",
		"dataDir=" + s.dataDir(),
	}, cfg, []string{""})
	conf = filepath.Join(s.Dir, "zoo.cfg")
	if err := os.MkdirAll(s.dataDir(), 0o700); err != nil {
		return "", err
	}
	return conf, os.WriteFile(conf, []byte(strings.Join(lines, "\n")), 0o600)
}

func (s *ZooKeeperServer) dataDir() string { return filepath.Join(s.Dir, "data") }

// probe is nil when the server serves and is ours: on a port that was snatched
// another test's server would answer just as well, but keeps its data elsewhere.
func (s *ZooKeeperServer) probe() error {
	const patience = time.Second
	if _, err := s.status(patience); err != nil {
		return err
	}
	conf, err := s.ask("conf", patience)
	if err != nil {
		return err
	}
	if dir := filepath.Join(s.dataDir(), "version-2"); wordField(conf, "dataDir", "=") != dir {
		return fmt.Errorf("another server answers on %s", s.addr)
	}
	return nil
}

// Restart starts the server again on its port and in its directory, stopping it
// first if it still runs, and returns when it serves. A member of an ensemble serves
// when it and those that run are a majority.
func (s *ZooKeeperServer) Restart(t testing.TB) {
	t.Helper()
	s.restart(t, s.probe)
}

// Servers are the host:port which a client is given.
func (s *ZooKeeperServer) Servers() []string {
	if s.servers != nil {
		return slices.Clone(s.servers)
	}
	return []string{s.addr}
}

// TLSConfig is what a client of the server needs; nil for one without TLS.
func (s *ZooKeeperServer) TLSConfig() *tls.Config { return s.tls.Clone() }

// dial is a zk.Dialer.
func (s *ZooKeeperServer) dial(network, addr string, timeout time.Duration) (net.Conn, error) {
	if s.tls == nil {
		return net.DialTimeout(network, addr, timeout)
	}
	return tls.DialWithDialer(&net.Dialer{Timeout: timeout}, network, addr, s.TLSConfig())
}

// Client is a client with a session of its own, closed with the test. Every on hears
// its events, on the client's goroutines: it must return at once.
func (s *ZooKeeperServer) Client(t testing.TB, sessionTimeout time.Duration, on ...func(zk.Event)) *zk.Conn {
	t.Helper()
	return newZooKeeperClient(t, s.Servers(), s.dial, sessionTimeout, on)
}

// ExpireSession makes the server end a session at once, whichever client holds it: its
// ephemeral nodes go, its client learns it when it comes back. The id is what
// zk.Conn.SessionID tells, or zk.Stat.EphemeralOwner.
func (s *ZooKeeperServer) ExpireSession(t testing.TB, id int64) {
	t.Helper()
	if err := expireSession(s.Servers(), s.dial, id); err != nil {
		t.Fatal(err)
	}
}
