package luascripts_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/luascripts"
)

func TestDeaths(t *testing.T) { onEachServer(t, deathTrials) }

var deathTrials = []trial{
	{name: "deaths: each once, with what is known", run: func(w *world) {
		w.clean(priorityKind)
		w.die("a", "b")
		w.later(1)
		w.die("c")
		w.nextDeaths("", "a", "b")
		w.later(1)
		list := w.nextDeaths("", "a", "b", "c")
		a := list[0]
		w.must(a.At.UnixMilli() == w.now-2 && a.Failure.Reason == "no such shop" && a.Failure.Attempts == 1 && a.Failure.Priority == 50, "%+v", a)
		w.nextDeaths("", "a", "b", "c") // nothing was noted
		w.nextDeaths(list[1].Score, "c")
		w.nextDeaths("", "c")
		w.nextDeaths(list[2].Score)
		w.nextDeaths("")
	}},
	{name: "deaths: of one ms together", run: func(w *world) {
		w.clean(fixedTime)
		var all []string
		for i := range 50 {
			all = append(all, fmt.Sprintf("m%02d", i))
		}
		w.die(all...)
		w.later(1)
		w.die("z")
		w.later(1)
		w.nextDeaths("", all...)
		w.nextDeaths(strconv.FormatInt(w.now-2, 10), "z")
	}},
	{name: "deaths: very many of one ms", live: true, run: func(w *world) {
		w.clean(fixedTime)
		const many = 5000
		for i := range many {
			w.do("zadd", w.k.Dead, w.now, fmt.Sprintf("m%04d", i))
		}
		w.later(1)
		w.do("config", "resetstat")
		d, err := w.s.Deaths(ctx, w.k, "", 10)
		w.must(err == nil && len(d.List) == many && d.List[many-1].Content == "m4999", "%d, %v", len(d.List), err)
		// Each of these counts from the first one of its answer.
		_, rest, _ := strings.Cut(w.do("info", "commandstats").(string), "cmdstat_zrangebyscore:calls=")
		calls, _, _ := strings.Cut(rest, ",")
		w.must(len(calls) == 1, "%s looks for them", calls)
	}},
	{name: "deaths: as many as asked for", run: func(w *world) {
		w.clean(fixedTime)
		for _, x := range []string{"a", "b", "c", "d", "e"} {
			w.die(x)
			w.later(1)
		}
		d, err := w.s.Deaths(ctx, w.k, "", 2)
		w.must(err == nil && len(d.List) == 2 && d.List[1].Content == "b", "%+v, %v", d, err)
		d, err = w.s.Deaths(ctx, w.k, d.List[1].Score, 0)
		w.must(err == nil && len(d.List) == 0, "%+v, %v", d, err)
		w.nextDeaths("", "c", "d", "e")
	}},
	{name: "deaths: not too many bytes", run: func(w *world) {
		w.clean(fixedTime)
		for _, x := range []string{"a", "b", "c"} {
			w.die(x + strings.Repeat("x", 600<<10))
			w.later(1)
		}
		d, err := w.s.Deaths(ctx, w.k, "", 100)
		w.must(err == nil && len(d.List) == 2, "%d, %v", len(d.List), err)
	}},
	{name: "deaths: when there will be more", run: func(w *world) {
		w.clean(fixedTime)
		more := func(want time.Duration) {
			w.Helper()
			d, err := w.s.Deaths(ctx, w.k, "", 10)
			w.must(err == nil && len(d.List) == 0 && d.More == want, "%+v, %v", d, err)
		}
		more(0)
		w.die("a")
		more(time.Millisecond)
		w.later(-500)
		more(501 * time.Millisecond)
		w.do("zadd", w.k.Dead, "XX", "+inf", "a") // by another program
		more(0)
	}},
	{name: "deaths: again after a requeue", run: func(w *world) {
		w.clean(rangeMerge)
		w.die("a")
		w.later(1)
		list := w.nextDeaths("", "a")
		w.nextDeaths(list[0].Score)
		w.die("a") // a requeue leaves nothing, and then it dies again
		w.later(1)
		w.nextDeaths("", "a")
	}},
	{name: "deaths: another copy has failed since", run: func(w *world) {
		w.clean(fixedTime)
		w.die("a")
		w.later(1)
		w.put("a")
		a := w.took(w.as("w", w.slot().number), "a")
		w.tells(luascripts.Left, leaving(w.as("w", a.Fence, fail("a", time.Second))))
		w.later(1)
		list := w.nextDeaths("", "a")
		w.must(list[0].Failure == luascripts.Failure{}, "%+v", list)
	}},
	{name: "deaths: the clock is set back", run: func(w *world) {
		w.clean(fixedTime)
		w.die("a")
		w.later(100)
		w.die("b")
		w.later(1)
		list := w.nextDeaths("", "a", "b")
		w.nextDeaths(list[1].Score)
		w.later(-50)
		w.nextDeaths("") // nothing died before the ms that is noted
		w.die("c")       // now it did
		w.later(100)     // that ms is over again
		list = w.nextDeaths("", "a", "c", "b")
		w.nextDeaths(list[2].Score)
		w.nextDeaths("")
		w.die("d") // after all that is noted
		w.later(1)
		w.nextDeaths("", "d")
	}},
	{name: "deaths: the clock is set back, to the ms that is noted", run: func(w *world) {
		w.clean(fixedTime)
		w.die("a")
		w.later(1)
		w.nextDeaths(w.nextDeaths("", "a")[0].Score)
		w.later(-1)
		w.die("b")
		w.later(1)
		w.nextDeaths("", "a", "b")
	}},
	{name: "deaths: the clock is set back while they are reported", run: func(w *world) {
		w.clean(fixedTime)
		w.die("a")
		w.later(100)
		w.die("b")
		w.later(1)
		list := w.nextDeaths("", "a", "b")
		w.later(-50)
		w.die("c")
		w.later(100)
		for range 2 { // the second one because its answer got lost
			d, err := w.s.Deaths(ctx, w.k, list[1].Score, 10)
			w.must(err == nil && len(d.List) == 0 && d.More == time.Millisecond, "%+v, %v", d, err)
		}
		w.nextDeaths("", "a", "c", "b")
	}},
	{name: "deaths: the clock is set back, and a batch is taken over", run: func(w *world) {
		w.clean(fixedTime)
		w.die("a")
		w.later(1)
		w.nextDeaths(w.nextDeaths("", "a")[0].Score)
		w.later(-100)
		w.do("zadd", w.k.Store, 1, "b", 1, "c") // their last deliveries
		number := w.took(w.as("w", w.slot().number), "b").Fence
		w.tells(luascripts.Number, knowing("w", w.as("x", number)))
		w.later(200)
		w.nextDeaths("", "b", "a")
	}},
	{name: "deaths: meta is lost", run: func(w *world) {
		w.clean(fixedTime)
		w.die("a")
		w.later(1)
		w.nextDeaths(w.nextDeaths("", "a")[0].Score)
		w.do("del", w.k.Meta)
		w.nextDeaths("", "a")
	}},
	{name: "deaths: nothing else of meta is touched", run: func(w *world) {
		w.clean(fixedTime)
		w.die("a")
		w.put("b")
		w.took(w.as("w", w.slot().number), "b")
		before := w.slot()
		w.later(1)
		w.nextDeaths(w.nextDeaths("", "a")[0].Score)
		before.same(w.slot())
	}},
	{name: "deaths: a wrong type", run: func(w *world) {
		w.clean(fixedTime)
		w.die("a")
		w.later(1)
		w.nextDeaths("", "a") // so that something can be noted
		for _, key := range []string{w.k.Dead, w.k.Meta, w.k.Why} {
			w.breakKey(key)
			_, err := w.s.Deaths(ctx, w.k, "5", 10)
			w.repairKey(key)
			w.must(err != nil && w.do("hget", w.k.Meta, "mourned") == nil, "%s: %v", key, err)
		}
	}},
	{name: "deaths: less is returned again", run: func(w *world) {
		w.clean(fixedTime)
		w.die("a")
		w.later(100)
		w.die("b")
		w.later(1)
		list := w.nextDeaths("", "a", "b")
		_, err := w.s.Deaths(ctx, w.k, "", 1)
		w.must(err == nil, "%v", err)
		w.later(-50)
		w.die("c")
		w.later(100)
		_, err = w.s.Deaths(ctx, w.k, list[1].Score, 0)
		w.must(err == nil, "%v", err)
		w.nextDeaths("", "a", "c", "b")
	}},
	{name: "deaths: noted by an older program", run: func(w *world) {
		w.clean(fixedTime)
		w.die("a")
		w.do("hset", w.k.Meta, "mourned", w.now)
		w.later(1)
		w.nextDeaths("", "a")
	}},
	{name: "deaths: Redis is full", live: true, run: func(w *world) {
		w.clean(fixedTime)
		w.die("a")
		w.later(1)
		w.full(true)
		list := w.nextDeaths("", "a")
		w.full(false)
		w.full(true)
		_, err := w.s.Deaths(ctx, w.k, list[0].Score, 10)
		w.full(false)
		w.must(err == nil, "%v", err)
		w.nextDeaths("")
	}},
}

