package keeper

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
)

func TestJoinRegisters(t *testing.T) {
	t.Parallel()
	cfg, conn := shared(t)
	root := cfg.Root
	cfg.Root, cfg.Weight = root+"/rmq", 2
	k := New(cfg)
	w := worker(orders, Topic{Name: "price/1", Kind: "priority", Slots: 4, Literal: true}, Topic{Name: "mails", Kind: "priority", Slots: 4, Notes: true})
	w.Namespace = "ns"
	m := join(t, k, w)

	tr := newTree(cfg.Root, "ns")
	if got := read[layoutNode](t, conn, tr.meta()); got.Layout != layout {
		t.Errorf("%+v", got)
	}
	if got, want := read[topicNode](t, conn, tr.topic("price/1")), (topicNode{Kind: "priority", Slots: 4, Literal: true, Sharing: "zookeeper", Layout: layout}); got != want {
		t.Errorf("%+v", got)
	}
	if got := read[topicNode](t, conn, tr.topic("mails")); !got.Notes || got.Layout != layout {
		t.Errorf("with notes: %+v", got)
	}
	got := read[workerNode](t, conn, tr.worker(m.ID()))
	if got.Topics["orders"] != 2 || got.Topics["price/1"] != 2 || got.PID == 0 || got.Host == "" {
		t.Errorf("%+v", got)
	}
	for _, path := range []string{tr.worker(m.ID()), tr.owned(m.ID())} {
		if there, stat, err := conn.Exists(path); !there || stat.EphemeralOwner != m.session.ID() || err != nil {
			t.Errorf("%s: %v, %v", path, there, err)
		}
	}
	if m.Until().IsZero() || time.Until(m.Until()) > long*2/3 {
		t.Errorf("until %v", m.Until())
	}
}

func TestIDsAreNeverUsedAgain(t *testing.T) {
	t.Parallel()
	cfg, _ := shared(t)
	k := New(cfg)
	var ids []string
	for range 3 {
		m := join(t, k, worker())
		ids = append(ids, m.ID())
		m.Close()
		m.Close()
		ids = append(ids, join(t, k, worker()).ID())
	}
	slices.Sort(ids)
	if len(slices.Compact(ids)) != 6 {
		t.Errorf("%q", ids)
	}
	// Also of one session the id could not be guessed.
	s := opened(t, cfg)
	if one, other := newMember(k, worker(), s), newMember(k, worker(), s); one.id == other.id {
		t.Errorf("twice %s", one.id)
	}
}

func TestConflicts(t *testing.T) {
	t.Parallel()
	cfg, conn := shared(t)
	k := New(cfg)
	join(t, k, worker())
	tr := newTree(cfg.Root, "")

	refused := func(what string, topic Topic, words ...string) {
		t.Helper()
		_, err := k.Join(await.Context(t), worker(Topic{Name: "others", Kind: "priority", Slots: 4}, topic))
		if !errors.Is(err, ErrConflict) {
			t.Fatalf("%s: %v", what, err)
		}
		wantError(t, err, words...)
	}
	other := orders
	other.Kind = "priority"
	refused("kind", other, "define topic orders", "Kind is priority in this program and range-merge in ZooKeeper")
	other = orders
	other.Slots, other.Literal = 8, true
	refused("slots", other, "Slots is 8 in this program and 16", "Literal is true in this program and false")

	other = orders
	other.Notes = true
	refused("notes", other, "Notes is true in this program and false")

	put(t, conn, tr.topic("orders"), `{"kind":"range-merge","slots":16,"literal":false,"sharing":"redis","layout":3}`)
	refused("sharing", orders, "sharing of slots is zookeeper in this program and redis", "layout version is 1 in this program and 3")
	put(t, conn, tr.meta(), `{"layout":2}`)
	refused("layout", orders, tr.meta(), "the layout is 1 in this program and 2 in ZooKeeper")
	put(t, conn, tr.meta(), `nonsense`)
	_, err := k.Join(await.Context(t), worker())
	wantError(t, err, "read "+tr.meta())

	workers, _, err := conn.Children(tr.workers())
	if err != nil || len(workers) != 1 {
		t.Errorf("who was refused has joined: %q, %v", workers, err)
	}
}

