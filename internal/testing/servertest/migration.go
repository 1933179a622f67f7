package servertest

import (
	"context"
	"fmt"
	"net"
	"testing"
)

// Migration is a hash slot on its way from one master to another. Until Finish the
// slot belongs to From, which sends clients on for each key that it does not have.
type Migration struct {
	Slot     int
	From, To *Server

	cluster *RedisCluster
	toID    string
}

// Migrate begins to move the slot of key to some other master.
func (c *RedisCluster) Migrate(t testing.TB, key string) *Migration {
	t.Helper()
	slot := c.Slot(t, key)
	from := c.masterOf(t, slot)
	ctx, cancel := context.WithTimeout(context.Background(), failoverPatience)
	defer cancel()
	var to *Server
	err := poll(ctx, func() error {
		views := c.views(ctx)
		for _, s := range c.nodes {
			for _, n := range views[s] {
				if n.myself && n.master == "" && s != from {
					to = s
					return nil
				}
			}
		}
		return fmt.Errorf("no other master than %s", from.addr)
	})
	if err != nil {
		t.Fatal(err)
	}
	return c.MoveSlot(t, slot, to)
}

// MoveSlot begins to move slot to another master. No key has moved when it
// returns: MoveKeys moves some, and Finish the rest and the slot.
func (c *RedisCluster) MoveSlot(t testing.TB, slot int, to *Server) *Migration {
	t.Helper()
	m := &Migration{Slot: slot, From: c.masterOf(t, slot), To: to, cluster: c}
	m.do(t, func(ctx context.Context) error {
		from, err := c.id(ctx, m.From)
		if err != nil {
			return err
		}
		if m.toID, err = c.id(ctx, to); err != nil {
			return err
		}
		// In this order, or From would send clients to a node which sends them back.
		if err := m.set(ctx, to, "importing", from); err != nil {
			return err
		}
		return m.set(ctx, m.From, "migrating", m.toID)
	})
	return m
}

// MoveKeys moves at most n keys and returns how many it moved.
func (m *Migration) MoveKeys(t testing.TB, n int) int {
	t.Helper()
	moved := 0
	m.do(t, func(ctx context.Context) (err error) {
		moved, err = m.move(ctx, n)
		return err
	})
	return moved
}

// Finish moves the rest of the keys, gives the slot to To and returns when every
// node knows it.
func (m *Migration) Finish(t testing.TB) {
	t.Helper()
	m.do(t, func(ctx context.Context) error {
		for {
			n, err := m.move(ctx, 100)
			if err != nil {
				return err
			}
			if n == 0 {
				break
			}
		}
		// The new owner first: had the old one given the slot away already, clients
		// would be sent to and fro.
		for _, s := range []*Server{m.To, m.From} {
			if err := m.set(ctx, s, "node", m.toID); err != nil {
				return err
			}
		}
		return m.cluster.agreed(ctx, m.Slot, m.To)
	})
}

func (m *Migration) move(ctx context.Context, n int) (int, error) {
	from := m.cluster.admin[m.From]
	keys, err := from.ClusterGetKeysInSlot(ctx, m.Slot, n).Result()
	if err != nil || len(keys) == 0 {
		return 0, err
	}
	host, port, _ := net.SplitHostPort(m.To.addr)
	args := []any{"migrate", host, port, "", 0, failoverPatience.Milliseconds(), "replace"}
	if m.cluster.password != "" {
		args = append(args, "auth", m.cluster.password)
	}
	args = append(args, "keys")
	for _, k := range keys {
		args = append(args, k)
	}
	return len(keys), from.Do(ctx, args...).Err()
}

func (m *Migration) set(ctx context.Context, s *Server, state, id string) error {
	return m.cluster.admin[s].Do(ctx, "cluster", "setslot", m.Slot, state, id).Err()
}

func (m *Migration) do(t testing.TB, step func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), failoverPatience)
	defer cancel()
	if err := step(ctx); err != nil {
		t.Fatal(fmt.Errorf("move slot %d from %s to %s: %w\n%s", m.Slot, m.From.addr, m.To.addr, err, m.cluster.logs()))
	}
}
