package protocol_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/await"
)

func TestDefine(t *testing.T) { onEachServer(t, defineTrials) }

var defineTrials = []trial{
	{name: "define: the first one holds", run: func(w *world) {
		w.clean(rangeMerge)
		first := protocol.Definition{Kind: "priority", Slots: 16, Literal: true, Sharing: "zookeeper", Layout: 1}
		w.defines(first, first)
		created := w.do("hget", protocol.DefinitionKey("ns:orders"), "created")
		w.must(created == strconv.FormatInt(w.now, 10), "created %v", created)
		w.later(1000)
		for _, other := range []protocol.Definition{
			{Kind: "range-merge", Slots: 16, Literal: true, Sharing: "zookeeper", Layout: 1},
			{Kind: "priority", Slots: 8, Literal: true, Sharing: "zookeeper", Layout: 1},
			{Kind: "priority", Slots: 16, Sharing: "zookeeper", Layout: 1},
			{Kind: "priority", Slots: 16, Literal: true, Sharing: "redis", Layout: 1},
			{Kind: "priority", Slots: 16, Literal: true, Sharing: "zookeeper", Layout: 2},
			{Kind: "priority", Slots: 16, Literal: true, Layout: 1},
		} {
			w.defines(other, first)
		}
		w.must(w.do("hget", protocol.DefinitionKey("ns:orders"), "created") == created, "created again")
		n, _ := w.do("hlen", protocol.DefinitionKey("ns:orders")).(int64)
		w.must(n == 8, "%d fields", n)
	}},
	{name: "define: sharing is filled in once", run: func(w *world) {
		for _, literal := range []bool{false, true} {
			w.clean(rangeMerge)
			open := protocol.Definition{Kind: "fixed-time", Slots: 4, Literal: literal, Layout: 1}
			for range 2 {
				w.defines(open, open)
			}
			// Whoever disagrees in anything fills in nothing.
			for _, stranger := range []protocol.Definition{
				{Kind: "priority", Slots: 4, Literal: literal, Sharing: "redis", Layout: 1},
				{Kind: "fixed-time", Slots: 5, Literal: literal, Sharing: "redis", Layout: 1},
				{Kind: "fixed-time", Slots: 4, Literal: !literal, Sharing: "redis", Layout: 1},
				{Kind: "fixed-time", Slots: 4, Literal: literal, Sharing: "redis", Layout: 2},
			} {
				w.defines(stranger, open)
			}
			filled := open
			filled.Sharing = "zookeeper"
			w.defines(filled, filled)
			late := open
			late.Sharing = "redis"
			w.defines(late, filled)
			w.defines(open, filled)
		}
	}},
	{name: "define: the tree is filled in once", run: func(w *world) {
		w.clean(rangeMerge)
		d := protocol.Definition{Kind: "priority", Slots: 2, Sharing: "zookeeper", Layout: 1}
		w.defines(d, d)
		ours, theirs, redis, other := d, d, d, d
		ours.Tree, theirs.Tree = "a", "b"
		redis.Sharing, redis.Tree = "redis", "b"
		other.Slots, other.Tree = 4, "b"
		w.defines(redis, d) // neither who shares in another way
		w.defines(other, d) // nor who disagrees in something else
		w.defines(ours, ours)
		w.defines(theirs, ours)
		w.defines(d, ours)
		w.do("hdel", protocol.DefinitionKey("ns:orders"), "sharing") // a person changes the way of sharing
		w.defines(d, d)
		w.defines(theirs, theirs)
		w.clean(rangeMerge)
		w.defines(theirs, theirs) // all at once
	}},
	{name: "define: the namespace is filled in once", run: func(w *world) {
		key := protocol.DefinitionKey("ns:orders")
		w.clean(rangeMerge)
		d := protocol.Definition{Kind: "priority", Slots: 2, Layout: 1}
		w.do("hset", key, "kind", "priority", "slots", 2, "literal", 0, "notes", 0, "layout", 1) // by an older program
		ours, theirs, stranger, worker, unchanged := d, d, d, d, d
		ours.Namespace, theirs.Namespace = "ns", "n"
		stranger.Slots, stranger.Namespace, unchanged.Namespace = 4, "n", "n"
		worker.Sharing, worker.Namespace = "redis", "n"
		w.defines(stranger, unchanged) // not by who disagrees in something else
		w.defines(ours, ours)
		w.defines(theirs, ours)
		w.defines(d, ours)
		w.defines(worker, ours) // who disagrees in the namespace fills in nothing
		reply, err := w.rdb.Eval(ctx, w.sources["define"], []string{key}, "priority", 2, 0, 0, "redis", 1, "").Slice()
		w.must(err == nil && reply[4] == "redis" && reply[7] == "ns", "an older program: %v, %v", reply, err)
		w.clean(rangeMerge)
		w.defines(d, d)
		w.defines(ours, d) // none is one, too
	}},
	{name: "define: a topic with notes is another one", run: func(w *world) {
		w.clean(rangeMerge)
		plain := protocol.Definition{Kind: "priority", Slots: 2, Layout: 1}
		noted := plain
		noted.Notes = true
		w.defines(noted, noted)
		worker := plain
		worker.Sharing = "redis"
		w.defines(worker, noted) // it compares the notes, and has filled in nothing
		w.defines(noted, noted)
	}},
	{name: "define: how late its listeners let messages be", run: func(w *world) {
		w.clean(rangeMerge)
		sender := protocol.Definition{Kind: "fixed-time", Slots: 2, Layout: 1, Namespace: "ns"}
		worker, other, stranger := sender, sender, sender
		worker.Sharing, other.Sharing, stranger.Sharing, stranger.Slots = "redis", "zookeeper", "redis", 4
		tells := func(by protocol.Definition, late, holds time.Duration) {
			w.Helper()
			by.MaxLate = late
			want := worker
			want.MaxLate = holds
			w.defines(by, want)
		}
		goBy := func(ms int64) { w.do("hincrby", protocol.DefinitionKey("ns:orders"), "lateuntil", -ms) }
		tells(worker, -1, 0) // it does not tell
		tells(worker, 10*time.Second, 10*time.Second)
		tells(worker, -1, 10*time.Second)
		w.do("hdel", protocol.DefinitionKey("ns:orders"), "lateuntil") // somebody was careless
		tells(sender, 0, 0)
		tells(worker, 10*time.Second, 10*time.Second)
		tells(sender, 0, 10*time.Second)             // who sends learns it, and tells nothing
		tells(other, time.Minute, 10*time.Second)    // it will not work at the topic
		tells(stranger, time.Minute, 10*time.Second) // nor will it
		tells(worker, time.Minute, time.Minute)      // the largest counts,
		tells(worker, 10*time.Second, time.Minute)   // whoever tells another one
		goBy(89_000)                                 // for 90 s since it was told
		tells(worker, 10*time.Second, time.Minute)
		goBy(2_000)
		tells(sender, 0, 0)
		tells(worker, 10*time.Second, 10*time.Second)
		goBy(-2_000) // the clock was set back
		tells(sender, 0, 0)
		tells(worker, 10*time.Second, 10*time.Second)
		tells(worker, 0, 0) // however late it is: that is more than any
		tells(worker, 10*time.Second, 0)
		goBy(60_000)
		tells(worker, 0, 0)
		goBy(60_000)
		tells(worker, 10*time.Second, 0) // it was told once more
		goBy(31_000)
		tells(worker, 10*time.Second, 10*time.Second)
	}},
	{name: "define: how late, by who has another tree", run: func(w *world) {
		w.clean(rangeMerge)
		worker := protocol.Definition{Kind: "fixed-time", Slots: 2, Layout: 1, Namespace: "ns", Sharing: "zookeeper", Tree: "a", MaxLate: time.Minute}
		w.defines(worker, worker)
		other := worker
		for _, tree := range []string{"b", ""} { // of another ensemble, or not known yet
			other.Tree, other.MaxLate = tree, time.Hour
			w.defines(other, worker)
		}
		other.Sharing = "redis"
		w.defines(other, worker)
	}},
	{name: "define: written again when it is missing", run: func(w *world) {
		w.clean(rangeMerge)
		d := protocol.Definition{Kind: "range-merge", Slots: 1, Sharing: "redis", Layout: 1}
		w.defines(d, d)
		w.do("del", protocol.DefinitionKey("ns:orders"), protocol.TopicsKey)
		w.defines(d, d)
	}},
	{name: "define: a written one without sharing", run: func(w *world) {
		w.clean(rangeMerge) // by hand, without the field
		w.do("hset", protocol.DefinitionKey("ns:orders"), "kind", "priority", "slots", 2, "literal", 0, "notes", 0, "layout", 1)
		reply, err := w.rdb.Eval(ctx, w.sources["define"], []string{protocol.DefinitionKey("ns:orders")}, "priority", 2, 0, 0, "", 1).Slice()
		w.must(err == nil && len(reply) == 9 && reply[4] == "" && reply[7] == "", "%v, %v", reply, err)
		d := protocol.Definition{Kind: "priority", Slots: 2, Layout: 1}
		w.defines(d, d)
		d.Sharing = "redis"
		w.defines(d, d)
	}},
}

// defines asks for a definition and compares the one that holds.
func (w *world) defines(asked, want protocol.Definition) {
	w.Helper()
	got, err := w.s.Define(ctx, "ns:orders", asked)
	w.must(err == nil && got == want, "asked for %+v, got %+v (%v), not %+v", asked, got, err, want)
	await.True(w.t, "it is in the list of topics", func() bool { // which a busy machine may do behind the answer
		listed, _ := w.do("sismember", protocol.TopicsKey, "ns:orders").(int64)
		return listed == 1
	})
}

func TestDefineErrors(t *testing.T) {
	onEachServer(t, []trial{{name: "the list is of a wrong type", run: func(w *world) {
		w.clean(rangeMerge)
		w.do("set", protocol.TopicsKey, "wrong")
		_, err := w.s.Define(ctx, "orders", protocol.Definition{Kind: "priority", Slots: 1, Layout: 1})
		w.must(err != nil && strings.Contains(err.Error(), protocol.TopicsKey), "%v", err)
	}}})
}
