package keeper

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/slotmq/go-rmq/internal/testing/await"
)

func TestViewShowsWhoWorksAtWhat(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	k := New(config(string(p.tree), long, p.srv.Servers()...))
	orders := Topic{Name: "or ders", Kind: "priority", Slots: 8}
	first := worker(orders)
	first.Name, first.Namespace = "m1", "eu"
	m := join(t, k, first)
	p.tree = newTree(string(p.tree), "eu")
	p.has(t, "or ders", map[string]int{m.ID(): 8})
	shown := time.Now().Truncate(time.Millisecond)
	m.Show("or ders", []int{0, 1, 2, 5})
	p.define(t, "idle", 4)
	p.comes(t, "z1", "or ders")
	p.create(t, p.leaving("z1"), nil, zk.FlagEphemeral)
	p.create(t, p.worker("z2"), []byte("?"), zk.FlagEphemeral)
	p.create(t, p.owned("z2"), []byte("{}"), zk.FlagEphemeral)
	p.define(t, "broken", 4)
	p.create(t, p.assign("broken"), []byte(`{"v":2}`), 0)

	var v View
	await.Nil(t, "what the worker holds", func() (err error) {
		if v, err = k.View(await.Context(t), "eu"); err != nil {
			t.Fatal(err)
		}
		if len(v.Workers) == 0 || len(v.Workers[0].Held) == 0 {
			return fmt.Errorf("%+v", v)
		}
		return nil
	})
	if v.Tree != m.Tree() || v.Coordinator != m.ID() || len(v.Workers) != 3 || len(v.Topics) != 3 {
		t.Fatalf("%+v", v)
	}
	w := v.Workers[0]
	if w.ID != m.ID() || w.PID != os.Getpid() || w.Host == "" || w.Topics["or ders"] != 1 || w.Leaving || w.Err != nil ||
		fmt.Sprint(w.Held) != "map[or ders:[0 1 2 5]]" || w.Since.Before(shown) || time.Since(w.Since) < 0 {
		t.Errorf("%+v", w)
	}
	if w := v.Workers[1]; w.ID != "z1" || !w.Leaving || w.Err != nil || w.Held != nil {
		t.Errorf("%+v", w)
	}
	if w := v.Workers[2]; w.ID != "z2" || w.Leaving || w.Err == nil {
		t.Errorf("%+v", w)
	}
	if b := v.Topics[0]; b.Name != "broken" || b.Slots != 4 || b.Err == nil || b.Owners != nil {
		t.Errorf("%+v", b)
	}
	if i := v.Topics[1]; i.Name != "idle" || i.Kind != "priority" || i.Slots != 4 || i.Gen != 0 || i.Owners != nil || i.Err != nil {
		t.Errorf("%+v", i)
	}
	if o := v.Topics[2]; o.Name != "or ders" || o.Gen < 1 || len(o.Owners) != 8 || o.Owners[7] != m.ID() || o.Err != nil {
		t.Errorf("%+v", o)
	}
	// Nobody has noticed.
	if children, _, err := p.conn.Children(p.workers()); err != nil || len(children) != 4 {
		t.Errorf("%v, %v", children, err)
	}
}

func TestViewOfNothing(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	k := New(config(string(p.tree), long, p.srv.Servers()...))
	if v, err := k.View(await.Context(t), ""); err != nil || v.Coordinator != "" || v.Workers != nil || v.Topics != nil {
		t.Errorf("%+v, %v", v, err)
	}
	p.create(t, p.coordinator(), []byte("by hand"), 0)
	if v, err := k.View(await.Context(t), ""); err != nil || v.Coordinator != "" {
		t.Errorf("a coordinator of no session is shown: %+v, %v", v, err)
	}
	if _, err := k.View(await.Context(t), "us"); err == nil || !strings.Contains(err.Error(), string(p.tree)+"/us") {
		t.Error(err)
	}
	if _, err := New(Config{}).View(await.Context(t), ""); err == nil || !strings.Contains(err.Error(), "Servers") {
		t.Error(err)
	}
}
