package keeper

import (
	"context"
	"errors"
	"maps"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
)

func TestLeavingAndClose(t *testing.T) {
	t.Parallel()
	cfg, conn := shared(t)
	m := join(t, New(cfg), worker())
	for range 2 { // it may be asked for again
		if err := m.Leaving(await.Context(t)); err != nil {
			t.Fatal(err)
		}
	}
	nodes := []string{m.tree.worker(m.ID()), m.tree.leaving(m.ID()), m.tree.owned(m.ID())}
	for _, path := range nodes {
		if !there(t, conn, path) {
			t.Errorf("%s is not there", path)
		}
	}
	lives(t, m)
	_, _, worker, err := conn.ExistsW(nodes[0])
	must.Do(t, err)
	_, _, leaving, err := conn.ExistsW(nodes[1])
	must.Do(t, err)
	inOrder := make(chan bool, 1)
	go func() {
		select {
		case <-worker:
			inOrder <- true
		case <-leaving: // the one witness hears of both in their order
			select {
			case <-worker:
				inOrder <- true
			default:
				inOrder <- false
			}
		}
	}()
	m.Close()
	if !await.Signal(t, "its nodes go", inOrder) {
		t.Error("a worker that leaves was there without its mark")
	}
	for _, path := range nodes {
		if there(t, conn, path) {
			t.Errorf("%s is still there", path)
		}
	}
	select {
	case <-m.Lost():
		t.Error("closed, and lost")
	default:
	}
	if m.Err() != nil || m.Until().After(time.Now()) {
		t.Errorf("%v, until %v", m.Err(), m.Until())
	}
}

// Close outlasts a short outage: otherwise everybody would wait for the timeout.
func TestCloseDuringAnOutage(t *testing.T) {
	t.Parallel()
	m, proxy, witness := behind(t, long, Stop)
	proxy.Cut()
	go m.Close()
	await.Signal(t, "it closes", m.ctx.Done())
	time.AfterFunc(2500*time.Millisecond, proxy.Mend) // the library's patience is one second
	awaitGone(t, witness, m.tree.worker(m.ID()))
	m.Close()
}

func TestAbandon(t *testing.T) {
	t.Parallel()
	cfg, conn := shared(t)
	cfg.SessionTimeout = 10 * time.Second
	m := join(t, New(cfg), worker())
	m.Abandon()
	path := m.tree.worker(m.ID())
	if !there(t, conn, path) {
		t.Error("it is gone already")
	}
	m.Close() // too late to take anything back
	if !there(t, conn, path) {
		t.Error("Close has ended what was abandoned")
	}
	awaitGone(t, conn, path)
	if m.Err() != nil {
		t.Error(m.Err())
	}
}

func TestHold(t *testing.T) {
	t.Parallel()
	cfg, conn := shared(t)
	m := unhurried(t, New(cfg), worker()) // a beat would write, too
	path := m.tree.owned(m.ID())
	begun := time.Now()
	m.Show("orders", []int{7, 12, 0, 1, 2})
	m.Show("price", nil)
	want := map[string]string{"orders": "0-2,7,12", "price": ""}
	await.Nil(t, "it is written down", func() error {
		n := read[ownedNode](t, conn, path)
		if !maps.Equal(n.Topics, want) {
			return errors.New("not yet")
		}
		if since := time.UnixMilli(n.Since); since.Before(begun.Truncate(time.Millisecond)) || since.After(time.Now()) {
			t.Errorf("since %v", since)
		}
		return nil
	})
	m.Show("orders", []int{0, 1, 2, 7, 12}) // nothing new

	// Many changes are few writes.
	const changes = 100
	_, before, err := conn.Get(path)
	if err != nil {
		t.Fatal(err)
	}
	begun = time.Now()
	for i := range changes {
		m.Show("orders", []int{i})
		if _, _, err := m.session.exists(await.Context(t), path); err != nil {
			t.Fatal(err)
		}
	}
	took := time.Since(begun)
	await.Nil(t, "the last of them is written down", func() error {
		if n := read[ownedNode](t, conn, path); n.Topics["orders"] != strconv.Itoa(changes-1) {
			return errors.New("not yet")
		}
		return nil
	})
	_, after, err := conn.Get(path)
	if writes := int(after.Version - before.Version); err != nil || writes > 1+int(took/debounce) {
		t.Errorf("%d writes in %v, %v", writes, took, err)
	}
}

