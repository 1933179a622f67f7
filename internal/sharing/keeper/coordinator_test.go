package keeper

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/slotmq/go-rmq/internal/sharing/keeper/session"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
)

// place is a tree of a test's own, with workers that are nodes and nothing else.
type place struct {
	srv *servertest.ZooKeeperServer
	tree
	conn *zk.Conn // the client that works in the tree; no member's session
}

func newPlace(t *testing.T) *place {
	t.Helper()
	srv := servertest.SharedZooKeeper(t)
	p := &place{srv: srv, tree: newTree(srv.Chroot(t), ""), conn: srv.Client(t, long)}
	for _, path := range []string{p.topics(), p.workers(), p.assigns(), p.owners()} {
		p.create(t, path, nil, 0)
	}
	return p
}

func (p *place) create(t *testing.T, path string, contents any, flags int32) {
	t.Helper()
	data, ok := contents.([]byte)
	if contents != nil && !ok {
		var err error
		if data, err = json.Marshal(contents); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := p.conn.Create(path, data, flags, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatalf("create %s: %v", path, err)
	}
}

func (p *place) remove(t *testing.T, path string) {
	t.Helper()
	if err := p.conn.Delete(path, -1); err != nil {
		t.Fatalf("remove %s: %v", path, err)
	}
}

func (p *place) define(t *testing.T, topic string, slots int) {
	t.Helper()
	p.create(t, p.topic(topic), topicNode{"priority", slots, false, false, "zookeeper", layout}, 0)
}

// comes makes a worker of weight 1 come that wants slots of the topics.
func (p *place) comes(t *testing.T, id string, topics ...string) {
	t.Helper()
	p.comesWith(t, id, 1, topics...)
}

func (p *place) comesWith(t *testing.T, id string, weight float64, topics ...string) {
	t.Helper()
	w := workerNode{Topics: map[string]float64{}}
	for _, topic := range topics {
		w.Topics[topic] = weight
	}
	p.create(t, p.worker(id), w, zk.FlagEphemeral)
}

func (p *place) goes(t *testing.T, id string) {
	t.Helper()
	p.remove(t, p.worker(id))
}

// assigned is a topic's assignment, and the version of its node.
func (p *place) assigned(t *testing.T, topic string) (assignment, int32) {
	t.Helper()
	data, stat, err := p.conn.Get(p.assign(topic))
	if errors.Is(err, zk.ErrNoNode) {
		return assignment{}, absent
	}
	if err != nil {
		t.Fatal(err)
	}
	a, err := decodeAssignment(data)
	if err != nil {
		t.Logf("%s: %v", data, err) // it belongs to no worker
	}
	return a, stat.Version
}

// has awaits an assignment that gives each of the workers that many slots, and
// nobody any other.
func (p *place) has(t *testing.T, topic string, want map[string]int) assignment {
	t.Helper()
	var a assignment
	await.Nil(t, "the assignment of "+topic, func() error {
		a, _ = p.assigned(t, topic)
		got := counts(a.owners)
		if fmt.Sprint(got) != fmt.Sprint(want) {
			return fmt.Errorf("%v, want %v", got, want)
		}
		return nil
	})
	return a
}

// leader awaits a coordinator that is none of those, and returns who it is.
func (p *place) leader(t *testing.T, not ...string) (id string, session int64) {
	t.Helper()
	await.Nil(t, "a coordinator", func() error {
		data, stat, err := p.conn.Get(p.coordinator())
		if err != nil {
			return err
		}
		if id, session = string(data), stat.EphemeralOwner; slices.Contains(not, id) {
			return fmt.Errorf("it is %s", id)
		}
		return nil
	})
	return id, session
}

// contender stands for election and is no worker.
type contender struct {
	*candidate
	logs *observer.ObservedLogs
	stop func() // ends it, but not its session
}

func (p *place) candidate(t *testing.T, id string, change ...func(*candidate)) *contender {
	t.Helper()
	return p.stands(t, opened(t, config("/", long, p.srv.Servers()...)), id, change...)
}

func (p *place) stands(t *testing.T, s *session.Session, id string, change ...func(*candidate)) *contender {
	core, logs := observer.New(zap.InfoLevel)
	c := &candidate{session: s, tree: p.tree, id: id, log: zap.New(core), recheck: recheck, delays: usualDelays, spread: usualSpread}
	for _, f := range change {
		f(c)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { c.run(ctx) })
	stop := func() {
		cancel()
		running.Wait()
	}
	t.Cleanup(func() {
		stop()
		s.Abandon()
	})
	return &contender{c, logs, stop}
}

func (c *contender) said(message string) int { return c.logs.FilterMessage(message).Len() }

// hour keeps slots from being shared out only because somebody came.
func hour(c *candidate) { c.delays.even, c.delays.most = time.Hour, time.Hour }

// often makes it look at everything again all the time.
func often(c *candidate) { c.recheck = 100 * time.Millisecond }

func TestCoordinatorSharesOut(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.define(t, "a/b", 16)
	for _, id := range []string{"w1", "w2", "w3"} {
		p.comes(t, id, "a/b")
	}
	c := p.candidate(t, "c")
	a := p.has(t, "a/b", map[string]int{"w1": 6, "w2": 5, "w3": 5})
	if a.gen != 1 {
		t.Errorf("gen is %d", a.gen)
	}
	if id, session := p.leader(t); id != "c" || session != c.session.ID() {
		t.Errorf("the coordinator is %s, session %#x", id, session)
	}
	p.comes(t, "w4", "a/b")
	if a := p.has(t, "a/b", map[string]int{"w1": 4, "w2": 4, "w3": 4, "w4": 4}); a.gen != 2 {
		t.Errorf("gen is %d", a.gen)
	}
	await.Nil(t, "the log", func() error {
		said := c.logs.FilterMessage("slots were assigned").All()
		if len(said) != 2 {
			return fmt.Errorf("%d lines", len(said))
		}
		if got := fmt.Sprint(said[1].ContextMap()); got != "map[gen:2 moved:4 topic:a/b workers:4]" {
			t.Error(got)
		}
		return nil
	})
}

func TestSuccession(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.define(t, "x", 12)
	p.comes(t, "w0", "x")
	candidates := map[string]*contender{}
	for _, id := range []string{"c1", "c2", "c3", "c4"} {
		candidates[id] = p.candidate(t, id)
	}
	p.has(t, "x", map[string]int{"w0": 12})
	first, session := p.leader(t)

	p.srv.ExpireSession(t, session)
	second, _ := p.leader(t, first)
	p.comes(t, "w1", "x")
	p.has(t, "x", map[string]int{"w0": 6, "w1": 6})

	candidates[second].stop() // politely: its session goes on
	p.leader(t, first, second)
	p.goes(t, "w0")
	p.has(t, "x", map[string]int{"w1": 12})

	p.remove(t, p.coordinator()) // somebody does, by hand
	p.comes(t, "w2", "x")
	p.has(t, "x", map[string]int{"w1": 6, "w2": 6})

	third, _ := p.leader(t)
	vanished := candidates[third]
	vanished.session.Abandon()
	p.srv.ExpireSession(t, vanished.session.ID())
	p.leader(t, first, second, third)
	p.goes(t, "w1")
	p.has(t, "x", map[string]int{"w2": 12})
}

// Whoever is about to leave would have to be replaced at once.
func TestWorkerThatLeavesDoesNotStand(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.define(t, "x", 12)
	p.create(t, p.leaving("c1"), nil, zk.FlagEphemeral)
	leaver := p.candidate(t, "c1", often)
	p.comes(t, "w1", "x")
	p.candidate(t, "c2")
	p.has(t, "x", map[string]int{"w1": 12})
	if id, _ := p.leader(t); id != "c2" || leaver.said("coordinator was elected") != 0 {
		t.Errorf("the coordinator is %s", id)
	}
}

// Two come, and nothing happens; one goes, and all of it happens at once.
func TestJoinsWaitAndLeavesDoNot(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.define(t, "x", 60)
	for _, id := range []string{"w1", "w2", "w3"} {
		p.comes(t, id, "x")
	}
	p.candidate(t, "c", hour)
	p.has(t, "x", map[string]int{"w1": 20, "w2": 20, "w3": 20})
	p.comes(t, "w4", "x")
	p.comes(t, "w5", "x")
	p.comes(t, "w6", "x")
	p.create(t, p.leaving("w1"), nil, zk.FlagEphemeral)
	a := p.has(t, "x", map[string]int{"w2": 12, "w3": 12, "w4": 12, "w5": 12, "w6": 12})
	if a.gen != 2 {
		t.Errorf("gen is %d: something moved twice", a.gen)
	}
}

func TestJoinsAreCollected(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.define(t, "x", 60)
	p.comes(t, "w1", "x")
	p.candidate(t, "c", func(c *candidate) { c.delays.even, c.delays.most = 6*time.Second, time.Minute })
	p.has(t, "x", map[string]int{"w1": 60})
	for _, id := range []string{"w2", "w3", "w4", "w5", "w6"} {
		p.comes(t, id, "x")
	}
	a := p.has(t, "x", map[string]int{"w1": 10, "w2": 10, "w3": 10, "w4": 10, "w5": 10, "w6": 10})
	if a.gen != 2 {
		t.Errorf("gen is %d: something moved twice", a.gen)
	}
}

func TestWorkerThatLeavesLosesItsSlotsWhileItLives(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.define(t, "x", 12)
	for _, id := range []string{"w1", "w2", "w3"} {
		p.comes(t, id, "x")
	}
	p.candidate(t, "c", hour)
	before := p.has(t, "x", map[string]int{"w1": 4, "w2": 4, "w3": 4})
	p.create(t, p.leaving("w2"), nil, zk.FlagEphemeral)
	after := p.has(t, "x", map[string]int{"w1": 6, "w3": 6})
	if m := moved(before.owners, after.owners); m != 4 {
		t.Errorf("%d slots moved", m)
	}
	p.goes(t, "w2")
	p.remove(t, p.leaving("w2"))
	p.goes(t, "w3")
	if a := p.has(t, "x", map[string]int{"w1": 12}); a.gen != 3 {
		t.Errorf("gen is %d: going for good moved something", a.gen)
	}
	// The last one has no other to give its slots to.
	p.create(t, p.leaving("w1"), nil, zk.FlagEphemeral)
	p.comes(t, "w4", "x")
	if a := p.has(t, "x", map[string]int{"w4": 12}); a.gen != 4 {
		t.Errorf("gen is %d", a.gen)
	}
}

func TestWorkersOfDifferentTopics(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for _, topic := range []string{"x", "y", "z"} {
		p.define(t, topic, 8)
	}
	p.comes(t, "w1", "x")
	p.comes(t, "w2", "x", "y")
	p.comes(t, "w3", "y", "z")
	p.comes(t, "w4")
	p.comesWith(t, "w0", 0, "z") // wants nothing
	p.candidate(t, "c")
	p.has(t, "x", map[string]int{"w1": 4, "w2": 4})
	p.has(t, "y", map[string]int{"w2": 4, "w3": 4})
	z := p.has(t, "z", map[string]int{"w3": 8})

	// A topic without a worker keeps its assignment; the others go on.
	p.goes(t, "w3")
	y := p.has(t, "y", map[string]int{"w2": 8})
	if again, version := p.assigned(t, "z"); version != 0 || !slices.Equal(again.owners, z.owners) {
		t.Errorf("version %d, %v", version, again)
	}
	if again, _ := p.assigned(t, "x"); again.gen != 1 {
		t.Errorf("gen %d of a topic that nothing happened to", again.gen)
	}
	p.comes(t, "w5", "z")
	p.has(t, "z", map[string]int{"w5": 8})
	if again, _ := p.assigned(t, "y"); again.gen != y.gen {
		t.Errorf("gen %d of a topic that nothing happened to", again.gen)
	}
}

func TestWeights(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.define(t, "x", 16)
	p.comesWith(t, "w1", 1, "x")
	p.comesWith(t, "w2", 2, "x")
	p.comesWith(t, "w3", 0.5, "x")
	p.comesWith(t, "w4", 0.5, "x")
	p.candidate(t, "c")
	p.has(t, "x", map[string]int{"w1": 4, "w2": 8, "w3": 2, "w4": 2})
}

// One of eight leaves, then one of seven.
func TestLeaveMovesWhatTheLeaverHad(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.define(t, "x", 256)
	want := map[string]int{}
	for i := range 8 {
		id := fmt.Sprintf("w%d", i)
		p.comes(t, id, "x")
		want[id] = 32
	}
	p.candidate(t, "c")
	before := p.has(t, "x", want)
	p.goes(t, "w3")
	after := p.has(t, "x", map[string]int{"w0": 37, "w1": 37, "w2": 37, "w4": 37, "w5": 36, "w6": 36, "w7": 36})
	if m := moved(before.owners, after.owners); m > ceil(256, 8) {
		t.Errorf("%d slots moved", m)
	}
	p.goes(t, "w7")
	var last assignment
	await.Nil(t, "the next assignment", func() error {
		if last, _ = p.assigned(t, "x"); last.gen == after.gen {
			return errors.New("it is the one before")
		}
		return nil
	})
	if m := moved(after.owners, last.owners); m > ceil(256, 7) {
		t.Errorf("%d slots moved", m)
	}
}

// Somebody else writes the assignment. What the coordinator writes next must come
// out of that, or slots would move that need not.
func TestAssignmentOfAnotherCoordinator(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.define(t, "x", 12)
	for _, id := range []string{"w1", "w2", "w3", "w4"} {
		p.comes(t, id, "x")
	}
	c := p.candidate(t, "c")
	p.has(t, "x", map[string]int{"w1": 3, "w2": 3, "w3": 3, "w4": 3})
	theirs := assignment{gen: 99, owners: []string{"w4", "w4", "w4", "w3", "w3", "w3", "w2", "w2", "w2", "w1", "w1", "w1"}}
	data, err := theirs.encode()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.conn.Set(p.assign("x"), data, -1); err != nil {
		t.Fatal(err)
	}
	p.goes(t, "w4")
	a := p.has(t, "x", map[string]int{"w1": 4, "w2": 4, "w3": 4})
	if m := moved(theirs.owners, a.owners); m != 3 || a.gen != 100 {
		t.Errorf("%d slots moved, gen %d", m, a.gen)
	}
	if n := c.said("coordinator was elected"); n != 1 {
		t.Errorf("elected %d times", n)
	}
}

func TestNewerContentsMakeTheCoordinatorStepDown(t *testing.T) {
	t.Parallel()
	const elected, down = "coordinator was elected", "coordinator steps down while there is a node of a newer version"
	for name, newer := range map[string]struct{ write, heal func(*place, *testing.T) }{
		"assignment": {
			func(p *place, t *testing.T) {
				if _, err := p.conn.Set(p.assign("x"), []byte(`{"v":2,"map":{}}`), -1); err != nil {
					t.Fatal(err)
				}
			},
			func(p *place, t *testing.T) {
				if _, err := p.conn.Set(p.assign("x"), []byte(`{"v":1,"gen":5,"workers":[],"map":""}`), -1); err != nil {
					t.Fatal(err)
				}
			},
		},
		"worker": {
			func(p *place, t *testing.T) {
				p.create(t, p.worker("newer"), []byte(`{"v":2,"topics":{"x":1}}`), zk.FlagEphemeral)
			},
			func(p *place, t *testing.T) { p.goes(t, "newer") },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.define(t, "x", 12)
			p.comes(t, "w1", "x")
			p.comes(t, "w2", "x")
			first := p.candidate(t, "c1", hour)
			p.has(t, "x", map[string]int{"w1": 6, "w2": 6})
			newer.write(p, t)
			p.goes(t, "w2")
			told := func(c *contender, times int) {
				t.Helper()
				await.Nil(t, c.id+" steps down", func() error {
					if n := c.said(down); n != times {
						return fmt.Errorf("%d times", n)
					}
					return nil
				})
			}
			told(first, 1)
			awaitGone(t, p.conn, p.coordinator())
			left, stat, err := p.conn.Get(p.assign("x"))
			if err != nil {
				t.Fatal(err)
			}
			for _, id := range []string{"c2", "c3", "c4"} { // others of our version find the same
				told(p.candidate(t, id, hour), 1)
			}
			awaitGone(t, p.conn, p.coordinator())
			if n := first.said(elected); n != 1 {
				t.Errorf("it was elected %d times", n)
			}
			if now, again, err := p.conn.Get(p.assign("x")); err != nil || again.Version != stat.Version {
				t.Errorf("%s was written over by %s, %v", left, now, err)
			}
			newer.heal(p, t)
			p.leader(t)
			p.has(t, "x", map[string]int{"w1": 12})
		})
	}
}