// Workers that join at the same time for the first time meet each other everywhere.
func TestJoinTogether(t *testing.T) {
	t.Parallel()
	cfg, conn := shared(t)
	cfg.Root += "/rmq"
	k := New(cfg)
	const n = 8
	joined := make(chan *Member, n)
	for range n {
		go func() {
			m, err := k.Join(await.Context(t), worker())
			if err != nil {
				t.Error(err)
			}
			joined <- m
		}()
	}
	for range n {
		if m := <-joined; m != nil {
			defer m.Close()
		}
	}
	workers, _, err := conn.Children(newTree(cfg.Root, "").workers())
	if err != nil || len(workers) != n {
		t.Errorf("%q, %v", workers, err)
	}
}

func TestUnreachable(t *testing.T) {
	t.Parallel()
	t.Run("refused", func(t *testing.T) {
		t.Parallel()
		_, err := New(config("/rmq", 3*time.Second, "127.0.0.1:1", "localhost:2")).Join(await.Context(t), worker())
		wantError(t, err, "ZooKeeper is unreachable: ", "127.0.0.1:1: connect: connection refused", "localhost:2: ", "gave up after 5s")
	})
	t.Run("mute", func(t *testing.T) {
		t.Parallel()
		// Said within the 5 s, so its handshake was given up before: the library would wait for 20 s.
		proxy := servertest.NewProxy(t, servertest.SharedZooKeeper(t).Addr())
		proxy.Freeze()
		_, err := New(config("/rmq", 3*time.Second, proxy.Addr())).Join(await.Context(t), worker())
		wantError(t, err, "ZooKeeper is unreachable: "+proxy.Addr()+": takes the connection, and then does not answer", "gave up after 5s")
	})
	t.Run("cut", func(t *testing.T) {
		t.Parallel()
		proxy := servertest.NewProxy(t, "127.0.0.1:1")
		proxy.Cut()
		_, err := New(config("/rmq", 3*time.Second, proxy.Addr())).Join(await.Context(t), worker())
		wantError(t, err, "ZooKeeper is unreachable: "+proxy.Addr()+": ")
	})
	t.Run("cancelled", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancelCause(context.Background())
		reason := errors.New("no patience")
		cfg, dials := config("/rmq", long, "127.0.0.1:1"), 0
		cfg.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
			if dials++; dials == 2 { // the first refusal is noted
				cancel(reason)
			}
			return new(net.Dialer).DialContext(ctx, network, addr)
		}
		_, err := New(cfg).Join(ctx, worker())
		if !errors.Is(err, reason) {
			t.Error(err)
		}
		wantError(t, err, "connection refused")
	})
	// It stops answering while the worker registers.
	t.Run("later", func(t *testing.T) {
		t.Parallel()
		srv := servertest.SharedZooKeeper(t)
		proxy := servertest.NewProxy(t, srv.Addr())
		root := srv.Chroot(t)
		lost := proxy.LoseNextReply(root + "/workers/")
		m := join(t, New(config(root, long, proxy.Addr())), worker())
		await.Signal(t, "the reply gets lost", lost)
		lives(t, m)

		var mute atomic.Bool
		proxy.OnRequest(func(b []byte) bool {
			for _, r := range requests(b) {
				if r.path == root+"/meta" {
					mute.Store(true)
				}
			}
			return !mute.Load()
		})
		_, err := New(config(root, 3*time.Second, proxy.Addr())).Join(await.Context(t), worker())
		wantError(t, err, root, "gave up after 5s")
	})
}

