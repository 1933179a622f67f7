package servertest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
)

// ZooKeeperEnsemble is a real ZooKeeper of several members, private to one test.
type ZooKeeperEnsemble struct {
	members []*ZooKeeperServer
	testing testing.TB
	split   bool
	ways    []*Proxy // of a split one: to each member, for those who follow it
}

// Ensemble starts n members and returns when they serve, which takes less than two
// seconds. The cfg are lines of zoo.cfg, as with ZooKeeper.
//
// A leader that was killed is replaced within half a second. One that is paused is
// missed after syncLimit, 2 s, and replaced a second later; until then the ensemble
// writes nothing.
func Ensemble(t testing.TB, n int, cfg ...string) *ZooKeeperEnsemble {
	t.Helper()
	return ensemble(t, &ZooKeeperEnsemble{testing: t}, n, cfg)
}

// SplitEnsemble is an Ensemble whose members can be cut off from each other.
func SplitEnsemble(t testing.TB, n int, cfg ...string) *ZooKeeperEnsemble {
	t.Helper()
	return ensemble(t, &ZooKeeperEnsemble{testing: t, split: true}, n, cfg)
}

// Way is what those who follow a member of a SplitEnsemble reach it by.
func (e *ZooKeeperEnsemble) Way(to *ZooKeeperServer) *Proxy {
	return e.ways[slices.Index(e.members, to)]
}

func ensemble(t testing.TB, e *ZooKeeperEnsemble, n int, cfg []string) *ZooKeeperEnsemble {
	t.Helper()
	java, classPath := zookeeperJava(t, jarsOfZooKeeper())
	for range n {
		e.members = append(e.members, &ZooKeeperServer{daemon: daemon{Dir: t.TempDir()}})
	}
	const tries = 3
	for try := 1; ; try++ {
		err := e.start(java, classPath, cfg)
		if err == nil {
			break
		}
		snatched := slices.ContainsFunc(e.members, func(m *ZooKeeperServer) bool { return m.proc != nil && m.proc.portTaken() })
		e.end()
		if try == tries || !snatched {
			t.Fatalf("start an ensemble: %v\n%s", err, logTails(e.members))
		}
	}
	for _, m := range e.members {
		m.endWith(t)
	}
	e.AwaitReady(t)
	return e
}

// start starts the members on new ports, which all must know, and waits until they
// serve.
func (e *ZooKeeperEnsemble) start(java, classPath string, cfg []string) error {
	var ports []int // of each member: for clients, for followers, for elections
	for range 3 * len(e.members) {
		port, err := freePort()
		if err != nil {
			return err
		}
		ports = append(ports, port)
	}
	e.ways = nil
	if e.split {
		for i := range e.members {
			e.ways = append(e.ways, NewProxy(e.testing, fmt.Sprintf("127.0.0.1:%d", ports[3*i+1])))
		}
	}
	for i, m := range e.members {
		lines := slices.Clone(cfg)
		for j := range e.members {
			way := fmt.Sprintf("127.0.0.1:%d", ports[3*j+1])
			if e.split && j != i {
				way = e.ways[j].Addr()
			}
			lines = append(lines, fmt.Sprintf("server.%d=%s:%d", j+1, way, ports[3*j+2]))
		}
		conf, err := m.configure(ports[3*i], lines)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(m.dataDir(), "myid"), []byte(fmt.Sprint(i+1)), 0o600); err != nil {
			return err
		}
		m.addr = fmt.Sprintf("127.0.0.1:%d", ports[3*i])
		m.proc = &process{path: java, argv: zookeeperArgs(classPath, conf), dir: m.Dir}
	}
	return e.launch()
}

// launch starts all members before it waits for the first: none serves alone.
func (e *ZooKeeperEnsemble) launch() error {
	for _, m := range e.members {
		if err := m.proc.start(); err != nil {
			return err
		}
	}
	for _, m := range e.members {
		if err := m.proc.ready(m.probe); err != nil {
			return err
		}
	}
	return nil
}

func (e *ZooKeeperEnsemble) end() {
	for _, m := range e.members {
		if m.proc != nil {
			m.proc.end(syscall.SIGKILL)
		}
	}
}

// Kill ends all members at once.
func (e *ZooKeeperEnsemble) Kill() { e.end() }

// Restart starts all members again, ending those that still run, and returns when
// the ensemble is ready.
func (e *ZooKeeperEnsemble) Restart(t testing.TB) {
	t.Helper()
	e.end()
	if err := e.launch(); err != nil {
		t.Fatalf("restart the ensemble: %v\n%s", err, logTails(e.members))
	}
	e.AwaitReady(t)
}

// AwaitReady waits until one member leads and all others follow it, in step. After a
// member was restarted, for example.
func (e *ZooKeeperEnsemble) AwaitReady(t testing.TB) {
	t.Helper()
	e.await(t, "the ensemble is not complete", func() error {
		leader, followers, err := e.roles()
		if err != nil {
			return err
		}
		text, err := leader.ask("mntr", askPatience)
		if err != nil {
			return err
		}
		want := fmt.Sprint(len(e.members) - 1)
		if synced := wordField(text, "zk_synced_followers", "\t"); len(followers) != len(e.members)-1 || synced != want {
			return fmt.Errorf("%d members follow %s, %s in step", len(followers), leader.addr, synced)
		}
		return nil
	})
}

func (e *ZooKeeperEnsemble) await(t testing.TB, what string, ask func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startPatience)
	defer cancel()
	if err := poll(ctx, ask); err != nil {
		t.Fatalf("%s: %v\n%s", what, err, logTails(e.members))
	}
}

// Members are all members, dead ones too.
func (e *ZooKeeperEnsemble) Members() []*ZooKeeperServer { return slices.Clone(e.members) }

// Servers are the host:port of all members.
func (e *ZooKeeperEnsemble) Servers() []string {
	var servers []string
	for _, m := range e.members {
		servers = append(servers, m.addr)
	}
	return servers
}

// Client is a client with a session of its own, closed with the test.
// Every on hears its events.
func (e *ZooKeeperEnsemble) Client(t testing.TB, sessionTimeout time.Duration, on ...func(zk.Event)) *zk.Conn {
	t.Helper()
	return newZooKeeperClient(t, e.Servers(), e.members[0].dial, sessionTimeout, on)
}

// ExpireSession makes the ensemble end a session at once, like that of a single server.
func (e *ZooKeeperEnsemble) ExpireSession(t testing.TB, id int64) {
	t.Helper()
	if err := expireSession(e.Servers(), e.members[0].dial, id); err != nil {
		t.Fatal(err)
	}
}