// die sends contents which their handler gives up at once.
func (w *world) die(contents ...string) {
	w.Helper()
	w.put(contents...)
	at := w.now
	a := w.took(asking(len(contents), w.as("killer", w.slot().number)), contents...)
	var verdicts []luascripts.Verdict
	for _, x := range a.Contents {
		verdicts = append(verdicts, luascripts.Verdict{Content: x, Fate: luascripts.Dead, Reason: "no such shop", Priority: 50})
	}
	w.tells(luascripts.Left, leaving(w.as("killer", a.Fence, verdicts...)))
	w.must(w.now == at, "the clock was moved")
}

// nextDeaths notes what was reported, and expects these to be next.
func (w *world) nextDeaths(reported string, contents ...string) []luascripts.Death {
	w.Helper()
	d, err := w.s.Deaths(ctx, w.k, reported, 10)
	got := make([]string, len(d.List))
	for i, one := range d.List {
		got[i] = one.Content
	}
	w.must(err == nil && fmt.Sprint(got) == fmt.Sprint(contents), "%q, not %q: %v", got, contents, err)
	return d.List
}

var deathsDamages = []damage{
	{"from what is noted", "deaths: each once, with what is known", `tonumber(m[1] or '') or 0, tonumber`, `0, tonumber`},
	{"from what the caller has reported", "deaths: each once, with what is known", `reported = tonumber(ARGV[1])`, `reported = reported`},
	{"what was reported is noted", "deaths: each once, with what is known", "  call('HSET', meta, 'mourned', ARGV[1])\n", ""},
	{"what was returned is noted", "deaths: each once, with what is known", "  call('HSET', meta, 'mourning', last)\n", ""},
	{"never less of it", "deaths: less is returned again", `tonumber(last) > (mourning or 0)`, `true`},
	{"what was returned before the clock was set back is not noted", "deaths: the clock is set back while they are reported", "  if ARGV[1] ~= '' then return {'1'} end          -- of an answer before they were taken away: ask again\n", ""},
	{"nor what an older program has noted", "deaths: noted by an older program", "  reported = 0\n", ""},
	{"not those of the present ms", "deaths: each once, with what is known", `string.format('(%.0f', now)`, `string.format('%.0f', now)`},
	{"those of one ms together", "deaths: of one ms together", `call('ZRANGEBYSCORE', dead, at, at)`, `call('ZRANGEBYSCORE', dead, at, at, 'LIMIT', 0, 10)`},
	{"and with two questions", "deaths: very many of one ms", `dead, at, at)) do`, `dead, at, at)) do call('ZRANGEBYSCORE', dead, at, at, 'LIMIT', n, 1)`},
	{"no more than asked for", "deaths: as many as asked for", `n < most and room > 0`, `room > 0`},
	{"no more bytes than allowed", "deaths: not too many bytes", `n < most and room > 0`, `n < most`},
	{"when there will be more", "deaths: when there will be more", `at - now + 1`, `at - now`},
	{"a note passes above maxmemory", "deaths: Redis is full", "call('HDEL', meta, 'mourned')  ", "  "},
	{"a look passes above maxmemory", "deaths: Redis is full", "call('HDEL', meta, 'mourning')  ", "  "},
}
