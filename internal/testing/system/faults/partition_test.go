package faults

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
)

// The network parts a master and a producer from everybody else. The replica is
// promoted for the others; the old master goes on for the producer, until it is
// made a replica of the new one and what it took since is gone.
func TestFaultMasterPartedWithAProducer(t *testing.T) {
	t.Parallel()
	t.Log("figures: " + figuresHead)
	const lag = "min-replicas 1, max-lag 1 s"
	for _, c := range []struct {
		setting     string
		replicas    int
		minReplicas bool
		enough      func(l *traffic) bool // was sent to the old master
		keeps       bool
	}{
		{waitNone, 0, false, func(l *traffic) bool { return l.told(accepted, "") > 100 }, false},
		{lag, 0, true, func(l *traffic) bool { return l.told(refused, "NOREPLICAS") > 20 }, false},
		{waitOne, 1, false, func(l *traffic) bool { return l.told(notReplicated, "") > 20 }, true},
		{waitOne + ", " + lag, 1, true, func(l *traffic) bool { return l.told(refused, "NOREPLICAS") > 20 }, true},
	} {
		t.Run(c.setting, func(t *testing.T) {
			t.Parallel()
			p := newPartition(t)
			if c.minReplicas {
				p.do(p.master, "config", "set", "min-replicas-max-lag", "1")
				p.do(p.master, "config", "set", "min-replicas-to-write", "1")
			}
			on := ground{client: p.far.client, serverOf: func(string) string { return p.master.Addr() }}
			l := newTraffic(t, on, "master parted with a producer", c.setting, replicated(c.replicas), func(l *traffic) {
				l.sends.Timeout = 200 * time.Millisecond
				l.senderOn = p.near.client
			}).begin()
			p.cut.Freeze()
			l.harm()
			l.await("the producer goes on with the old master", func() bool { return c.enough(l) })
			p.promote()
			l.await("the workers go on with the new one", func() bool { return l.handledSince(p.promoted) })
			p.heal()
			l.flows(60)
			switch f := l.figures(); {
			case c.keeps:
				f.kept()
			case f.lost == 0:
				t.Error("nothing is lost, so the producer never wrote to the old master alone")
			}
		})
	}
}

// told counts the sends since the fault that had a fate; of those refused, which
// were told a word.
func (l *traffic) told(what fate, word string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if word != "" {
		return l.refusals[word]
	}
	for _, m := range l.letters {
		if m.fate == what && m.answered.After(l.harmed) {
			n++
		}
	}
	return n
}

func (l *traffic) handledSince(at time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.spots {
		if n := len(s.handled); n > 0 && s.handled[n-1].After(at) {
			return true
		}
	}
	return false
}

// partition is a master and its replica, and a network between the master and
// all others, but for those who are near to it. The test does what Sentinels do.
type partition struct {
	t               *testing.T
	master, replica *servertest.Server
	cut             *servertest.Proxy
	near, far       *way
	promoted        time.Time
}

func newPartition(t *testing.T) *partition {
	t.Helper()
	p := &partition{t: t, master: servertest.Redis(t, "--repl-diskless-sync-delay", "0")}
	p.cut = servertest.NewProxy(t, p.master.Addr())
	host, port, _ := net.SplitHostPort(p.cut.Addr())
	p.replica = servertest.Redis(t, "--replicaof", host+" "+port)
	p.inSync(p.replica, p.master)
	p.near, p.far = &way{t: t, to: p.master.Addr()}, &way{t: t, to: p.cut.Addr()}
	return p
}

func (p *partition) do(s *servertest.Server, args ...any) string {
	p.t.Helper()
	answer, err := s.Client(p.t).Do(context.Background(), args...).Result()
	if err != nil {
		p.t.Fatalf("%v: %v", args, err)
	}
	return fmt.Sprint(answer)
}

// inSync returns when a replica has what its master takes. That its link is up
// says less: the master sends on only after the first acknowledgement, a second later.
func (p *partition) inSync(replica, master *servertest.Server) {
	p.t.Helper()
	ctx, rdb := context.Background(), replica.Client(p.t)
	probe := ""
	await.True(p.t, "the replica is in sync", func() bool {
		if probe == "" && strings.Contains(p.do(replica, "info", "replication"), "master_link_status:up") {
			probe = "probe of " + replica.Addr() // written now, it cannot have come with the first copy
			p.do(master, "set", probe, "")
		}
		return probe != "" && rdb.Exists(ctx, probe).Val() > 0
	})
}

// promote makes the replica the master of those who are far.
func (p *partition) promote() {
	p.t.Helper()
	p.do(p.replica, "replicaof", "no", "one")
	p.far.turn(p.replica.Addr())
	p.promoted = time.Now()
}

// heal mends the network, and makes the old master a replica of the new one.
func (p *partition) heal() {
	p.t.Helper()
	p.cut.Thaw()
	host, port, _ := net.SplitHostPort(p.replica.Addr())
	p.do(p.master, "replicaof", host, port)
	p.near.turn(p.replica.Addr())
	p.inSync(p.master, p.replica)
}

// way is where clients find the master, as Sentinels would tell them.
type way struct {
	t     *testing.T
	mu    sync.Mutex
	to    string
	conns []net.Conn
}

func (w *way) client() redis.UniversalClient {
	rdb := redis.NewClient(&redis.Options{Dialer: w.dial})
	w.t.Cleanup(func() { rdb.Close() })
	return rdb
}

func (w *way) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	w.mu.Lock()
	to := w.to
	w.mu.Unlock()
	conn, err := new(net.Dialer).DialContext(ctx, network, to)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if to != w.to {
		conn.Close() // it was turned meanwhile
	}
	w.conns = append(w.conns, conn)
	return conn, nil
}

// turn leads to another server from now on, and closes the connections to the
// one before.
func (w *way) turn(to string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.to = to
	for _, c := range w.conns {
		c.Close()
	}
	w.conns = nil
}
