package keeper

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/night"
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
	srv := patient(t)
	conn := srv.Client(t, long)
	m := unhurried(t, srv.Addr()) // a beat would write, too
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
		if _, _, err := m.session.Exists(await.Context(t), path); err != nil {
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

	// An assignment that cannot be used changes nothing, and is logged once.
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

	// A new member gets its slots before Join returns.
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
	missed := func(t *testing.T, recheck time.Duration, miss func(m *Member, proxy *servertest.Proxy, assign func())) {
		t.Parallel()
		srv := servertest.SharedZooKeeper(t)
		proxy, conn := servertest.NewProxy(t, srv.Addr()), srv.Client(t, long)
		k := New(config(srv.Chroot(t), long, proxy.Addr()))
		k.recheck = recheck
		reign(t, conn, k.cfg.Root)
		got := newTold()
		w := worker()
		w.Own = got.own
		m := join(t, k, w)
		miss(m, proxy, func() { assignTo(t, conn, m.tree, 1, m.ID()) })
		got.await(t, "orders", allSlots())
	}
	t.Run("after a while", func(t *testing.T) {
		missed(t, time.Second, func(m *Member, proxy *servertest.Proxy, assign func()) {
			proxy.DropReplies(true)
			assign()
			ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
			defer cancel()
			if _, _, err := m.session.Exists(ctx, "/"); err == nil { // whose answer would come after the event
				t.Fatal("an answer came through")
			}
			proxy.DropReplies(false)
		})
	})
	t.Run("with the connection", func(t *testing.T) {
		missed(t, time.Hour, func(_ *Member, proxy *servertest.Proxy, assign func()) {
			proxy.OnRequest(func(b []byte) bool { return !asks(b, opSetWatches) }) // so the server does not say
			proxy.Cut()
			assign()
			proxy.Mend()
		})
	})
}

// A session that was ended by force is noticed, and the next one is somebody else.
func TestExpired(t *testing.T) {
	t.Parallel()
	for _, onOutage := range []uint8{Stop, Coast} {
		srv := servertest.SharedZooKeeper(t)
		cfg := config(srv.Chroot(t), long, srv.Servers()...)
		cfg.OnOutage = onOutage
		k := New(cfg)
		m := join(t, k, worker())
		srv.ExpireSession(t, m.session.ID())
		await.Signal(t, "lost", m.Lost())
		wantError(t, m.Err(), "ZooKeeper has ended the session")
		if until := m.Until(); until.IsZero() || until.After(time.Now()) {
			t.Errorf("work may be begun until %v", until)
		}
		wantError(t, m.Leaving(await.Context(t)), "ZooKeeper has ended the session") // it is not used
		next := join(t, k, worker())
		if next.ID() == m.ID() || next.session.ID() == m.session.ID() {
			t.Errorf("%s comes after %s", next.ID(), m.ID())
		}
		m.Close()
		lives(t, next)
	}
}

func TestNodeDeletedByAnOperator(t *testing.T) {
	t.Parallel()
	srv := patient(t)
	conn := srv.Client(t, long)
	m := unhurried(t, srv.Addr())
	path := m.tree.worker(m.ID())
	must.Do(t, conn.Delete(path, -1))
	await.Signal(t, "lost", m.Lost()) // a watch fired: by itself it would look in seven minutes
	wantError(t, m.Err(), path+" was deleted")
	if until := m.Until(); until.After(time.Now()) {
		t.Errorf("work may be begun until %v", until)
	}

	m = unhurried(t, srv.Addr())
	path = m.tree.worker(m.ID())
	_, err := conn.Multi(&zk.DeleteRequest{Path: path, Version: -1},
		&zk.CreateRequest{Path: path, Acl: zk.WorldACL(zk.PermAll), Flags: zk.FlagEphemeral})
	if err != nil {
		t.Fatal(err)
	}
	await.Signal(t, "lost", m.Lost())
	wantError(t, m.Err(), path+" was replaced")
}

// An outage shorter than the session costs nothing, and what came during it is read.
func TestShortOutage(t *testing.T) {
	t.Parallel()
	srv := servertest.ZooKeeper(t)
	root, witness := srv.Chroot(t), srv.Client(t, long)
	reign(t, witness, root)
	k := New(config(root, time.Minute, srv.Addr())) // that is short beside a restart on a busy machine
	got := newTold()
	w := worker()
	w.Own = got.own
	m := join(t, k, w)
	id := m.session.ID()
	srv.Kill()
	srv.Restart(t)
	confirms(t, m)
	assignTo(t, srv.Client(t, long), m.tree, 1, m.ID()) // the witness need not be back
	got.await(t, "orders", allSlots())
	if m.session.ID() != id || m.Err() != nil {
		t.Errorf("session %d, was %d: %v", m.session.ID(), id, m.Err())
	}
	for range night.Times(1, 3) { // nothing is left over of the first connection
		srv.Stop()
		srv.Restart(t)
		confirms(t, m)
	}
}

