package protocol_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/night"
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
		w.nextDeaths(list[1].UpTo, "c")
		w.nextDeaths("", "c")
		w.nextDeaths(list[2].UpTo)
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
		w.nextDeaths(w.nextDeaths("", all...)[0].UpTo, "z")
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
		d, err = w.s.Deaths(ctx, w.k, d.List[1].UpTo, 0)
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
		w.nextDeaths(list[0].UpTo)
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
		w.tells(protocol.Left, leaving(w.as("w", a.Fence, fail("a", time.Second))))
		w.later(1)
		list := w.nextDeaths("", "a")
		w.must(list[0].Failure == protocol.Failure{}, "%+v", list)
	}},
	{name: "deaths: the clock is set back", run: func(w *world) {
		w.clean(fixedTime)
		w.die("a")
		w.later(100)
		w.die("b")
		w.later(1)
		list := w.nextDeaths("", "a", "b")
		w.nextDeaths(list[1].UpTo)
		w.later(-50)
		w.nextDeaths("") // nothing died before the ms that is noted
		w.die("c")       // now it did
		w.later(100)     // that ms is over again
		list = w.nextDeaths("", "a", "c", "b")
		w.nextDeaths(list[2].UpTo)
		w.nextDeaths("")
		w.die("d") // after all that is noted
		w.later(1)
		w.nextDeaths("", "d")
	}},
	{name: "deaths: the clock is set back, to the ms that is noted", run: func(w *world) {
		w.clean(fixedTime)
		w.die("a")
		w.later(1)
		w.nextDeaths(w.nextDeaths("", "a")[0].UpTo)
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
		w.again(list[1].UpTo)
		w.again(list[1].UpTo) // because the answer got lost
		w.nextDeaths("", "a", "c", "b")
	}},
	{name: "deaths: the clock is set back, and a batch is taken over", run: func(w *world) {
		w.clean(fixedTime)
		w.die("a")
		w.later(1)
		w.nextDeaths(w.nextDeaths("", "a")[0].UpTo)
		w.later(-100)
		w.do("zadd", w.k.Store, 1, "b", 1, "c") // their last deliveries
		number := w.took(w.as("w", w.slot().number), "b").Fence
		w.tells(protocol.Number, knowing("w", w.as("x", number)))
		w.later(200)
		w.nextDeaths("", "b", "a")
	}},
	{name: "deaths: meta is lost", run: func(w *world) {
		w.clean(fixedTime)
		w.die("a")
		w.later(1)
		w.nextDeaths(w.nextDeaths("", "a")[0].UpTo)
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
		w.nextDeaths(w.nextDeaths("", "a")[0].UpTo)
		before.same(w.slot())
	}},
	{name: "deaths: a wrong type", run: func(w *world) {
		w.clean(fixedTime)
		w.die("a")
		w.later(1)
		w.die("b")
		w.later(1)
		list := w.nextDeaths("", "a", "b")
		for _, key := range []string{w.k.Dead, w.k.Meta, w.k.Why} {
			w.breakKey(key)
			_, err := w.s.Deaths(ctx, w.k, list[0].UpTo, 10)
			w.repairKey(key)
			w.must(err != nil, "%s: %v", key, err)
			w.nextDeaths("", "a", "b")
		}
	}},
	{name: "deaths: the clock is set back while two workers report them", run: func(w *world) {
		w.clean(fixedTime)
		w.die("a")
		w.later(100)
		w.die("b")
		w.later(1)
		late := w.nextDeaths("", "a", "b")[1].UpTo
		w.later(-80)
		w.die("c")
		w.later(1)
		list := w.nextDeaths("", "a", "c") // by the other worker
		w.nextDeaths(list[1].UpTo)
		w.again(late)
		w.die("d")
		w.later(1)
		w.nextDeaths("", "d")
		w.later(100)
		w.nextDeaths("", "d", "b")
	}},
	{name: "deaths: Redis forgets what was returned", run: func(w *world) {
		w.clean(fixedTime)
		w.die("a")
		w.later(1)
		w.nextDeaths(w.nextDeaths("", "a")[0].UpTo)
		before := w.do("hget", w.k.Meta, "mourned")
		w.later(100)
		w.die("b")
		w.later(1)
		late := w.nextDeaths("", "b")[0].UpTo
		w.do("hset", w.k.Meta, "mourned", before)
		w.later(-50)
		w.die("c")
		w.later(100)
		w.nextDeaths("", "c", "b") // by a worker that dies
		w.again(late)
		w.nextDeaths("", "c", "b")
	}},
	{name: "deaths: whatever happens", run: randomDeaths},
	{name: "deaths: less is returned again", run: func(w *world) {
		w.clean(fixedTime)
		w.die("a")
		w.later(100)
		w.die("b")
		w.later(1)
		list := w.nextDeaths("", "a", "b")
		_, err := w.s.Deaths(ctx, w.k, "", 1) // by another worker: both get on
		w.must(err == nil, "%v", err)
		w.nextDeaths(list[1].UpTo)
		w.nextDeaths("")
	}},
	{name: "deaths: noted by an older program", run: func(w *world) {
		w.clean(fixedTime)
		w.die("a")
		w.later(1)
		list := w.nextDeaths("", "a")
		w.do("hset", w.k.Meta, "mourned", w.now)
		w.again(list[0].UpTo)
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
		_, err := w.s.Deaths(ctx, w.k, list[0].UpTo, 10)
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
	var verdicts []protocol.Verdict
	for _, x := range a.Contents {
		verdicts = append(verdicts, protocol.Verdict{Content: x, Fate: protocol.Dead, Reason: "no such shop", Priority: 50})
	}
	w.tells(protocol.Left, leaving(w.as("killer", a.Fence, verdicts...)))
	w.must(w.now == at, "the clock was moved")
}

// nextDeaths notes what was reported, and expects these to be next.
func (w *world) nextDeaths(reported string, contents ...string) []protocol.Death {
	w.Helper()
	d, err := w.s.Deaths(ctx, w.k, reported, 10)
	got := make([]string, len(d.List))
	for i, one := range d.List {
		got[i] = one.Content
	}
	w.must(err == nil && fmt.Sprint(got) == fmt.Sprint(contents), "%q, not %q: %v", got, contents, err)
	return d.List
}

// What several workers do at one slot in any order, while the clock is set back and Redis
// forgets: each of the dead is reported in the end.
func randomDeaths(w *world) {
	const workers, most = 3, 3
	for seed := range uint64(night.Times(25, 100)) {
		r := rand.New(rand.NewPCG(seed, 7))
		w.clean(fixedTime)
		start := w.now
		var steps []string
		reported := map[string]bool{}
		var replicated any // `mourned`, at a replica
		var since []string // who died since then
		var of [workers]struct {
			list     []protocol.Death
			reported string
		}
		note := func(i, count int) {
			d, err := w.s.Deaths(ctx, w.k, of[i].reported, count)
			w.must(err == nil, "%v", err)
			steps = append(steps, fmt.Sprint(w.now-start, ": ", i, " notes '", of[i].reported, "' and gets ", d.List))
			if of[i].reported = ""; count > 0 {
				of[i].list = d.List
			}
		}
		report := func(i int) {
			d := of[i].list[0]
			reported[d.Content] = true
			if len(of[i].list) == 1 || of[i].list[1].UpTo != d.UpTo {
				of[i].reported = d.UpTo
			}
			of[i].list = of[i].list[1:]
		}
		for n := range 40 {
			i := r.IntN(workers)
			switch p := r.IntN(20); {
			case p < 4:
				since = append(since, fmt.Sprint("m", n))
				w.die(since[len(since)-1])
				steps = append(steps, fmt.Sprint(w.now-start, ": m", n, " dies"))
			case p < 8:
				w.later(int64(r.IntN(5)))
			case p < 9:
				w.later(-int64(r.IntN(20)))
			case p < 10:
				of[i].list, of[i].reported = nil, "" // it is killed
			case p < 11:
				replicated, since = w.do("hget", w.k.Meta, "mourned"), nil
			case p < 12:
				w.do("hdel", w.k.Meta, "mourned")
				if replicated != nil {
					w.do("hset", w.k.Meta, "mourned", replicated)
				}
				for _, x := range since {
					w.do("zrem", w.k.Dead, x)
				}
				steps = append(steps, fmt.Sprint(w.now-start, ": Redis forgets all after ", replicated, " and ", since))
				since = nil
			case p < 14:
				note(i, 0)
			case len(of[i].list) > 0:
				report(i)
			default:
				note(i, 1+r.IntN(most))
			}
		}
		w.later(100)
		for range 30 {
			for i := range of {
				for len(of[i].list) > 0 {
					report(i)
				}
				note(i, most)
			}
		}
		for _, x := range w.do("zrange", w.k.Dead, 0, -1).([]any) {
			w.must(reported[x.(string)], "seed %d: %s is never reported\n%s", seed, x, strings.Join(steps, "\n"))
		}
	}
}

// again notes what does not count any more, and expects to be asked to look again.
func (w *world) again(reported string) {
	w.Helper()
	before := w.do("hget", w.k.Meta, "mourned")
	d, err := w.s.Deaths(ctx, w.k, reported, 10)
	w.must(err == nil && len(d.List) == 0 && d.More == time.Millisecond, "%+v, %v", d, err)
	w.must(w.do("hget", w.k.Meta, "mourned") == before, "it was noted")
}

var deathsDamages = []damage{
	{"from what is noted", "deaths: each once, with what is known", `tonumber(reported or '')`, `tonumber(noting and reported or '')`},
	{"from what the caller has reported", "deaths: each once, with what is known", "  reported = ms\n", ""},
	{"what was reported is noted", "deaths: each once, with what is known", `if further or noting then`, `if further then`},
	{"what was returned is noted", "deaths: each once, with what is known", `if further or noting then`, `if noting then`},
	{"never less of it", "deaths: less is returned again", `tonumber(last) > returned`, `true`},
	{"what was returned before the clock was set back is not noted", "deaths: the clock is set back while they are reported", `not mark or of ~= mark`, `mark and of ~= mark`},
	{"nor if others were returned since", "deaths: the clock is set back while two workers report them", `not mark or of ~= mark`, `not mark`},
	{"nor what Redis forgot that it was returned", "deaths: Redis forgets what was returned", `'@', time[1], '.', time[2]`, `'@'`},
	{"nor what an older program has noted", "deaths: noted by an older program", `reported, mark = string.match(call('HMGET', meta, 'mourned')[1] or '', '^(%S+) (%S+)$')`, `reported, mark = string.match(call('HMGET', meta, 'mourned')[1] or '', '^(%S+) ?(%S*)$')`},
	{"not those of the present ms", "deaths: each once, with what is known", `string.format('(%.0f', now)`, `string.format('%.0f', now)`},
	{"those of one ms together", "deaths: of one ms together", `call('ZRANGEBYSCORE', dead, at, at)`, `call('ZRANGEBYSCORE', dead, at, at, 'LIMIT', 0, 10)`},
	{"and with two questions", "deaths: very many of one ms", `dead, at, at)) do`, `dead, at, at)) do call('ZRANGEBYSCORE', dead, at, at, 'LIMIT', n, 1)`},
	{"no more than asked for", "deaths: as many as asked for", `n < most and room > 0`, `room > 0`},
	{"no more bytes than allowed", "deaths: not too many bytes", `n < most and room > 0`, `n < most`},
	{"when there will be more", "deaths: when there will be more", `at - now + 1`, `at - now`},
	{"a note passes above maxmemory", "deaths: Redis is full", "call('HDEL', meta, 'mourned')  ", "  "},
}