// A node that cannot be read is replaced or left out; one that cannot be used is
// reported.
func TestDamagedNodes(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.define(t, "x", 4)
	p.define(t, "y", 4)
	p.create(t, p.assign("x"), []byte("?"), 0)
	p.create(t, p.topic("no slots"), []byte(`{"slots":0}`), 0)
	p.create(t, p.topic("no json"), []byte(`?`), 0)
	p.create(t, p.worker("w0"), []byte("?"), zk.FlagEphemeral)
	p.create(t, p.workers()+"/%zz", []byte(`{"topics":{"x":1}}`), zk.FlagEphemeral)
	p.comes(t, "w1", "x", "y", "no slots", "no json", "undefined")
	c := p.candidate(t, "c", often, hour)
	p.has(t, "y", map[string]int{"w1": 4})
	p.has(t, "x", map[string]int{"w1": 4})
	for _, topic := range []string{"no slots", "no json", "undefined"} {
		if a, version := p.assigned(t, topic); version != absent {
			t.Errorf("%s: %v", topic, a)
		}
	}
	for _, message := range []string{"topic is not shared out", "worker gets no slots: its node is damaged", "node is no worker's"} {
		if c.said(message) == 0 {
			t.Errorf("nothing says that %q", message)
		}
	}
	if n := c.said("coordinator was elected"); n != 1 {
		t.Errorf("elected %d times", n)
	}
	p.define(t, "undefined", 2) // a person has acted
	p.has(t, "undefined", map[string]int{"w1": 2})
}

