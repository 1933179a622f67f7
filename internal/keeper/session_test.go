package keeper

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/night"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
)

// behind is a member behind a proxy, on a server that is shared, and a witness.
func behind(t *testing.T, timeout time.Duration, onOutage uint8) (*Member, *servertest.Proxy, *zk.Conn) {
	t.Helper()
	srv := servertest.SharedZooKeeper(t)
	proxy := servertest.NewProxy(t, srv.Addr())
	cfg := config(srv.Chroot(t), timeout, proxy.Addr())
	cfg.OnOutage = onOutage
	return join(t, New(cfg), worker()), proxy, srv.Client(t, long)
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
		srv.ExpireSession(t, m.session.id())
		await.Signal(t, "lost", m.Lost())
		if !errors.Is(m.Err(), errExpired) {
			t.Error(m.Err())
		}
		if until := m.Until(); until.IsZero() || until.After(time.Now()) {
			t.Errorf("work may be begun until %v", until)
		}
		if err := m.Leaving(await.Context(t)); !errors.Is(err, errExpired) {
			t.Errorf("a lost session is used: %v", err)
		}
		next := join(t, k, worker())
		if next.ID() == m.ID() || next.session.id() == m.session.id() {
			t.Errorf("%s comes after %s", next.ID(), m.ID())
		}
		m.Close()
		lives(t, next)
	}
}

// The library would go on with a new session after the old one has expired, and carry
// out in it what was asked before.
func TestNoSecondSessionOnAConnection(t *testing.T) {
	t.Parallel()
	srv := servertest.SharedZooKeeper(t)
	proxy := servertest.NewProxy(t, srv.Addr())
	witness := srv.Client(t, long)
	cfg := config(srv.Chroot(t), long, proxy.Addr())
	m := join(t, New(cfg), worker())
	path := m.tree.coordinator() + "-of-a-test"

	proxy.Cut()
	var claiming sync.WaitGroup
	claiming.Go(func() {
		for m.session.ctx.Err() == nil {
			if mine, err := m.session.claim(m.ctx, path, nil); mine || err == nil {
				t.Errorf("claimed: %v, %v", mine, err)
			}
		}
	})
	srv.ExpireSession(t, m.session.id())
	proxy.Mend()
	await.Signal(t, "lost", m.Lost())
	claiming.Wait()
	m.Close()
	if there(t, witness, path) {
		t.Error("it was carried out by another session")
	}
}

func TestReplacedSession(t *testing.T) {
	t.Parallel()
	lost := make(chan struct{})
	s := &session{lost: lost, dialer: newDialer(Config{}, nil)}
	s.ctx, s.end = context.WithCancelCause(context.Background())
	if err := s.welcomed(time.Now(), time.Second, 7); err != nil || s.id() != 7 || s.timeout() != time.Second {
		t.Fatal(err)
	}
	if err := s.welcomed(time.Now(), 2*time.Second, 7); err != nil || s.timeout() != 2*time.Second {
		t.Fatal(err)
	}
	if err := s.welcomed(time.Now(), time.Second, 8); !errors.Is(err, errReplaced) {
		t.Error(err)
	}
	await.Signal(t, "lost", lost)
	if s.id() != 7 {
		t.Errorf("the session is %d now", s.id())
	}
}

func TestNodeDeletedByAnOperator(t *testing.T) {
	t.Parallel()
	cfg, conn := shared(t)
	m := unhurried(t, New(cfg), worker())
	path := m.tree.worker(m.ID())
	must.Do(t, conn.Delete(path, -1))
	await.Signal(t, "lost", m.Lost()) // it was told: it would look by itself in three hours
	wantError(t, m.Err(), path+" was deleted")
	if until := m.Until(); until.After(time.Now()) {
		t.Errorf("work may be begun until %v", until)
	}

	m = unhurried(t, New(cfg), worker())
	path = m.tree.worker(m.ID())
	_, err := conn.Multi(&zk.DeleteRequest{Path: path, Version: -1},
		&zk.CreateRequest{Path: path, Acl: zk.WorldACL(zk.PermAll), Flags: zk.FlagEphemeral})
	if err != nil {
		t.Fatal(err)
	}
	await.Signal(t, "lost", m.Lost())
	wantError(t, m.Err(), path+" was replaced")
}

