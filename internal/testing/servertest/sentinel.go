package servertest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/redis/go-redis/v9"
)

const (
	sentinelMaster = "mymaster"
	sentinelCount  = 3

	masterDownAfter = 500 // milliseconds
)

// Sentinels is a Redis master with one replica, watched by three Sentinels, and
// private to one test.
type Sentinels struct {
	password         string // of the Redis servers; the Sentinels have none
	redis, sentinels []*Server
	admin            map[*Server]*redis.SentinelClient
}

// Sentinel starts a master, its replica and the Sentinels, and returns when each
// of them sees all others, which takes about two seconds. When the master has been
// away for 500 ms, its replica is promoted. The args are passed to the two Redis
// servers. With "--requirepass" all know the password, and Client brings it.
func Sentinel(t testing.TB, args ...string) *Sentinels {
	t.Helper()
	path, argv0 := redisBinary(t)
	args = slices.Concat([]string{"--repl-diskless-sync-delay", "0"}, withMasterAuth(args))
	master := Redis(t, args...)
	host, port, _ := net.SplitHostPort(master.addr)
	replica := Redis(t, slices.Concat(args, []string{"--replicaof", host + " " + port})...)
	g := &Sentinels{
		password: master.password, redis: []*Server{master, replica}, admin: map[*Server]*redis.SentinelClient{},
	}
	for i := range sentinelCount {
		// The first judges sooner and alone that the master is down, so that it has
		// the others' votes before they stand for election, too: after a split vote
		// all would wait for twice the failover-timeout.
		quorum, downAfter := sentinelCount/2+1, 2*masterDownAfter
		if i == 0 {
			quorum, downAfter = 1, masterDownAfter
		}
		s := &Server{daemon: daemon{Dir: t.TempDir()}}
		err := s.startOn(path, func(own int) ([]string, error) {
			conf := filepath.Join(s.Dir, "sentinel.conf") // a file, since it keeps its state there
			text := fmt.Sprintf("port %d\nbind 127.0.0.1\ndir %s\n", own, s.Dir) +
				fmt.Sprintf("sentinel monitor %s %s %s %d\n", sentinelMaster, host, port, quorum) +
				fmt.Sprintf("sentinel down-after-milliseconds %s %d\n", sentinelMaster, downAfter) +
				fmt.Sprintf("sentinel failover-timeout %s 2000\n", sentinelMaster) +
				fmt.Sprintf("sentinel parallel-syncs %s 1\n", sentinelMaster)
			if g.password != "" {
				text += fmt.Sprintf("sentinel auth-pass %s %s\n", sentinelMaster, g.password)
			}
			return []string{argv0, conf, "--sentinel"}, os.WriteFile(conf, []byte(text), 0o600)
		})
		if err != nil {
			t.Fatal(err)
		}
		s.endWith(t)
		if err := hurry(s.Client(t)); err != nil {
			t.Fatal(err)
		}
		rdb := redis.NewSentinelClient(&redis.Options{Addr: s.addr, DialerRetries: 1, ContextTimeoutEnabled: true})
		t.Cleanup(func() { _ = rdb.Close() })
		g.sentinels = append(g.sentinels, s)
		g.admin[s] = rdb
	}
	g.AwaitReady(t)
	return g
}

// hurry makes a Sentinel ask more often. By default it pings once in 500 ms, as long
// as a server may be away: when the promoted replica then drops its connections, its
// last answer is already too old, and the Sentinels promote back and forth. But not
// too often either: a replica is promoted only if its INFO, asked for once a second
// while the master is down, is younger than five pings.
func hurry(rdb *redis.Client) error {
	return rdb.Do(context.Background(), "sentinel", "debug", "ping-period", 250,
		"ask-period", 100, "info-period", 500, "publish-period", 200).Err()
}

// AwaitReady waits until each Sentinel sees the two others, the master and its
// replica, and these are in sync. After a server was restarted, for example.
func (g *Sentinels) AwaitReady(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startPatience)
	defer cancel()
	for _, s := range g.sentinels {
		if err := poll(ctx, func() error { return g.complete(ctx, s) }); err != nil {
			t.Fatalf("not complete, says Sentinel %s: %v\n%s", s.addr, err, g.logs())
		}
	}
}