// A worker's node that may not be read, since that worker has a password and this one
// has none, keeps no other from getting slots.
func TestWorkerThatMayNotBeRead(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.define(t, "x", 4)
	_, err := p.conn.Create(p.worker("w0"), []byte(`{"topics":{"x":1}}`), zk.FlagEphemeral, zk.DigestACL(zk.PermAll, "rmq", "secret"))
	if err != nil {
		t.Fatal(err)
	}
	p.comes(t, "w1", "x")
	c := p.candidate(t, "c", often)
	p.has(t, "x", map[string]int{"w1": 4})
	// Nor when it leaves, and newcomers wait for what it writes.
	if _, err := p.conn.Create(p.owned("w0"), nil, zk.FlagEphemeral, zk.DigestACL(zk.PermAll, "rmq", "secret")); err != nil {
		t.Fatal(err)
	}
	p.create(t, p.leaving("w0"), nil, zk.FlagEphemeral)
	p.comes(t, "w2", "x")
	if err := p.conn.AddAuth("digest", []byte("rmq:secret")); err != nil {
		t.Fatal(err)
	}
	if _, err := p.conn.Set(p.owned("w0"), nil, -1); err != nil {
		t.Fatal(err)
	}
	p.has(t, "x", map[string]int{"w1": 2, "w2": 2})
	if n := c.said("coordinator was elected"); n != 1 {
		t.Errorf("elected %d times", n)
	}
	if c.said("worker gets no slots: its node may not be read, as with another ZooKeeperConfig.Auth") == 0 {
		t.Error("nothing says why it has no slots")
	}
}

