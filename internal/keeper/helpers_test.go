package keeper

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/slotmq/go-rmq/internal/testing/servertest"
)

// patience is how long a test waits for what must come.
const patience = 20 * time.Second

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

// told remembers what Own was told.
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

// await waits until Own was told these slots last.
func (o *told) await(t *testing.T, topic string, want []int) {
	t.Helper()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		o.mu.Lock()
		got, known := o.slots[topic]
		o.mu.Unlock()
		if known && slices.Equal(got, want) {
			return
		}
		select {
		case <-o.change:
		case <-timer.C:
			t.Fatalf("Own(%s) was told %v, not %v", topic, got, want)
		}
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
	m, err := k.Join(within(t), w)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Abandon) // does nothing after Close
	return m
}

func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

func await(t *testing.T, what string, c <-chan struct{}) {
	t.Helper()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-c:
	case <-timer.C:
		t.Fatalf("%s: not within %v", what, patience)
	}
}

// eventually asks until f is nil.
func eventually(t *testing.T, what string, f func() error) {
	t.Helper()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	begun := time.Now()
	for {
		err := f()
		if err == nil {
			return
		}
		if time.Since(begun) > patience {
			t.Fatalf("%s: not within %v: %v", what, patience, err)
		}
		<-ticker.C
	}
}

// there tells whether a node exists.
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
	eventually(t, path+" goes", func() error {
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

// confirms waits until ZooKeeper has answered a request made from now on.
func confirms(t *testing.T, m *Member) {
	t.Helper()
	begun := time.Now()
	eventually(t, "a sign of life", func() error {
		lives(t, m)
		if !m.session.answered().After(begun) {
			return errors.New("not confirmed")
		}
		return nil
	})
}

// request is what a client asks, as a proxy sees it.
type request struct {
	op   uint32
	path string
}

const (
	opExists = 3
	opSet    = 5
	opSync   = 9
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

// asks tells whether a piece has a request of one of these kinds.
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