// A server that takes a connection and stays mute, or falls silent within the welcome,
// costs a third of the timeout.
func TestMuteServersArePassedOver(t *testing.T) {
	t.Parallel()
	cfg, _ := shared(t)
	addr := cfg.Servers[0]
	cfg.SessionTimeout = 15 * time.Second
	cfg.Servers = []string{"mute:2181", "half:2181", "good:2181"}
	halves := make(chan net.Conn, 10)
	var dials atomic.Int32
	cfg.Dialer = func(ctx context.Context, network, _ string) (net.Conn, error) {
		n := dials.Add(1)
		if n > 2 {
			return new(net.Dialer).DialContext(ctx, network, addr)
		}
		ours, theirs := net.Pipe()
		halves <- theirs
		go io.Copy(io.Discard, theirs)
		if n == 2 {
			go theirs.Write([]byte{0, 0, 0, 37})
		}
		return ours, nil
	}
	m, err := New(cfg).Join(await.Context(t), worker())
	for len(halves) > 0 {
		(<-halves).Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	m.Close()
	if n := dials.Load(); n != 3 {
		t.Errorf("%d dials", n)
	}
}

func TestRights(t *testing.T) {
	t.Parallel()
	cfg, conn := shared(t)
	chroot := cfg.Root

	owner := cfg
	owner.Root, owner.Auth = chroot+"/secured", "rmq:secret"
	m := join(t, New(owner), worker())
	if err := m.Leaving(await.Context(t)); err != nil {
		t.Error(err)
	}
	if _, _, err := conn.Get(m.tree.meta()); !errors.Is(err, zk.ErrNoAuth) {
		t.Errorf("a stranger reads %s: %v", m.tree.meta(), err)
	}
	join(t, New(owner), worker()).Close()

	refused := func(c Config, words ...string) {
		t.Helper()
		_, err := New(c).Join(await.Context(t), worker())
		if !errors.Is(err, zk.ErrNoAuth) {
			t.Fatal(err)
		}
		wantError(t, err, append(words, "ZooKeeperConfig.Auth")...)
	}
	thief := owner
	thief.Auth = "rmq:guess"
	refused(thief, owner.Root, `"rmq"`, "another password")
	thief.Auth = ""
	refused(thief, owner.Root, "all users")

	readOnly := cfg
	readOnly.Root += "/readonly"
	if _, err := conn.Create(readOnly.Root, nil, 0, zk.WorldACL(zk.PermRead)); err != nil {
		t.Fatal(err)
	}
	refused(readOnly, "create "+readOnly.Root+"/topics")

	// What lies above Root need not be ours.
	fenced := chroot + "/fenced"
	put(t, conn, fenced, "")
	below := cfg
	below.Root = fenced + "/rmq"
	put(t, conn, below.Root, "")
	if _, err := conn.SetACL(fenced, zk.WorldACL(zk.PermRead), -1); err != nil {
		t.Fatal(err)
	}
	join(t, New(below), worker()).Close()
	below.Root = fenced + "/other"
	refused(below, "create "+below.Root)

	orphan := cfg
	orphan.Root += "/no/such"
	_, err := New(orphan).Join(await.Context(t), worker())
	if !errors.Is(err, zk.ErrNoNode) {
		t.Error(err)
	}
	wantError(t, err, "create "+orphan.Root, "create "+chroot+"/no first")
}

func TestTLS(t *testing.T) {
	t.Parallel()
	srv := servertest.ZooKeeperTLS(t)
	cfg := config("/rmq", long, srv.Addr())
	cfg.TLS = srv.TLSConfig()
	m := join(t, New(cfg), worker())
	confirms(t, m)
	m.Close()

	cfg.SessionTimeout = 9 * time.Second // a third of it for the handshake
	stranger := cfg
	stranger.TLS = srv.TLSConfig()
	stranger.TLS.RootCAs = nil
	var joining sync.WaitGroup
	joining.Go(func() {
		_, err := New(stranger).Join(await.Context(t), worker())
		errorSays(t, err, "ZooKeeper is unreachable: "+srv.Addr()+": TLS: ", "certificate")
	})
	cfg.TLS = nil
	joining.Go(func() {
		_, err := New(cfg).Join(await.Context(t), worker())
		errorSays(t, err, "ZooKeeper is unreachable: "+srv.Addr()+": ", "TLS")
	})
	joining.Wait()
}

func TestDialer(t *testing.T) {
	t.Parallel()
	cfg, _ := shared(t)
	addr := cfg.Servers[0]
	cfg.Servers = []string{"nowhere.invalid:2181"} // names are left to the Dialer
	var dialed atomic.Int32
	cfg.Dialer = func(ctx context.Context, network, name string) (net.Conn, error) {
		if name != "nowhere.invalid:2181" {
			t.Errorf("dialed %s", name)
		}
		if _, bounded := ctx.Deadline(); !bounded {
			t.Error("without a deadline")
		}
		dialed.Add(1)
		return new(net.Dialer).DialContext(ctx, network, addr)
	}
	join(t, New(cfg), worker())
	if dialed.Load() == 0 {
		t.Error("another dialer was used")
	}
}

// A server of its own, of which it has the whole tree. It grants less than it is asked for.
func TestRootOfTheWholeServer(t *testing.T) {
	t.Parallel()
	const granted = 20 * time.Second
	srv := servertest.ZooKeeper(t, "maxSessionTimeout=20000")
	m := join(t, New(config("/", long, srv.Addr())), worker())
	if got := m.Timeout(); got != granted {
		t.Errorf("timeout %v", got)
	}
	if left := time.Until(m.Until()); left > granted*2/3 {
		t.Errorf("work may be begun for %v", left)
	}
	if left := time.Until(m.Deadline()); left > granted-granted/10 {
		t.Errorf("the deadline is in %v", left)
	}
	if !there(t, srv.Client(t, granted), "/workers/"+m.ID()) {
		t.Error("not registered")
	}
}