func TestAssignmentIsReadAgainAfterAnOutage(t *testing.T) {
	t.Parallel()
	srv := servertest.SharedZooKeeper(t)
	proxy := servertest.NewProxy(t, srv.Addr())
	root, witness := srv.Chroot(t), srv.Client(t, long)
	reign(t, witness, root)
	got := newTold()
	w := worker()
	w.Own = got.own
	m := join(t, New(config(root, long, proxy.Addr())), w)
	proxy.Cut()
	assignTo(t, witness, m.tree, 1, m.ID())
	proxy.Mend()
	got.await(t, "orders", allSlots())
	proxy.Cut()
	assignTo(t, witness, m.tree, 2, "another")
	proxy.Mend()
	got.await(t, "orders", nil)
	lives(t, m)
}

// Closing must not wait for a server that is away.
func TestCloseWithoutAServer(t *testing.T) {
	t.Parallel()
	m, proxy, _ := behind(t, 6*time.Second, Stop)
	proxy.Freeze()
	closed := make(chan struct{})
	go func() {
		m.Close()
		close(closed)
	}()
	await.Signal(t, "closed", closed)
	if m.Err() != nil {
		t.Error(m.Err())
	}
	proxy.Thaw()
}

// What a worker writes to may be closed to it, by a person or by a tool: then it lives all
// the same, proves others dead, and says so once.
func TestOwnedMayNotBeWritten(t *testing.T) {
	t.Parallel()
	srv := servertest.SharedZooKeeper(t)
	proxy, conn := servertest.NewProxy(t, srv.Addr()), srv.Client(t, long)
	cfg := config(srv.Chroot(t), 12*time.Second, proxy.Addr())
	k := New(cfg)
	core, logs := observer.New(zap.WarnLevel)
	talks := worker()
	talks.Logger = zap.New(core)
	m, closed := join(t, k, talks), join(t, k, worker())
	path := m.tree.owned(m.ID())
	tries := make(chan struct{}, 1000)
	proxy.OnRequest(func(b []byte) bool {
		if slices.Contains(requests(b), request{opSet, path}) {
			tries <- struct{}{}
		}
		return true
	})
	if _, err := conn.SetACL(path, zk.WorldACL(zk.PermRead), -1); err != nil {
		t.Fatal(err)
	}
	if _, err := m.pulse.Write(await.Context(t)); !errors.Is(err, zk.ErrNoAuth) {
		t.Fatalf("it may be written: %v", err)
	}
	until := m.Until()
	closed.Close()
	verify(t, m, closed.ID(), true)
	said := func() int {
		return logs.FilterMessage("people cannot see what the worker holds: its node may not be written").Len()
	}
	m.Show("orders", []int{1})
	await.Nil(t, "it is said", func() error {
		if said() == 0 {
			return errors.New("not yet")
		}
		return nil
	})
	m.Show("orders", []int{2})
	for len(tries) > 0 {
		<-tries
	}
	for range 3 { // of what it holds now, too, and of its beats
		await.Signal(t, "it tries to write", tries)
	}
	confirms(t, m)
	await.True(t, "what is refused is a sign of life", func() bool { return m.Until().After(until) })
	if n := said(); n != 1 {
		t.Errorf("it is said %d times", n)
	}
}

// Servers that were set back to older data refuse a client that has seen newer, but
// not a new one.
func TestWedged(t *testing.T) {
	t.Parallel()
	for _, onOutage := range []uint8{Stop, Coast} {
		m, proxy, _ := behind(t, 3*time.Second, onOutage)
		number := binary.BigEndian.AppendUint64(nil, uint64(m.session.ID()))
		proxy.OnRequest(func(b []byte) bool { return !bytes.Contains(b, number) })
		proxy.Cut()
		proxy.Mend()
		await.Signal(t, "lost", m.Lost())
		wantError(t, m.Err(), "ZooKeeper answers, but not on this session's connection")
	}
}

// A worker that coasts begins work and goes on without end, while its session lives.
func TestCoast(t *testing.T) {
	t.Parallel()
	m, _, _ := behind(t, long, Coast)
	if !m.Until().IsZero() || !m.Deadline().IsZero() {
		t.Errorf("it has until %v, and a deadline at %v", m.Until(), m.Deadline())
	}
	stops, _, _ := behind(t, long, Stop)
	if until, deadline := stops.Until(), stops.Deadline(); until.IsZero() || !until.Before(deadline) {
		t.Errorf("one that stops has until %v, and a deadline at %v", until, deadline)
	}
	m.Close()
	if until := m.Until(); until.IsZero() || until.After(time.Now()) {
		t.Errorf("closed, it has until %v", until)
	}
}