// complete asks one Sentinel whether it sees everybody.
func (g *Sentinels) complete(ctx context.Context, s *Server) error {
	ctx, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	master, err := g.admin[s].Master(ctx, sentinelMaster).Result()
	if err != nil {
		return err
	}
	if master["flags"] != "master" { // s_down, o_down and the like
		return errors.New("the master is " + master["flags"])
	}
	others, err := g.admin[s].Sentinels(ctx, sentinelMaster).Result()
	if err != nil {
		return err
	}
	if len(others) != sentinelCount-1 {
		return fmt.Errorf("it sees %d others", len(others))
	}
	replicas, err := g.admin[s].Replicas(ctx, sentinelMaster).Result()
	if err != nil {
		return err
	}
	if len(replicas) != len(g.redis)-1 {
		return fmt.Errorf("it sees %d replicas", len(replicas))
	}
	for _, r := range replicas {
		if r["flags"] != "slave" || r["master-link-status"] != "ok" {
			return fmt.Errorf("replica %s is %s, its link is %s", r["name"], r["flags"], r["master-link-status"])
		}
	}
	return nil
}

// Client finds the master through the Sentinels. It has the options users get by
// default and is closed with the test. Every adjust may change its options.
func (g *Sentinels) Client(t testing.TB, adjust ...func(*redis.FailoverOptions)) redis.UniversalClient {
	t.Helper()
	opts := &redis.FailoverOptions{MasterName: sentinelMaster, Password: g.password}
	for _, s := range g.sentinels {
		opts.SentinelAddrs = append(opts.SentinelAddrs, s.addr)
	}
	for _, f := range adjust {
		f(opts)
	}
	rdb := redis.NewFailoverClient(opts)
	t.Cleanup(func() { _ = rdb.Close() }) // a test may have closed it already
	return rdb
}

// Nodes are the master and the replica, in the order in which they began.
func (g *Sentinels) Nodes() []*Server { return slices.Clone(g.redis) }

// Sentinels are the Sentinels themselves.
func (g *Sentinels) Sentinels() []*Server { return slices.Clone(g.sentinels) }

// Master is the current master: the server which every Sentinel that answers names
// and which runs as a master. While there is none, it waits.
func (g *Sentinels) Master(t testing.TB) *Server {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startPatience)
	defer cancel()
	var master *Server
	err := poll(ctx, func() (err error) {
		master, err = g.master(ctx)
		return err
	})
	if err != nil {
		t.Fatalf("the current master: %v\n%s", err, g.logs())
	}
	return master
}

func (g *Sentinels) master(ctx context.Context) (*Server, error) {
	ctx, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	named := ""
	for _, s := range g.sentinels {
		at, err := g.admin[s].GetMasterAddrByName(ctx, sentinelMaster).Result()
		if err != nil || len(at) != 2 {
			continue
		}
		addr := net.JoinHostPort(at[0], at[1])
		if named != "" && addr != named {
			return nil, fmt.Errorf("%s or %s", named, addr)
		}
		named = addr
	}
	for _, s := range g.redis {
		if s.addr == named {
			return s, s.isMaster(ctx)
		}
	}
	return nil, fmt.Errorf("the Sentinels name %q", named)
}

// isMaster is nil if the server answers and takes writes.
func (s *Server) isMaster(ctx context.Context) error {
	rdb := redis.NewClient(&redis.Options{
		Addr: s.addr, Password: s.password, MaxRetries: -1, DialerRetries: 1, ContextTimeoutEnabled: true,
	})
	defer rdb.Close()
	info, err := rdb.Info(ctx, "replication").Result()
	if err != nil {
		return err
	}
	if role := infoField(info, "role"); role != "master" {
		return fmt.Errorf("%s is a %s", s.addr, role)
	}
	return nil
}

func (g *Sentinels) logs() string { return logTails(slices.Concat(g.redis, g.sentinels)) }
