package servertest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	clusterSlots     = 16384
	failoverPatience = time.Minute            // mostly milliseconds, yet once in a while seconds
	failoverTries    = 6 * time.Second        // Redis gives up after 5 s if others did not vote, as when they have just voted
	askPatience      = 300 * time.Millisecond // what one question may take: a paused node never answers
	clusterPoll      = 20 * time.Millisecond  // every node is asked, so not too often
)

// RedisCluster is a real Redis Cluster, private to one test.
type RedisCluster struct {
	masters, replicas int // replicas of each master
	password          string
	nodes             []*Server
	admin             map[*Server]*redis.Client
}

// Cluster starts a cluster with the slots spread over the masters, and returns when
// every node says that it is complete, which takes about two seconds. Tests that do it no harm
// take LentCluster. The args are
// passed to each node and win over the defaults, of which the most important is
// "--cluster-node-timeout". With replicas it is 500: one is promoted less than two seconds
// after its master was killed. Without it is a minute: no node can take over, and those of
// a busy machine do not take each other for dead. With "--requirepass" the nodes know each other's
// password, and Client brings it.
func Cluster(t testing.TB, masters, replicasPerMaster int, args ...string) *RedisCluster {
	t.Helper()
	path, argv0 := redisBinary(t)
	c := &RedisCluster{masters: masters, replicas: replicasPerMaster}
	dir := func() (string, error) { return t.TempDir(), nil }
	err := c.start(path, argv0, dir, args, func(s *Server) {
		s.endWith(t)
		t.Cleanup(func() { _ = c.admin[s].Close() })
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// start starts the nodes, each in a dir of its own, and returns when every one says that the
// cluster is complete. It tells of each node that was started.
func (c *RedisCluster) start(path, argv0 string, dir func() (string, error), args []string, started func(*Server)) error {
	args = withMasterAuth(args)
	c.password, c.admin = valueOf(args, "--requirepass"), map[*Server]*redis.Client{}
	bus, timeout := map[*Server]int{}, "500"
	if c.replicas == 0 {
		timeout = "60000"
	}
	for range c.masters * (1 + c.replicas) {
		own, err := dir()
		if err != nil {
			return err
		}
		s := &Server{daemon: daemon{Dir: own}, password: c.password}
		err = s.startOn(path, func(port int) ([]string, error) {
			// The default bus port, port+10000, may not exist or belong to another program.
			var err error
			bus[s], err = freePort()
			own := []string{argv0, "--port", fmt.Sprint(port), "--cluster-port", fmt.Sprint(bus[s])}
			return slices.Concat(own, defaults(s.Dir), clusterDefaults, []string{"--cluster-node-timeout", timeout}, args), err
		})
		if err != nil {
			return err
		}
		c.nodes = append(c.nodes, s)
		c.admin[s] = redis.NewClient(&redis.Options{Addr: s.addr, Password: c.password, DialerRetries: 1, ContextTimeoutEnabled: true})
		started(s)
	}
	ctx, cancel := context.WithTimeout(context.Background(), startPatience)
	defer cancel()
	if err := c.create(ctx, bus); err != nil {
		return fmt.Errorf("create a cluster: %w\n%s", err, c.logs())
	}
	return c.awaitReady()
}

var clusterDefaults = []string{
	"--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf",
	"--cluster-require-full-coverage", "no",
	"--cluster-replica-validity-factor", "0", "--cluster-allow-replica-migration", "no",
	"--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1",
}

// create gives the masters their slots and makes all nodes known to each other, so
// that no test waits for gossip.
func (c *RedisCluster) create(ctx context.Context, bus map[*Server]int) error {
	for i, s := range c.nodes[:c.masters] {
		from, to := i*clusterSlots/c.masters, (i+1)*clusterSlots/c.masters-1
		if err := c.admin[s].ClusterAddSlotsRange(ctx, from, to).Err(); err != nil {
			return err
		}
		if err := c.admin[s].Do(ctx, "cluster", "set-config-epoch", i+1).Err(); err != nil {
			return err
		}
	}
	for i, s := range c.nodes {
		host, port, _ := net.SplitHostPort(s.addr)
		for _, other := range c.nodes[:i] {
			if err := c.admin[other].Do(ctx, "cluster", "meet", host, port, bus[s]).Err(); err != nil {
				return err
			}
		}
	}
	for i, s := range c.nodes[c.masters:] {
		master, err := c.id(ctx, c.nodes[i%c.masters])
		if err != nil {
			return err
		}
		// Refused until the two have shaken hands.
		err = poll(ctx, func() error { return c.admin[s].ClusterReplicate(ctx, master).Err() })
		if err != nil {
			return err
		}
	}
	return nil
}

// AwaitReady waits until every node says that the cluster is complete: all nodes
// there, all slots served, each master with its replicas and these in sync. After
// a node was restarted, for example.
func (c *RedisCluster) AwaitReady(t testing.TB) {
	t.Helper()
	if err := c.awaitReady(); err != nil {
		t.Fatal(err)
	}
}

func (c *RedisCluster) awaitReady() error {
	ctx, cancel := context.WithTimeout(context.Background(), startPatience)
	defer cancel()
	for _, s := range c.nodes {
		if err := poll(ctx, func() error { return c.complete(ctx, s) }); err != nil {
			return fmt.Errorf("the cluster is not complete, says %s: %w\n%s", s.addr, err, c.logs())
		}
	}
	return nil
}

// complete asks one node whether the cluster is complete.
func (c *RedisCluster) complete(ctx context.Context, s *Server) error {
	ctx, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	info, err := c.admin[s].ClusterInfo(ctx).Result()
	if err != nil {
		return err
	}
	if state := infoField(info, "cluster_state"); state != "ok" {
		return errors.New("cluster_state:" + state)
	}
	view, err := c.view(ctx, s)
	if err != nil {
		return err
	}
	slots, replicas := 0, map[string]int{}
	for _, n := range view {
		if !n.healthy {
			return fmt.Errorf("%s is not healthy", n.addr)
		}
		if n.master != "" {
			replicas[n.master]++
			continue
		}
		replicas[n.id] += 0
		for _, r := range n.slots {
			slots += r[1] - r[0] + 1
		}
	}
	if len(view) != len(c.nodes) || slots != clusterSlots || len(replicas) != c.masters {
		return fmt.Errorf("%d nodes, %d of them masters, %d slots", len(view), len(replicas), slots)
	}
	for id, n := range replicas {
		if n != c.replicas {
			return fmt.Errorf("master %s has %d replicas", id, n)
		}
	}
	return c.linked(ctx, s)
}

// linked is nil unless s is a replica that is not in sync with its master.
func (c *RedisCluster) linked(ctx context.Context, s *Server) error {
	info, err := c.admin[s].Info(ctx, "replication").Result()
	if err != nil {
		return err
	}
	if link := infoField(info, "master_link_status"); infoField(info, "role") == "slave" && link != "up" {
		return errors.New("master_link_status:" + link)
	}
	return nil
}

// Nodes are all nodes, dead ones too; at first the masters come before the replicas.
func (c *RedisCluster) Nodes() []*Server { return slices.Clone(c.nodes) }

// Client is a cluster client with the options users get by default, closed with
// the test. Every adjust may change its options.
func (c *RedisCluster) Client(t testing.TB, adjust ...func(*redis.ClusterOptions)) *redis.ClusterClient {
	t.Helper()
	opts := &redis.ClusterOptions{Password: c.password}
	for _, s := range c.nodes {
		opts.Addrs = append(opts.Addrs, s.addr)
	}
	for _, f := range adjust {
		f(opts)
	}
	rdb := redis.NewClusterClient(opts)
	t.Cleanup(func() { _ = rdb.Close() }) // a test may have closed it already
	return rdb
}

// MasterOf is the node that serves key now. While there is none, because the
// master was killed or paused and no replica is promoted yet, it waits.
func (c *RedisCluster) MasterOf(t testing.TB, key string) *Server {
	t.Helper()
	return c.masterOf(t, c.Slot(t, key))
}

func (c *RedisCluster) masterOf(t testing.TB, slot int) *Server {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startPatience)
	defer cancel()
	var master *Server
	err := poll(ctx, func() error {
		// A former master that came back believes in itself for a moment; the
		// greater epoch shows which is right.
		var epoch uint64
		master = nil
		for s, view := range c.views(ctx) {
			for _, n := range view {
				if n.myself && n.serves(slot) && (master == nil || n.epoch > epoch) {
					master, epoch = s, n.epoch
				}
			}
		}
		if master == nil {
			return errors.New("nobody serves it")
		}
		return nil
	})
	if err != nil {
		t.Fatalf("master of slot %d: %v\n%s", slot, err, c.logs())
	}
	return master
}

// Slot is the hash slot of key.
func (c *RedisCluster) Slot(t testing.TB, key string) int {
	t.Helper()
	var slot int64
	ctx, cancel := context.WithTimeout(context.Background(), startPatience)
	defer cancel()
	err := c.anybody(ctx, func(ctx context.Context, rdb *redis.Client) (err error) {
		slot, err = rdb.ClusterKeySlot(ctx, key).Result()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return int(slot)
}

// Failover makes a replica of the master of key master in its place, planned and
// without loss, and returns the new master when every node knows it.
func (c *RedisCluster) Failover(t testing.TB, key string) *Server {
	t.Helper()
	slot := c.Slot(t, key)
	old := c.masterOf(t, slot)
	ctx, cancel := context.WithTimeout(context.Background(), failoverPatience)
	defer cancel()
	var next *Server
	err := poll(ctx, func() error {
		switch replica, err := c.replicaOf(ctx, old); {
		case err == nil:
			next = replica
			if err := c.admin[next].ClusterFailover(ctx).Err(); err != nil {
				return err
			}
		case next == nil: // else the last try may have succeeded late, and made old a replica
			return err
		}
		once, cancel := context.WithTimeout(ctx, failoverTries)
		defer cancel()
		return c.agreed(once, slot, next)
	})
	if err != nil {
		t.Fatalf("fail over from %s: %v\n%s", old.addr, err, c.logs())
	}
	return next
}

// replicaOf is a replica of master that is in sync with it.
func (c *RedisCluster) replicaOf(ctx context.Context, master *Server) (*Server, error) {
	id, err := c.id(ctx, master)
	if err != nil {
		return nil, err
	}
	err = fmt.Errorf("%s has no replica", master.addr)
	for s, view := range c.views(ctx) {
		for _, n := range view {
			if n.myself && n.master == id {
				if err = c.linked(ctx, s); err == nil {
					return s, nil
				}
			}
		}
	}
	return nil, err
}

// agreed waits until every node that answers says that master serves slot.
func (c *RedisCluster) agreed(ctx context.Context, slot int, master *Server) error {
	return poll(ctx, func() error {
		views := c.views(ctx)
		if views[master] == nil {
			return fmt.Errorf("%s does not answer", master.addr)
		}
		for s, view := range views {
			for _, n := range view {
				if n.serves(slot) != (n.addr == master.addr) {
					return fmt.Errorf("%s says of %s serving slot %d: %t", s.addr, n.addr, slot, n.serves(slot))
				}
			}
		}
		return nil
	})
}

// anybody asks one node after the other until one answers.
func (c *RedisCluster) anybody(ctx context.Context, ask func(context.Context, *redis.Client) error) error {
	return poll(ctx, func() (err error) {
		for _, s := range c.nodes {
			short, cancel := context.WithTimeout(ctx, askPatience)
			err = ask(short, c.admin[s])
			cancel()
			if err == nil {
				return nil
			}
		}
		return err
	})
}

func (c *RedisCluster) id(ctx context.Context, s *Server) (string, error) {
	return c.admin[s].ClusterMyID(ctx).Result()
}

// logs are the ends of the logs of all nodes.
func (c *RedisCluster) logs() string { return logTails(c.nodes) }

// poll asks until the answer is nil, or returns the last answer when ctx ends.
func poll(ctx context.Context, ask func() error) error {
	again := time.NewTicker(clusterPoll)
	defer again.Stop()
	for {
		err := ask()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("in vain: %w", err)
		case <-again.C:
		}
	}
}
