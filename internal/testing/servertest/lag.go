package servertest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"testing"
)

// CutOff cuts the replica of a master off from it and returns it. It has what was written
// before, and nothing of what is written when CutOff has returned.
func (c *RedisCluster) CutOff(t testing.TB, master *Server) *Server {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startPatience)
	defer cancel()
	var replica *Server
	err := poll(ctx, func() (err error) {
		replica, err = c.replicaOf(ctx, master)
		return err
	})
	if err == nil {
		err = c.caughtUp(ctx, master, replica)
	}
	if err == nil { // the master refuses a replica with a wrong password, again and again
		err = errors.Join(
			c.admin[replica].ConfigSet(ctx, "masteruser", "nobody").Err(),
			c.admin[replica].ConfigSet(ctx, "masterauth", "wrong").Err(),
			c.admin[master].ClientKillByFilter(ctx, "type", "replica").Err())
	}
	if err == nil {
		err = poll(ctx, func() error {
			if c.linked(ctx, replica) != nil {
				return nil
			}
			return errors.New("it is still in sync")
		})
	}
	if err != nil {
		t.Fatalf("cut off the replica of %s: %v\n%s", master.addr, err, c.logs())
	}
	return replica
}

// caughtUp waits until a replica has all that its master has now.
func (c *RedisCluster) caughtUp(ctx context.Context, master, replica *Server) error {
	offset := func(s *Server, field string) (int, error) {
		info, err := c.admin[s].Info(ctx, "replication").Result()
		if err != nil {
			return 0, err
		}
		return strconv.Atoi(infoField(info, field))
	}
	want, err := offset(master, "master_repl_offset")
	if err != nil {
		return err
	}
	return poll(ctx, func() error {
		if got, err := offset(replica, "slave_repl_offset"); err != nil || got < want {
			return fmt.Errorf("it is at %d, not %d: %w", got, want, err)
		}
		return nil
	})
}

// TakeOver makes a replica the master with what it has, whatever its master has beyond
// that, and returns when each node that answers knows it.
func (c *RedisCluster) TakeOver(t testing.TB, replica *Server) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), failoverPatience)
	defer cancel()
	err := c.admin[replica].Do(ctx, "cluster", "failover", "takeover").Err()
	if err == nil {
		err = poll(ctx, func() error {
			for _, n := range c.views(ctx)[replica] {
				if n.myself && n.master == "" && len(n.slots) > 0 {
					return c.agreed(ctx, n.slots[0][0], replica)
				}
			}
			return errors.New("it is no master yet")
		})
	}
	if err != nil {
		t.Fatalf("%s takes over: %v\n%s", replica.addr, err, c.logs())
	}
}