// Cut off from ZooKeeper, a worker first begins nothing any more, then nothing of it may run, and
// only then others can prove it dead. It learns that when it is back.
func TestDeadline(t *testing.T) {
	t.Parallel()
	const timeout = 8 * time.Second
	m, proxy, witness := behind(t, timeout, Stop)
	confirms(t, m)
	proxy.Freeze()

	path := m.tree.worker(m.ID())
	gone, _, changed, err := witness.ExistsW(path)
	if err != nil || !gone {
		t.Fatal(err)
	}
	await.Signal(t, "others can prove it dead", changed)
	// When it died the server does not tell, but what time it was soon after.
	stat, err := witness.Set(m.tree.owners(), nil, -1)
	must.Do(t, err)
	dead := time.UnixMilli(stat.Mtime)
	lives(t, m) // it cannot know
	if until, deadline := m.Until(), m.Deadline(); !until.Before(deadline) || !deadline.Before(dead) {
		t.Errorf("it may begin until %v and must end %v before it is dead", until.Sub(dead), dead.Sub(deadline))
	}
	if left := m.session.confirmed().Add(timeout).Sub(dead); left > time.Millisecond { // the server counts those
		t.Errorf("dead %v before the session could end", left)
	}
	wantError(t, m.Silence(), "ZooKeeper was not heard for", "of a session of 8s", proxy.Addr())
	proxy.Thaw()
	await.Signal(t, "lost", m.Lost())
	if !errors.Is(m.Err(), errExpired) {
		t.Error(m.Err())
	}
	m.Abandon()
	if there(t, witness, path) {
		t.Error("it has another node")
	}
}

func TestUntilComesBeforeTheDeadline(t *testing.T) {
	t.Parallel()
	begun := time.Now()
	for timeout, margin := range map[time.Duration]time.Duration{
		time.Second: 250 * time.Millisecond, 3 * time.Second: 500 * time.Millisecond, 10 * time.Second: time.Second, time.Minute: 6 * time.Second,
	} {
		s := &session{granted: timeout, alive: begun}
		m := &Member{session: s, keeper: New(Config{}), ctx: context.Background()}
		if got := m.Deadline().Sub(begun); got != timeout-margin {
			t.Errorf("timeout %v: deadline after %v", timeout, got)
		}
		if left := timeout*2/3 - timeout/beats - s.answerTimeout(); left < timeout/6 {
			t.Errorf("timeout %v: %v are left for another connection when one has not answered", timeout, left)
		}
		if got := m.Until().Sub(begun); got != timeout*2/3 || !m.Until().Before(m.Deadline()) {
			t.Errorf("timeout %v: until %v", timeout, got)
		}
		if coasts := (&Member{session: s, keeper: New(Config{OnOutage: Coast}), ctx: context.Background()}); !coasts.Until().IsZero() || !coasts.Deadline().IsZero() {
			t.Errorf("a worker that coasts has until %v, and a deadline at %v", coasts.Until(), coasts.Deadline())
		}
		s.confirm(begun.Add(-time.Second)) // an answer that was long under way
		if !s.confirmed().Equal(begun) {
			t.Error("it went back")
		}
	}
}

// A server that the others have lost answers reads for a while, and a leader in that place
// answers to a sync, although the session may be ended meanwhile: they are no sign of life.
func TestReadsAreNoSignOfLife(t *testing.T) {
	t.Parallel()
	cfg, _ := shared(t)
	cfg.SessionTimeout = time.Second
	k := New(cfg)
	s, err := open(await.Context(t), k.cfg)
	if err != nil {
		t.Fatal(err)
	}
	m := newMember(k, worker(), s)
	defer m.Abandon()
	m.running.Go(func() { // and no heart beats
		for s.ctx.Err() == nil {
			s.exists(context.Background(), cfg.Root)
			s.sync(context.Background(), cfg.Root)
		}
	})
	await.True(t, "the deadline comes", func() bool { return time.Now().After(m.Deadline()) })
}

