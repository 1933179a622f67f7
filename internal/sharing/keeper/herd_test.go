package keeper

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/night"
)

// crowd are workers of one session that only watch the assignments of their topics.
type crowd struct {
	conn *zk.Conn
	wg   sync.WaitGroup
}

// follow counts how often the worker is woken, until the session is closed.
func (w *crowd) follow(t *testing.T, path, id string, wakes *sync.Map) {
	count, _ := wakes.LoadOrStore(id, new(atomic.Int64))
	if _, err := w.conn.Sync(path); err != nil { // its server may lag behind the one that others asked
		t.Errorf("sync %s: %v", path, err)
		return
	}
	_, _, watch, err := w.conn.GetW(path)
	if err != nil {
		t.Errorf("read %s: %v", path, err)
		return
	}
	w.wg.Go(func() {
		for {
			if event := <-watch; event.Type != zk.EventNodeDataChanged {
				return
			}
			count.(*atomic.Int64).Add(1)
			var err error
			if _, _, watch, err = w.conn.GetW(path); err != nil {
				return
			}
		}
	})
}

// Among many workers one comes and one goes, first politely and then at once. Each of
// it is one write for each topic that is affected and none for the others, wakes every
// worker of those topics once, and elects no one.
func TestNoHerd(t *testing.T) {
	t.Parallel()
	all := night.Times(60, 200)
	const (
		members  = 6 // with all that belongs to them; each costs several megabytes
		sessions = 8
	)
	p := newPlace(t)
	x, y, z := Topic{Name: "x", Kind: "priority", Slots: night.Times(1024, 4096)}, Topic{Name: "y", Kind: "priority", Slots: 256}, Topic{Name: "z", Kind: "priority", Slots: 256}
	k := New(config(string(p.tree), long, p.srv.Servers()...)) // no session of a real one ends by itself, however busy the machine is
	var real []*Member
	for i := range members {
		w := worker(x, []Topic{y, z}[i%2])
		w.Name = fmt.Sprintf("m%d", i)
		real = append(real, join(t, k, w))
		p.leader(t) // the first one, which stays
	}
	wants := map[string][]string{} // topic → ids of the simulated ones
	crowds := make([]*crowd, sessions)
	for i := range crowds {
		crowds[i] = &crowd{conn: p.srv.Client(t, long)}
	}
	of := func(i int) *crowd { return crowds[i%sessions] }
	for i := range all - members {
		id, second := fmt.Sprintf("s%03d", i), []string{"y", "z"}[i%2]
		(&place{tree: p.tree, conn: of(i).conn}).comes(t, id, "x", second)
		wants["x"], wants[second] = append(wants["x"], id), append(wants[second], id)
	}
	// settled awaits that the topic is shared out evenly among so many.
	settled := func(topic string, workers int) (version int32) {
		t.Helper()
		await.Nil(t, topic+" is shared out", func() error {
			a, v := p.assigned(t, topic)
			has := counts(a.owners)
			if len(has) != workers {
				return fmt.Errorf("among %d, not %d", len(has), workers)
			}
			for id, n := range has {
				if n > ceil(len(a.owners), workers) || n < len(a.owners)/workers {
					return fmt.Errorf("%s has %d of %d slots", id, n, len(a.owners))
				}
			}
			version = v
			return nil
		})
		return version
	}
	at := map[string]int32{"x": settled("x", all), "y": settled("y", all/2), "z": settled("z", all/2)}
	_, office, err := p.conn.Exists(p.coordinator())
	if err != nil {
		t.Fatal(err)
	}

	wakes := map[string]*sync.Map{"x": {}, "y": {}, "z": {}}
	for topic, ids := range wants {
		for i, id := range ids {
			of(i).follow(t, p.assign(topic), id, wakes[topic])
		}
	}
	woken := map[string]int64{}
	// changed checks that these topics were written once more, the others not, and
	// who was woken.
	changed := func(what string, workers map[string]int, topics ...string) {
		t.Helper()
		for _, topic := range topics {
			at[topic]++
			woken[topic]++
		}
		for topic, n := range workers {
			if version := settled(topic, n); version != at[topic] {
				t.Errorf("%s: %s is written %+d times too often", what, topic, version-at[topic])
			}
			wakes[topic].Range(func(id, count any) bool {
				await.Nil(t, fmt.Sprintf("%s is woken for %s", id, topic), func() error {
					if n := count.(*atomic.Int64).Load(); n < woken[topic] {
						return fmt.Errorf("%d times, not %d", n, woken[topic])
					}
					return nil
				})
				if n := count.(*atomic.Int64).Load(); n != woken[topic] {
					t.Errorf("%s: %v was woken %d times for %s, not %d", what, id, n, topic, woken[topic])
				}
				return true
			})
		}
		if there, stat, err := p.conn.Exists(p.coordinator()); !there || err != nil || stat.Czxid != office.Czxid {
			t.Errorf("%s: there is another coordinator, %v", what, err)
		}
	}

	newcomer := join(t, k, worker(x, y))
	changed("one comes", map[string]int{"x": all + 1, "y": all/2 + 1, "z": all / 2}, "x", "y")

	leaver := real[members-1] // of x and z
	if err := leaver.Leaving(await.Context(t)); err != nil {
		t.Fatal(err)
	}
	changed("one leaves", map[string]int{"x": all, "y": all/2 + 1, "z": all/2 - 1}, "x", "z")

	leaver.Close() // which no other must notice
	p.srv.ExpireSession(t, newcomer.session.ID())
	changed("one vanishes", map[string]int{"x": all - 1, "y": all / 2, "z": all/2 - 1}, "x", "y")

	(&place{tree: p.tree, conn: crowds[0].conn}).goes(t, "s000")
	changed("another one vanishes", map[string]int{"x": all - 2, "y": all/2 - 1, "z": all/2 - 1}, "x", "y")
	for _, w := range crowds {
		w.conn.Close()
		w.wg.Wait()
	}
}
