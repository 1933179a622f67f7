package protocol_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
)

func TestMembers(t *testing.T) { onEachServer(t, memberTrials) }

var memberTrials = []trial{
	{name: "members: come, stay and leave", run: func(w *world) {
		w.clean(rangeMerge)
		w.shows("a", true, true, "a")
		w.shows("a", true, false, "a")
		w.shows("b", true, true, "a", "b")
		w.shows("a", true, false, "a", "b")
		w.shows("c", false, false, "a", "b") // was not there
		w.shows("a", false, true, "b")
		w.shows("a", false, false, "b")
		w.shows("b", false, true)
	}},
	{name: "members: not seen for too long", run: func(w *world) {
		w.clean(rangeMerge)
		w.shows("a", true, true, "a")
		w.later(1000)
		w.shows("b", true, true, "a", "b")
		w.later(1000)
		w.shows("b", true, false, "a", "b") // a was seen 2 s ago, which is just in time
		w.later(1)
		w.shows("b", true, true, "b")
		w.shows("b", true, false, "b")
		w.later(2001)
		w.shows("b", true, true, "b") // one that comes back late was away
		w.later(2001)
		w.shows("a", false, true)
	}},
	{name: "members: each by its own time", run: func(w *world) {
		w.clean(rangeMerge)
		w.showsFor(10*time.Second, "a", true, "a")
		w.later(9000)
		w.shows("b", true, true, "a", "b") // b counts for 2 s, and takes a for no less than it is
		w.later(3000)
		w.showsFor(10*time.Second, "c", true, "c")
	}},
	{name: "members: the server's clock steps back", run: func(w *world) {
		w.clean(rangeMerge)
		w.shows("ghost", true, true, "ghost")
		w.later(-3_600_000)
		w.shows("a", true, true, "a", "ghost")
		w.later(600_001) // ten minutes are the most that it goes on
		w.shows("a", true, true, "a")
	}},
	{name: "members: gone without a word", run: func(w *world) {
		w.clean(rangeMerge)
		w.shows("a", true, true, "a")
		w.shows("leaves", true, true, "a", "leaves")
		w.shows("leaves", false, true, "a")
		w.gone()
		w.later(500)
		w.shows("b", true, true, "a", "b")
		w.later(1600)
		w.shows("c", true, true, "b", "c")
		w.gone(redis.Z{Score: float64(w.now - 100), Member: "a"})
		w.later(1000)
		w.shows("c", true, true, "c")
		w.gone(redis.Z{Score: float64(w.now - 1100), Member: "a"}, redis.Z{Score: float64(w.now - 600), Member: "b"})
		w.shows("b", true, true, "b", "c") // it was only away
		w.gone(redis.Z{Score: float64(w.now - 1100), Member: "a"})
		w.later(2001)
		w.shows("b", true, true, "b") // so was this one
		w.shows("c", false, false, "b")
		w.shows("a", false, false, "b") // which leaves after all
		w.gone()
		ttl := func() int64 { ttl, _ := w.do("pttl", protocol.GoneKey("ns:orders")).(int64); return ttl }
		w.showsFor(time.Second, "last", true, "b", "last")
		w.later(1001)
		w.shows("b", true, true, "b")
		w.must(ttl() > 86_300_000 && ttl() <= 86_400_000, "%d", ttl())
		for i := range 150 {
			w.do("zadd", protocol.WorkersKey("ns:orders"), w.now-1000+int64(i), fmt.Sprint("many ", i))
		}
		w.shows("b", true, true, "b")
		w.must(w.do("zcard", protocol.GoneKey("ns:orders")) == int64(100) && w.do("zscore", protocol.GoneKey("ns:orders"), "many 149") != nil, "%v", w.do("zcard", protocol.GoneKey("ns:orders")))
	}},
	{name: "full: members", live: true, run: func(w *world) {
		w.clean(rangeMerge)
		w.shows("a", true, true, "a")
		w.full(true)
		b := caught(func() {
			w.shows("b", true, true, "a", "b")
			w.shows("a", false, true, "b")
		})
		w.full(false)
		w.must(b == nil, "%+v", b)
	}},
	{name: "wrong type: members", run: func(w *world) {
		w.clean(rangeMerge)
		w.breakKey(protocol.WorkersKey("ns:orders"))
		_, _, err := w.s.Members(ctx, "ns:orders", "a", time.Second, true)
		w.must(err != nil, "no error")
		w.do("del", protocol.WorkersKey("ns:orders"))
		w.do("set", protocol.GoneKey("ns:orders"), "of a wrong type")
		w.do("zadd", protocol.WorkersKey("ns:orders"), 5, "old")
		_, _, err = w.s.Members(ctx, "ns:orders", "a", time.Second, true)
		w.must(err != nil && w.do("zcard", protocol.WorkersKey("ns:orders")) == int64(1), "%v", err)
	}},
}