// An outage shorter than the session costs nothing, and what came meanwhile is read.
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
	id := m.session.id()
	srv.Kill()
	srv.Restart(t)
	confirms(t, m)
	assignTo(t, srv.Client(t, long), m.tree, 1, m.ID()) // the witness need not be back
	got.await(t, "orders", allSlots())
	if m.session.id() != id || m.Err() != nil {
		t.Errorf("session %d, was %d: %v", m.session.id(), id, m.Err())
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

// An answer that comes before the watches are set again does not hide from them what
// has happened meanwhile.
func TestWatchesMissNothing(t *testing.T) {
	t.Parallel()
	srv := servertest.SharedZooKeeper(t)
	proxy := servertest.NewProxy(t, srv.Addr())
	witness := srv.Client(t, long)
	root := srv.Chroot(t)
	s := openHere(t, root, proxy.Addr())
	for i := range 5 {
		path := root + "/" + strconv.Itoa(i)
		there, _, watch, err := s.existsW(await.Context(t), path)
		if there || err != nil {
			t.Fatalf("%v, %v", there, err)
		}
		proxy.Cut()
		put(t, witness, path, "")
		var asking sync.WaitGroup
		asking.Go(func() {
			insist(await.Context(t), func() error {
				_, _, err := s.exists(await.Context(t), root)
				return err
			})
		})
		proxy.Mend()
		asking.Wait()
		await.Signal(t, "the watch of what came", watch)
	}
}

// A welcome that does not come must not hold the library up for 6.7 session timeouts.
func TestMuteWelcome(t *testing.T) {
	t.Parallel()
	srv := servertest.SharedZooKeeper(t)
	proxy := servertest.NewProxy(t, srv.Addr())
	s, err := open(await.Context(t), New(config("/", 15*time.Second, proxy.Addr())).cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	back, stop := s.reconnected()
	defer stop()
	number := binary.BigEndian.AppendUint64(nil, uint64(s.id()))
	var swallowed atomic.Bool
	proxy.OnRequest(func(b []byte) bool {
		return !bytes.Contains(b, number) || swallowed.Swap(true)
	})
	proxy.Cut()
	proxy.Mend()
	await.Signal(t, "it is back", back)
	if !swallowed.Load() {
		t.Error("its first try was answered")
	}
}

// A connection that died without a word is left when a request has no answer, long
// before the library would. So there is time for another one: TestUntilComesBeforeTheDeadline.
func TestWedgedConnectionIsLeft(t *testing.T) {
	t.Parallel()
	srv := servertest.SharedZooKeeper(t)
	proxy := servertest.NewProxy(t, srv.Addr())
	cfg := config(srv.Chroot(t), time.Minute, "zookeeper:2181")
	died := make(chan error, 1)
	var dials atomic.Int32
	cfg.Dialer = func(ctx context.Context, network, _ string) (net.Conn, error) {
		if dials.Add(1) > 1 {
			return new(net.Dialer).DialContext(ctx, network, srv.Addr())
		}
		conn, err := new(net.Dialer).DialContext(ctx, network, proxy.Addr())
		return &mortal{Conn: conn, died: died}, err
	}
	k := New(cfg)
	s, err := open(await.Context(t), k.cfg)
	must.Do(t, err)
	m := newMember(k, worker(), s)
	t.Cleanup(m.Abandon)
	must.Do(t, m.register(await.Context(t)))
	s.mu.Lock()
	s.granted = 1500 * time.Millisecond // so it waits for half a second, and the library for 40
	s.mu.Unlock()
	m.running.Go(m.beat) // and nobody looks at the deadline
	confirms(t, m)
	proxy.Freeze()
	frozen := time.Now()
	await.True(t, "another connection", func() bool {
		lives(t, m)
		return s.confirmed().After(frozen)
	})
	if err := await.Signal(t, "the end of the first connection", died); !errors.Is(err, net.ErrClosed) {
		t.Errorf("it ended by itself, or by the library: %v", err)
	}
	proxy.Thaw()
}

// mortal tells how it ended.
type mortal struct {
	net.Conn
	died chan error
}

func (m *mortal) Read(p []byte) (int, error) {
	n, err := m.Conn.Read(p)
	if err != nil {
		select {
		case m.died <- err:
		default:
		}
	}
	return n, err
}

// When the password cannot be written on a new connection, the library waits for
// ever for somebody to hear of that.
func TestPasswordThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	srv := servertest.SharedZooKeeper(t)
	proxy := servertest.NewProxy(t, srv.Addr())
	cfg := config(srv.Chroot(t)+"/rmq", long, proxy.Addr())
	cfg.Auth = "rmq:secret"
	var dials atomic.Int32
	cfg.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, addr)
		if dials.Add(1) == 2 {
			return &failing{Conn: conn}, err
		}
		return conn, err
	}
	m := join(t, New(cfg), worker())
	proxy.Cut()
	proxy.Mend()
	confirms(t, m)
	if dials.Load() < 3 {
		t.Errorf("%d dials; the failing one was not used", dials.Load())
	}
	if err := m.Leaving(await.Context(t)); err != nil {
		t.Errorf("the password was not said again: %v", err)
	}
}

