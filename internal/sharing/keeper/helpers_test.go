package keeper

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/slotmq/go-rmq/internal/sharing/keeper/session"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
)

var orders = Topic{Name: "orders", Kind: "range-merge", Slots: 16}

// long is a session that does not end while a test runs.
const long = 30 * time.Second

// config leads to a server, or several.
func config(root string, timeout time.Duration, servers ...string) Config {
	return Config{Servers: servers, Root: root, SessionTimeout: timeout}
}

// shared is a config for the shared server, and a witness there.
func shared(t *testing.T) (Config, *zk.Conn) {
	t.Helper()
	srv := servertest.SharedZooKeeper(t)
	return config(srv.Chroot(t), long, srv.Servers()...), srv.Client(t, long)
}

// told remembers the calls of Own.
type told struct {
	mu     sync.Mutex
	slots  map[string][]int
	times  int
	change chan struct{}
}

func newTold() *told { return &told{slots: map[string][]int{}, change: make(chan struct{}, 1000)} }

func (o *told) own(topic string, slots []int) {
	o.mu.Lock()
	o.slots[topic] = slots
	o.times++
	o.mu.Unlock()
	o.change <- struct{}{}
}

// await waits until the last call of Own has these slots.
func (o *told) await(t *testing.T, topic string, want []int) {
	t.Helper()
	for {
		o.mu.Lock()
		got, known := o.slots[topic]
		o.mu.Unlock()
		if known && slices.Equal(got, want) {
			return
		}
		await.Signal(t, fmt.Sprintf("Own(%s) was told %v, not %v", topic, got, want), o.change)
	}
}

func worker(topics ...Topic) Worker {
	if topics == nil {
		topics = []Topic{orders}
	}
	return Worker{Name: "w", Topics: topics, Own: func(string, []int) {}}
}

// join is a member that is gone with the test.
func join(t *testing.T, k *Keeper, w Worker) *Member {
	t.Helper()
	m, err := k.Join(await.Context(t), w)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Abandon) // does nothing after Close
	return m
}

// opened is a session that is left with the test.
func opened(t *testing.T, cfg Config) *session.Session {
	t.Helper()
	s, err := session.Open(await.Context(t), New(cfg).cfg.session())
	must.Do(t, err)
	t.Cleanup(s.Abandon) // does nothing after Close
	return s
}

// patient is a server of the test's own that grants sessions of an hour.
func patient(t *testing.T) *servertest.ZooKeeperServer {
	return servertest.ZooKeeper(t, "maxSessionTimeout=3600000")
}

// unhurried is a member with a session of an hour, and has beaten once: the next time is in seven
// minutes, and a call waits for its answer for twenty. Until then it learns only from watches.
func unhurried(t *testing.T, servers ...string) *Member {
	t.Helper()
	m := join(t, New(config("/rmq", time.Hour, servers...)), worker())
	if m.Timeout() != time.Hour {
		t.Fatalf("granted %v", m.Timeout())
	}
	await.Nil(t, "the first beat", func() error {
		_, stat, err := m.session.Exists(await.Context(t), m.tree.owned(m.ID()))
		if err == nil && stat.Version == 0 {
			err = errors.New("it has not written yet")
		}
		return err
	})
	return m
}

// behind is a member behind a proxy, on a server that is shared, and a witness.
func behind(t *testing.T, timeout time.Duration, onOutage uint8) (*Member, *servertest.Proxy, *zk.Conn) {
	t.Helper()
	srv := servertest.SharedZooKeeper(t)
	proxy := servertest.NewProxy(t, srv.Addr())
	cfg := config(srv.Chroot(t), timeout, proxy.Addr())
	cfg.OnOutage = onOutage
	return join(t, New(cfg), worker()), proxy, srv.Client(t, long)
}

// there reports whether a node exists.
func there(t *testing.T, conn *zk.Conn, path string) bool {
	t.Helper()
	there, _, err := conn.Exists(path)
	if err != nil {
		t.Fatalf("look for %s: %v", path, err)
	}
	return there
}

func awaitGone(t *testing.T, conn *zk.Conn, path string) {
	t.Helper()
	await.Nil(t, path+" goes", func() error {
		if there(t, conn, path) {
			return errors.New("it is there")
		}
		return nil
	})
}

// read decodes a node.
func read[T any](t *testing.T, conn *zk.Conn, path string) (v T) {
	t.Helper()
	data, _, err := conn.Get(path)
	if err == nil {
		err = json.Unmarshal(data, &v)
	}
	if err != nil {
		t.Fatalf("read %s: %v", path, err)
	}
	return v
}

// put writes a node, whether it is there or not.
func put(t *testing.T, conn *zk.Conn, path, data string) {
	t.Helper()
	_, err := conn.Set(path, []byte(data), -1)
	if errors.Is(err, zk.ErrNoNode) {
		_, err = conn.Create(path, []byte(data), 0, zk.WorldACL(zk.PermAll))
	}
	if err != nil {
		t.Fatalf("write %s: %v", path, err)
	}
}

// wantError fails unless err contains all words.
func wantError(t *testing.T, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error; want one about %q", words)
	}
	errorSays(t, err, words...)
}

// errorSays is wantError for any goroutine.
func errorSays(t *testing.T, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("no error; want one about %q", words)
		return
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q does not say %q", err, w)
		}
	}
}

// lives fails when the session of a member is over.
func lives(t *testing.T, m *Member) {
	t.Helper()
	if err := m.Err(); err != nil {
		t.Fatalf("lost: %v", err)
	}
}

// confirms waits until ZooKeeper has decided on a write that is made from now on.
func confirms(t *testing.T, m *Member) {
	t.Helper()
	await.Nil(t, "a sign of life", func() error {
		lives(t, m)
		return m.pulse.Barrier(await.Context(t))
	})
}

// request is what a client asks, as a proxy sees it.
type request struct {
	op   uint32
	path string
}

const (
	opExists     = 3
	opSet        = 5
	opSetWatches = 101
)

// requests are those in one piece. Each has its length, a number, its kind, and mostly a
// path.
func requests(b []byte) (all []request) {
	for len(b) >= 4 {
		n := int(binary.BigEndian.Uint32(b))
		if n < 8 || n > len(b)-4 {
			break
		}
		r, rest := request{op: binary.BigEndian.Uint32(b[8:])}, b[12:4+n]
		if len(rest) >= 4 {
			if n := int(binary.BigEndian.Uint32(rest)); n >= 0 && n <= len(rest)-4 {
				r.path = string(rest[4 : 4+n])
			}
		}
		all, b = append(all, r), b[4+n:]
	}
	return all
}

// asks reports whether a piece has a request of one of these kinds.
func asks(b []byte, ops ...uint32) bool {
	return slices.ContainsFunc(requests(b), func(r request) bool { return slices.Contains(ops, r.op) })
}

// reign takes the coordinator's office, so that a test may assign slots itself.
func reign(t *testing.T, conn *zk.Conn, root string) {
	t.Helper()
	if _, err := conn.Create(newTree(root, "").coordinator(), nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
}

// allSlots are those of orders.
func allSlots() []int {
	var all []int
	for slot := range orders.Slots {
		all = append(all, slot)
	}
	return all
}

// assignTo gives all slots of orders to one worker, as a coordinator does.
func assignTo(t *testing.T, conn *zk.Conn, tr tree, gen int64, id string) {
	t.Helper()
	a := assignment{gen: gen, owners: slices.Repeat([]string{id}, orders.Slots)}
	data, err := a.encode()
	if err != nil {
		t.Fatal(err)
	}
	put(t, conn, tr.assign("orders"), string(data))
}