// A worker's node that belongs to no session, as of a tree that was copied, is no worker.
func TestWorkerWithoutASession(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.define(t, "x", 4)
	p.create(t, p.worker("w0"), workerNode{Topics: map[string]float64{"x": 1}}, 0)
	p.comes(t, "w1", "x")
	p.candidate(t, "c")
	p.has(t, "x", map[string]int{"w1": 4})
}

// No watch reports that an assignment was deleted; the next look finds it. Nothing
// moves.
func TestDeletedAssignmentIsWrittenAgain(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.define(t, "x", 12)
	p.comes(t, "w1", "x")
	p.candidate(t, "c", often)
	p.has(t, "x", map[string]int{"w1": 12})
	p.comes(t, "w2", "x")
	before := p.has(t, "x", map[string]int{"w1": 6, "w2": 6})
	p.remove(t, p.assign("x"))
	p.remove(t, p.assigns())
	after := p.has(t, "x", map[string]int{"w1": 6, "w2": 6})
	if m := moved(before.owners, after.owners); m != 0 || after.gen != before.gen+1 {
		t.Errorf("%d slots moved, gen %d after %d", m, after.gen, before.gen)
	}
}

// While the coordinator is cut off, one comes and one goes.
func TestCoordinatorIsCutOff(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	proxy := servertest.NewProxy(t, p.srv.Addr())
	p.define(t, "x", 12)
	p.comes(t, "w1", "x")
	p.comes(t, "w2", "x")
	c := p.stands(t, opened(t, config("/", long, proxy.Addr())), "c")
	p.has(t, "x", map[string]int{"w1": 6, "w2": 6})
	proxy.Cut()
	p.goes(t, "w1")
	p.comes(t, "w3", "x")
	proxy.Mend()
	p.has(t, "x", map[string]int{"w2": 6, "w3": 6})
	if id, session := p.leader(t); id != "c" || session != c.session.ID() {
		t.Errorf("the coordinator is %s", id)
	}
}