// failing fails each write but the first.
type failing struct {
	net.Conn
	writes int
}

func (f *failing) Write(p []byte) (int, error) {
	if f.writes++; f.writes > 1 {
		return 0, errors.New("cannot write")
	}
	return f.Conn.Write(p)
}

// A session outlives an outage that is longer than its timeout: ZooKeeper begins to count again when
// it is back. How long a server that starts then needs for the worker is the machine's business. So by
// day it has a minute, and only the worker takes it for 15 s.
func TestOutageLongerThanTheSession(t *testing.T) {
	t.Parallel()
	for what, onOutage := range map[string]uint8{"stop": Stop, "coast": Coast} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			outlive(t, onOutage)
		})
	}
}

func outlive(t *testing.T, onOutage uint8) {
	const timeout = 15 * time.Second
	srv := servertest.ZooKeeper(t)
	cfg := config("/rmq", time.Minute, srv.Addr())
	if night.Is() {
		cfg.SessionTimeout = timeout
	}
	cfg.OnOutage = onOutage
	k := New(cfg)
	s, err := open(await.Context(t), k.cfg)
	if err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	s.granted = timeout // until it is back
	s.mu.Unlock()
	m := newMember(k, worker(), s)
	t.Cleanup(m.Abandon)
	if err := insist(await.Context(t), func() error { return m.register(await.Context(t)) }); err != nil {
		t.Fatal(err)
	}
	if err := m.start(await.Context(t)); err != nil {
		t.Fatal(err)
	}
	id := s.id()
	srv.Kill()
	await.True(t, "it is away for two session timeouts", func() bool {
		lives(t, m)
		return time.Since(m.session.confirmed()) >= 2*timeout
	})
	if now := time.Now(); onOutage == Stop && (m.Until().After(now) || m.Deadline().After(now)) {
		t.Errorf("in the silence work may be begun until %v, and go on until %v", m.Until(), m.Deadline())
	}
	if dead, err := m.Verify(await.Context(t), "x"); dead || err == nil {
		t.Errorf("dead by the word of nobody: %v, %v", dead, err)
	}
	srv.Restart(t)
	confirms(t, m)
	if m.session.id() != id || !there(t, srv.Client(t, long), m.tree.worker(m.ID())) {
		t.Error("another session")
	}
	if now := time.Now(); onOutage == Stop && (m.Until().Before(now) || m.Deadline().Before(now)) {
		t.Errorf("afterwards work may be begun until %v, and go on until %v", m.Until(), m.Deadline())
	}
}

