package keeper

import (
	"errors"
	"math/rand"
	"strings"
	"testing"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/night"
	"github.com/slotmq/go-rmq/internal/testing/sharetest"
)

// The paths are part of the protocol: other versions meet them.
func TestPathsAreThese(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ root, namespace, want string }{
		{"/rmq", "", "/rmq"}, {"/rmq", "eu", "/rmq/eu"}, {"/", "eu", "/eu"}, {"/a/b", "e u", "/a/b/e%20u"}, {"/rmq", "..", "/rmq/%2E%2E"},
	} {
		if got := string(newTree(c.root, c.namespace)); got != c.want {
			t.Errorf("%q, %q: %s, want %s", c.root, c.namespace, got, c.want)
		}
	}
	tree := newTree("/rmq", "ns")
	for got, want := range map[string]string{
		tree.meta():          "/rmq/ns/meta",
		tree.topics():        "/rmq/ns/topics",
		tree.topic("a b"):    "/rmq/ns/topics/a%20b",
		tree.workers():       "/rmq/ns/workers",
		tree.worker("w-1.x"): "/rmq/ns/workers/w-1.x",
		tree.leaving("w!1"):  "/rmq/ns/workers/w%211!leaving",
		tree.coordinator():   "/rmq/ns/coordinator",
		tree.assigns():       "/rmq/ns/assign",
		tree.assign("订"):     "/rmq/ns/assign/%E8%AE%A2",
		tree.owners():        "/rmq/ns/owned",
		tree.owned("../x/y"): "/rmq/ns/owned/..%2Fx%2Fy",
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestNamesSurviveTheirPath(t *testing.T) {
	t.Parallel()
	seed := sharetest.Seed(t)
	random := rand.New(rand.NewSource(seed))
	names := []string{
		"orders", ".", "..", "...", ".a", "a b", "a%2Fb", "%", "%%", "a!leaving", "!leaving", "订单", "\ufffd", "\ue000", "\u00a0", "a:b@c&d=e+f~g",
		"zookeeper", strings.Repeat("ö", 100),
	}
	for range 200 {
		name := make([]byte, 1+random.Intn(20))
		random.Read(name)
		names = append(names, string(name))
	}
	by := map[string]string{}
	for _, name := range names {
		component := escape(name)
		if component == "." || component == ".." || strings.Trim(component, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.%") != "" {
			t.Errorf("%q becomes %q", name, component)
		}
		if other, taken := by[component]; taken && other != name {
			t.Errorf("%q and %q are both %q", name, other, component)
		}
		by[component] = name
		if back, err := unescape(component); back != name || err != nil {
			t.Errorf("%q comes back as %q, %v", name, back, err)
		}
		for _, mark := range []string{"", leavingMark} {
			if id, leaving, err := splitWorker(component + mark); id != name || leaving != (mark != "") || err != nil {
				t.Errorf("%q%s: %q, %v, %v", component, mark, id, leaving, err)
			}
		}
	}
}

func TestForeignNodesHaveNoName(t *testing.T) {
	t.Parallel()
	for _, component := range []string{"%", "%2", "%zz", "a b", "%2e", ".", "..", "%41", "a:b", "a!leaving!leaving", "%21leaving!x"} {
		if id, _, err := splitWorker(component); err == nil {
			t.Errorf("%q is taken for %q", component, id)
		}
	}
}

// A worker that comes back makes no tree, also when it goes while the worker looks at it.
func TestTreeIsNotMadeAgain(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := opened(t, config(string(p.tree), long, p.srv.Servers()...))
	const ours = `{"layout":1,"tree":"OURS"}`
	gone := 0
	for range night.Times(50, 300) {
		d := &definitions{session: s, tree: p.tree, before: "OURS"}
		p.create(t, p.meta(), []byte(ours), 0)
		deleted := make(chan error, 1)
		go func() { deleted <- p.conn.Delete(p.meta(), -1) }()
		if err := d.agreeOnLayout(await.Context(t)); errors.Is(err, ErrConflict) {
			gone++
		} else if err != nil {
			t.Fatal(err)
		}
		if err := <-deleted; err != nil {
			t.Fatal(err)
		}
		if data, _, err := p.conn.Get(p.meta()); err == nil {
			t.Fatalf("it was made again: %s", data)
		}
	}
	t.Logf("it was gone %d times", gone)
}

// A worker that finds its tree gone, or another one in its place, names the command that
// mends it.
func TestWhatMendsADeletedTree(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	d := &definitions{session: opened(t, config("", long, p.srv.Servers()...)), tree: p.tree, before: "OURS"}
	contents := `{"layout":1,"tree":"OURS","again":true}`
	err := d.agreeOnLayout(await.Context(t))
	wantError(t, err, "the tree was OURS and is gone", "in zkCli.sh: create "+p.meta()+" "+contents)
	if !errors.Is(err, ErrConflict) {
		t.Error(err)
	}
	p.create(t, p.meta(), []byte(`{"layout":1,"tree":"OTHER"}`), 0)
	err = d.agreeOnLayout(await.Context(t))
	wantError(t, err, "the tree was OURS and is now OTHER", "in zkCli.sh: set "+p.meta()+" "+contents)
	if !errors.Is(err, ErrConflict) {
		t.Error(err)
	}
	put(t, p.conn, p.meta(), contents)
	if err := d.agreeOnLayout(await.Context(t)); err != nil || !d.again {
		t.Errorf("%v, made again: %v", err, d.again)
	}
}