// A coordinator that belongs to no session, made by hand or by a tool that copies nodes,
// would keep all slots as they are for ever.
func TestCoordinatorOfNobody(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.define(t, "x", 12)
	p.comes(t, "w1", "x")
	p.create(t, p.coordinator(), []byte("by hand"), 0)
	first := p.candidate(t, "c1")
	p.has(t, "x", map[string]int{"w1": 12})
	if first.said("a coordinator node that belonged to no session was removed") != 1 {
		t.Error("nothing is said of it")
	}

	first.stop() // and while another one waits
	second := p.candidate(t, "c2")
	p.leader(t, "c1")
	p.create(t, p.coordinator()+"-kept", nil, 0)
	if _, err := p.conn.Multi(&zk.DeleteRequest{Path: p.coordinator(), Version: -1},
		&zk.CreateRequest{Path: p.coordinator(), Acl: zk.WorldACL(zk.PermAll)},
		&zk.CreateRequest{Path: p.coordinator() + "/below", Acl: zk.WorldACL(zk.PermAll)}); err != nil {
		t.Fatal(err)
	}
	await.Nil(t, "what cannot be removed is told", func() error {
		for _, entry := range second.logs.FilterMessage("coordination failed and is tried again").All() {
			if text := fmt.Sprint(entry.ContextMap()["error"]); strings.Contains(text, "deleteall "+p.coordinator()) {
				return nil
			}
		}
		return errors.New("not yet")
	})
	p.remove(t, p.coordinator()+"/below")
	p.leader(t, "c1")
	p.comes(t, "w2", "x")
	p.has(t, "x", map[string]int{"w1": 6, "w2": 6})
}

// Several members may oust the same coordinator. One that comes late, when another is
// elected already, spares that one and says nothing.
func TestOustComesLate(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.create(t, p.coordinator(), []byte("by hand"), 0)
	idle := &candidate{session: opened(t, config("", long, p.srv.Servers()...)), tree: p.tree, log: zap.NewNop(), spread: usualSpread}
	changed := make(chan zk.Event)
	close(changed)
	if err := idle.oust(await.Context(t), changed); err != nil {
		t.Error(err)
	}
	if !there(t, p.conn, p.coordinator()) {
		t.Error("it is removed although it has changed since")
	}
	p.remove(t, p.coordinator())

	elected := p.candidate(t, "c1")
	p.leader(t)
	late := p.candidate(t, "c2")
	if err := late.oust(await.Context(t), nil); err != nil {
		t.Error(err)
	}
	if id, session := p.leader(t); id != "c1" || session != elected.session.ID() {
		t.Errorf("the coordinator is %s", id)
	}
	if n := late.logs.FilterLevelExact(zap.WarnLevel).Len(); n > 0 {
		t.Errorf("%d warnings", n)
	}
}