// This worker alone is cut off: its session expires, which it learns when it is back.
func TestExpiresWhileItIsCutOff(t *testing.T) {
	t.Parallel()
	m, proxy, witness := behind(t, long, Coast)
	proxy.Freeze()
	servertest.SharedZooKeeper(t).ExpireSession(t, m.session.id())
	awaitGone(t, witness, m.tree.worker(m.ID()))
	lives(t, m)
	proxy.Thaw()
	await.Signal(t, "lost", m.Lost())
	if !errors.Is(m.Err(), errExpired) {
		t.Error(m.Err())
	}
}

// Servers that were set back to older data refuse a client that has seen newer, but
// not a new one.
func TestWedged(t *testing.T) {
	t.Parallel()
	for _, onOutage := range []uint8{Stop, Coast} {
		m, proxy, _ := behind(t, 3*time.Second, onOutage)
		number := binary.BigEndian.AppendUint64(nil, uint64(m.session.id()))
		proxy.OnRequest(func(b []byte) bool { return !bytes.Contains(b, number) })
		proxy.Cut()
		proxy.Mend()
		await.Signal(t, "lost", m.Lost())
		if !errors.Is(m.Err(), errWedged) {
			t.Error(m.Err())
		}
	}
}

// The session has outlived a silence, and meanwhile an operator may have deleted the worker's node, so that
// others take it for dead. So nothing is begun before the node was seen.
func TestNothingBeginsBeforeTheNodeIsSeen(t *testing.T) {
	t.Parallel()
	cfg, conn := shared(t)
	m := unhurried(t, New(cfg), worker())
	await.True(t, "its first look has found it", func() bool { return m.found.Load() != nil })
	var touched <-chan zk.Event
	before := time.Now()
	must.Do(t, m.checkNode(&touched))
	found := *m.found.Load()
	if found.Before(before) {
		t.Errorf("it was found %v before it was looked for", before.Sub(found))
	}
	m.session.mu.Lock()
	m.session.alive = found.Add(time.Second) // a write is answered, and the node not looked for yet
	m.session.mu.Unlock()
	if begins := found.Add(m.Timeout() * 2 / 3); !m.Until().Equal(begins) {
		t.Errorf("work may be begun %v too long", m.Until().Sub(begins))
	}
	m.session.mu.Lock()
	m.session.alive = found.Add(-time.Second) // and the other way round
	m.session.mu.Unlock()
	if begins := found.Add(m.Timeout()*2/3 - time.Second); !m.Until().Equal(begins) {
		t.Errorf("work may be begun %v too long", m.Until().Sub(begins))
	}
	must.Do(t, conn.Delete(m.tree.worker(m.ID()), -1))
	m.checkNode(&touched)
	if again := *m.found.Load(); !again.Equal(found) {
		t.Error("what is gone was found")
	}
}

// When ZooKeeper is back, another session may be opened a little earlier than ours is
// found again.
func TestASessionIsGivenTime(t *testing.T) {
	t.Parallel()
	cfg, _ := shared(t)
	cfg.SessionTimeout, cfg.OnOutage = 10*time.Second, Coast
	m := join(t, New(cfg), worker())
	m.session.mu.Lock()
	m.session.alive = time.Now().Add(-time.Hour)
	m.session.mu.Unlock()
	if _, why := m.wedged(); why != nil {
		t.Error(why)
	}
}

// Whatever happens at its end, a lost session does not say goodbye: its handlers may
// still run.
func TestLostSessionIsLeftToItsTimeout(t *testing.T) {
	t.Parallel()
	cfg, conn := shared(t)
	m := join(t, New(cfg), worker())
	m.session.lose(errors.New("a test says so"))
	m.Close()
	if !there(t, conn, m.tree.worker(m.ID())) {
		t.Error("it is gone already")
	}
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
