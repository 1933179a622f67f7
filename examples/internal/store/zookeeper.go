package store

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/slotmq/go-rmq/internal/sharing/keeper"
	"github.com/slotmq/go-rmq/slots"
)

// zooKeeperUsage is of the flag -zk.
const zooKeeperUsage = "share the slots by the ZooKeeper at these `addresses`, host:port[,host:port...] (default: by a list in Redis); needs -redis"

// parseZooKeeper reads the flag. A Redis in memory cannot be shared: other workers
// would get slots of it and never find them.
func parseZooKeeper(flag, redis string) (servers []string, err error) {
	if flag == "" {
		return nil, nil
	}
	if redis == "" {
		return nil, errors.New("-zk needs -redis: other workers would share the slots, and cannot reach the Redis inside this program")
	}
	servers = strings.Split(flag, ",")
	for _, s := range servers {
		if host, port, err := net.SplitHostPort(s); err != nil || host == "" || port == "" {
			return nil, errors.New("-zk must be addresses such as localhost:2181, separated by commas")
		}
	}
	return servers, nil
}

// sharing is what a client is given as rmq.Config.Slots. The example's lease, how
// long the jobs of a lost worker stay with it, is the session timeout here.
func (s *Store) sharing(lease time.Duration) slots.Sharing {
	if s.ZooKeeper == nil {
		return nil
	}
	return slots.ZooKeeper(slots.ZooKeeperConfig{Servers: s.ZooKeeper, SessionTimeout: lease})
}

// Shown reports what ZooKeeper shows of a topic: each worker's id, and the slots that
// it has.
func (s *Store) Shown(ctx context.Context, topic string) (map[string][]int, error) {
	view, err := s.keeper().View(ctx, s.Namespace)
	if err != nil {
		return nil, err
	}
	shown := map[string][]int{}
	for _, worker := range view.Workers {
		shown[worker.ID] = worker.Held[topic]
	}
	return shown, nil
}

func (s *Store) keeper() *keeper.Keeper {
	return keeper.New(keeper.Config{Servers: s.ZooKeeper})
}

// askZooKeeper finds out whether there is one. It should know nothing of this run.
func (s *Store) askZooKeeper(ctx context.Context) error {
	if s.ZooKeeper == nil {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("tried for %v", patience))
	defer cancel()
	_, err := s.keeper().View(ctx, s.Namespace)
	if errors.Is(err, keeper.ErrNoTree) {
		return nil
	}
	return err
}

// leaveZooKeeper deletes what this run's namespace has there. The root, /rmq,
// stays: it may have been there before, and others may use it.
func (s *Store) leaveZooKeeper(ctx context.Context) error {
	if s.ZooKeeper == nil {
		return nil
	}
	if err := s.keeper().Remove(ctx, s.Namespace); err != nil {
		return fmt.Errorf("delete the nodes of namespace %s: %w", s.Namespace, err)
	}
	return nil
}