func TestFollow(t *testing.T) {
	t.Parallel()
	cfg, conn := shared(t)
	reign(t, conn, cfg.Root)
	core, logs := observer.New(zap.ErrorLevel)
	got := newTold()
	w := worker(orders, Topic{Name: "price", Kind: "priority", Slots: 4})
	w.Own, w.Logger = got.own, zap.New(core)
	k := New(cfg)
	m := join(t, k, w)
	m2 := join(t, k, worker())

	assignTo(t, conn, m.tree, 1, m.ID())
	got.await(t, "orders", allSlots())
	assignTo(t, conn, m.tree, 2, m2.ID())
	got.await(t, "orders", nil)
	assignTo(t, conn, m.tree, 3, m.ID())
	got.await(t, "orders", allSlots())

	// What cannot be used changes nothing, and is told once.
	for _, spoilt := range []string{`{"v":2}`, `nonsense`, `{"v":1,"gen":4,"workers":[],"map":"//8="}`} {
		put(t, conn, m.tree.assign("orders"), spoilt)
		await.Nil(t, "an error", func() error {
			if logs.FilterField(zap.String("topic", "orders")).Len() == 0 {
				return errors.New("not yet")
			}
			return nil
		})
		logs.TakeAll()
	}
	if err := conn.Delete(m.tree.assign("orders"), -1); err != nil {
		t.Fatal(err)
	}
	assignTo(t, conn, m.tree, 5, m2.ID())
	got.await(t, "orders", nil)

	// Who joins is told before Join returns.
	assignTo(t, conn, m.tree, 6, "nobody here")
	first := newTold()
	w.Own = first.own
	join(t, k, w)
	if len(first.change) != 1 || len(first.slots) != 1 {
		t.Errorf("told %v", first.slots)
	}
	first.await(t, "orders", nil)
	if _, known := got.slots["price"]; known {
		t.Error("told of a topic without an assignment")
	}
}

// What a watch has missed is found, and no watch is left behind each time.
func TestRecheck(t *testing.T) {
	t.Parallel()
	srv := servertest.SharedZooKeeper(t)
	conn := srv.Client(t, long)
	core, logs := observer.New(zap.ErrorLevel)
	root := srv.Chroot(t)
	reign(t, conn, root)
	k := New(config(root, long, srv.Servers()...))
	k.recheck = 20 * time.Millisecond
	got := newTold()
	w := worker()
	w.Own, w.Logger = got.own, zap.New(core)
	m := join(t, k, w)
	assignTo(t, conn, m.tree, 1, m.ID())
	got.await(t, "orders", allSlots())

	definition := m.tree.topic("orders")
	good, _, err := conn.Get(definition)
	if err != nil {
		t.Fatal(err)
	}
	put(t, conn, definition, `{"kind":"priority","slots":16,"sharing":"zookeeper","layout":1}`)
	got.await(t, "orders", nil)
	put(t, conn, definition, string(good))
	got.await(t, "orders", allSlots())
	if n := logs.FilterMessage("topic is not worked at").Len(); n != 1 {
		t.Errorf("told %d times that the topic is not worked at", n)
	}
	meta, _, err := conn.Get(m.tree.meta())
	if err != nil {
		t.Fatal(err)
	}
	for _, other := range []string{
		strings.Replace(string(meta), `"layout":1`, `"layout":2`, 1),
		strings.Replace(string(meta), m.Tree(), "OTHER", 1), // somebody has made everything anew
	} {
		put(t, conn, m.tree.meta(), other)
		got.await(t, "orders", nil)
		put(t, conn, m.tree.meta(), string(meta))
		got.await(t, "orders", allSlots())
	}
	if err := conn.Delete(definition, -1); err != nil {
		t.Fatal(err)
	}
	await.Nil(t, "the definition is written again", func() error {
		if data, _, _ := conn.Get(definition); string(data) != string(good) {
			return errors.New("not yet")
		}
		return nil
	})
	lives(t, m)
}

// A watch may miss an event: when the connection breaks at the wrong moment, for example.
func TestMissedEvent(t *testing.T) {
	t.Parallel()
	for how, recheck := range map[string]time.Duration{"after a while": time.Second, "with the connection": time.Hour} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			srv := servertest.SharedZooKeeper(t)
			proxy := servertest.NewProxy(t, srv.Addr())
			conn := srv.Client(t, long)
			k := New(config(srv.Chroot(t), long, proxy.Addr()))
			k.recheck = recheck
			s, err := open(await.Context(t), k.cfg)
			if err != nil {
				t.Fatal(err)
			}
			defer s.close()
			got := newTold()
			w := worker()
			w.Own = got.own
			m := newMember(k, w, s)
			if err := m.register(await.Context(t)); err != nil {
				t.Fatal(err)
			}
			read := make(chan struct{})
			m.running.Go(func() { m.follow(orders, sync.OnceFunc(func() { close(read) })) })
			defer m.running.Wait()
			defer m.stop()
			await.Signal(t, "the assignment is read", read)

			proxy.DropReplies(true)
			assignTo(t, conn, m.tree, 1, m.ID())
			ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
			defer cancel()
			if _, _, err := s.exists(ctx, "/"); err == nil { // whose answer would come after the event
				t.Fatal("an answer came through")
			}
			proxy.DropReplies(false)
			if how == "with the connection" {
				s.onEvent(zk.Event{Type: zk.EventSession, State: zk.StateHasSession})
			}
			got.await(t, "orders", allSlots())
		})
	}
}