// gone compares who is noted as gone, and until when each counted.
func (w *world) gone(want ...redis.Z) {
	w.Helper()
	got, err := w.rdb.ZRangeWithScores(ctx, protocol.GoneKey("ns:orders"), 0, -1).Result()
	w.must(err == nil && slices.Equal(got, want), "%v, not %v, %v", got, want, err)
}

// shows shows a worker, or takes it out, and compares what it is told. Members
// count for 2 s.
func (w *world) shows(worker string, here, changed bool, want ...string) {
	w.Helper()
	w.shown(2*time.Second, worker, here, changed, want)
}

func (w *world) showsFor(ttl time.Duration, worker string, changed bool, want ...string) {
	w.Helper()
	w.shown(ttl, worker, true, changed, want)
}

func (w *world) shown(ttl time.Duration, worker string, here, changed bool, want []string) {
	w.Helper()
	members, news, err := w.s.Members(ctx, "ns:orders", worker, ttl, here)
	slices.Sort(members)
	w.must(err == nil && news == changed && slices.Equal(members, want), "%s, here %v: members %q, changed %v, %v", worker, here, members, news, err)
}

var membersDamages = []damage{
	{"who is gone is noted", "members: gone without a word", `call('ZADD', gone, string.format('%.0f', till), worker)`, ``},
	{"with the end of its time", "members: gone without a word", `call('ZADD', gone, string.format('%.0f', till), worker)`, `call('ZADD', gone, string.format('%.0f', now), worker)`},
	{"but not who is back", "members: gone without a word", `if known == '0' then call('ZREM', gone, ARGV[1]) end`, ``},
	{"a hundred of them", "members: gone without a word", "call('ZREMRANGEBYRANK', gone, 0, -101)\n", "\n"},
	{"for a day", "members: gone without a word", "call('PEXPIRE', gone, 86400000)\n", "\n"},
	{"a wrong gone shows before the first write", "wrong type: members", "call('ZCARD', gone)  ", "  "},
	{"seen too long ago is gone", "members: not seen for too long", `if till < now then`, `if till < now - ARGV[2] then`},
	{"and just in time is not", "members: not seen for too long", `if till < now then`, `if till <= now then`},
	{"gone for the next one, too", "members: not seen for too long", `call('ZREM', workers, worker)`, ``},
	{"who has a longer time counts for longer", "members: each by its own time", `if till < now then`, `if till < now + 2000 then`},
	{"a step back of the clock is no long life", "members: the server's clock steps back", `if till > far then`, `if false then`},
	{"who leaves is gone", "members: come, stay and leave", `if ARGV[3] == '1' then`, `if true then`},
	{"who is here is seen now", "members: come, stay and leave", `call('ZADD', workers, string.format('%.0f', now + ARGV[2]), ARGV[1])`, `call('ZADD', workers, 'NX', known == '1' and 1 or now, ARGV[1])`},
	{"to come is a change, and so is to leave", "members: come, stay and leave", `if known ~= ARGV[3] then`, `if false then`},
	{"to stay is none", "members: come, stay and leave", `if known ~= ARGV[3] then`, `if true then`},
	{"to be away for too long is one", "members: not seen for too long", "worker)\n    changed = 1", "worker)\n    changed = 0"},
	{"who was away for too long comes back", "members: not seen for too long", `elseif worker == ARGV[1] then`, "end\n  if worker == ARGV[1] then"},
	{"passes above maxmemory", "full: members", "call('ZREM', workers, ARGV[1])  ", "call('ZADD', workers, now, ARGV[1])\ncall('ZREM', workers, ARGV[1])  "},
}
