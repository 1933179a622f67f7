package keeper

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/internal/testing/sharetest"
)

// team is members and the calls of Own of each.
type team struct {
	*place
	k       *Keeper
	members map[string]*Member
	told    map[string]*told
}

func newTeam(t *testing.T) *team {
	p := newPlace(t)
	return &team{p, New(config(string(p.tree), 15*time.Second, p.srv.Servers()...)), map[string]*Member{}, map[string]*told{}}
}

func (c *team) joins(t *testing.T, topics ...Topic) *Member {
	t.Helper()
	told := newTold()
	w := worker(topics...)
	w.Own = told.own
	m := join(t, c.k, w)
	c.members[m.ID()], c.told[m.ID()] = m, told
	return m
}

// share waits until so many of the members have all slots of the topic, each slot one
// member, and returns who has which.
func (c *team) share(t *testing.T, topic Topic, workers int) map[string][]int {
	t.Helper()
	var shares map[string][]int
	await.Nil(t, fmt.Sprintf("%d members share %s", workers, topic.Name), func() error {
		shares = map[string][]int{}
		for id, told := range c.told {
			told.mu.Lock()
			if slots := told.slots[topic.Name]; len(slots) > 0 {
				shares[id] = slices.Clone(slots)
			}
			told.mu.Unlock()
		}
		for id, slots := range shares {
			if len(shares) != workers || len(slots) < topic.Slots/workers || len(slots) > ceil(topic.Slots, workers) {
				return fmt.Errorf("%d have slots, %s %d of them", len(shares), id, len(slots))
			}
		}
		return sharetest.CoversOnce(shares, topic.Slots)
	})
	return shares
}

// Members come, leave politely, and vanish, each time the coordinator too.
func TestMembersShareTheSlots(t *testing.T) {
	t.Parallel()
	c := newTeam(t)
	orders := Topic{Name: "orders", Kind: "priority", Slots: 64}
	c.joins(t, orders)
	c.share(t, orders, 1)
	for range 4 {
		c.joins(t, orders)
	}
	before := c.share(t, orders, 5)

	first, _ := c.leader(t)
	leaver := c.members[first]
	if err := leaver.Leaving(await.Context(t)); err != nil {
		t.Fatal(err)
	}
	after := c.share(t, orders, 4)
	for id, slots := range after {
		for _, slot := range before[id] {
			if !slices.Contains(slots, slot) {
				t.Errorf("%s has lost slot %d", id, slot)
			}
		}
	}
	if !there(t, c.conn, c.worker(first)) || leaver.Err() != nil {
		t.Errorf("the leaver is gone already: %v", leaver.Err())
	}
	leaver.Close()
	delete(c.told, first)

	second, _ := c.leader(t, first)
	c.members[second].Abandon()
	c.srv.ExpireSession(t, c.members[second].session.ID())
	delete(c.told, second)
	c.share(t, orders, 3)
	c.leader(t, first, second)

	// The rest leaves at once, and a new one finds everything.
	for id, m := range c.members {
		if id == first || id == second {
			continue
		}
		if err := m.Leaving(await.Context(t)); err != nil {
			t.Fatal(err)
		}
		m.Close()
		delete(c.told, id)
	}
	c.joins(t, orders)
	c.share(t, orders, 1)
}

// The coordinator's own node is deleted. It does not keep the others waiting for the
// end of its session.
func TestCoordinatorWhoseNodeIsDeleted(t *testing.T) {
	t.Parallel()
	c := newTeam(t)
	c.k = New(config(string(c.tree), long, c.srv.Servers()...))
	c.joins(t, orders)
	c.joins(t, orders)
	c.share(t, orders, 2)
	first, _ := c.leader(t)
	c.remove(t, c.worker(first))
	await.Signal(t, "it learns that", c.members[first].Lost())
	delete(c.told, first)
	c.leader(t, first)
	c.share(t, orders, 1)
}

// The coordinator's own node is deleted, and nothing is heard of its office. It is told that
// it is lost all the same, and at once: others may take its slots over.
func TestLostBeforeTheOfficeIsGivenUp(t *testing.T) {
	t.Parallel()
	srv := patient(t)
	proxy, witness := servertest.NewProxy(t, srv.Addr()), srv.Client(t, long)
	m := unhurried(t, proxy.Addr())
	office := m.tree.coordinator()
	await.Nil(t, "it is elected", func() error {
		_, _, err := witness.Get(office)
		return err
	})
	proxy.OnRequest(func(b []byte) bool { // what comes with it, like the look at its own node, is not lost
		return !slices.Equal(requests(b), []request{{opExists, office}})
	})
	must.Do(t, witness.Delete(m.tree.worker(m.ID()), -1))
	await.Signal(t, "lost", m.Lost()) // the answer would be waited for twenty minutes
}
