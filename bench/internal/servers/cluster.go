package servers

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

const clusterSlots = 16384

// Cluster starts a Redis Cluster of masters without replicas, and returns when
// every node says that it is complete.
func (f *Fleet) Cluster(masters int) (Place, error) {
	p := Place{}
	var addrs []string
	for range masters {
		s, err := f.start(func(bus int) []string {
			// The default bus port, port+10000, may not exist or belong to another program.
			return []string{"--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf", "--cluster-port", strconv.Itoa(bus)}
		})
		if err != nil {
			return Place{}, err
		}
		p.Servers, addrs = append(p.Servers, s), append(addrs, s.Addr)
	}
	p.Dial = func() []redis.UniversalClient {
		return []redis.UniversalClient{redis.NewClusterClient(&redis.ClusterOptions{Addrs: addrs})}
	}
	if err := p.join(); err != nil {
		return Place{}, fmt.Errorf("create a cluster: %w", err)
	}
	return p, nil
}

// ofCluster is the place of its masters.
func ofCluster(addrs []string) (p Place) {
	for _, addr := range addrs {
		p.Servers = append(p.Servers, &Server{Addr: addr, Rdb: redis.NewClient(&redis.Options{Addr: addr})})
	}
	p.Dial = func() []redis.UniversalClient {
		return []redis.UniversalClient{redis.NewClusterClient(&redis.ClusterOptions{Addrs: addrs})}
	}
	return p
}

// join spreads the hash slots over the servers, and makes each know the others.
func (p Place) join() error {
	n := len(p.Servers)
	for i, s := range p.Servers {
		if err := s.Rdb.ClusterAddSlotsRange(ctx, i*clusterSlots/n, (i+1)*clusterSlots/n-1).Err(); err != nil {
			return err
		}
		if err := s.Rdb.Do(ctx, "cluster", "set-config-epoch", i+1).Err(); err != nil {
			return err
		}
	}
	for i, s := range p.Servers {
		for _, other := range p.Servers[:i] {
			if err := other.Rdb.Do(ctx, "cluster", "meet", "127.0.0.1", s.port, s.second).Err(); err != nil {
				return err
			}
		}
	}
	var err error
	for begin := time.Now(); time.Since(begin) < 20*time.Second; time.Sleep(20 * time.Millisecond) {
		if err = p.complete(); err == nil {
			return nil
		}
	}
	return err
}

// complete asks every node: the one that was asked may know more than the rest.
func (p Place) complete() error {
	for _, s := range p.Servers {
		info := fields(s.Rdb.ClusterInfo(ctx).Val())
		if info["cluster_state"] != "ok" || info["cluster_slots_ok"] != strconv.Itoa(clusterSlots) ||
			info["cluster_size"] != strconv.Itoa(len(p.Servers)) {
			return errors.New(s.Addr + " does not say that the cluster is complete")
		}
	}
	return nil
}
