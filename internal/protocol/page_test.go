package protocol_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/slotmq/go-rmq/internal/protocol/byhand"
)

// Contents may be large, and people must not fill the server's memory by looking at them.

var pageDamages = []damage{
	{"a page begins where asked for", "page: contents of a sorted set", `ZRANGE', key, from + n, from + n, 'WITHSCORES'`, `ZRANGE', key, n, n, 'WITHSCORES'`},
	{"the other way round, too", "page: contents of a sorted set", `'REV', 'WITHSCORES'`, `'WITHSCORES'`},
	{"no more than so many", "page: contents of a sorted set", `n == most or`, ``},
	{"no more bytes than so many", "page: contents of a sorted set", `room < 0 and n >= least`, `false`},
	{"so many however large", "page: contents of a sorted set", `room < 0 and n >= least`, `room < 0`},
	{"what follows is told", "page: contents of a sorted set", `answer[1] = score`, `answer[1] = ''`},
	{"what is known is not sent again", "page: contents of a sorted set", `x, length = '', 0`, `x, length = x, 0`},
	{"and takes no room", "page: contents of a sorted set", `x, length = '', 0`, `x = ''`},
	{"what only looks like it is sent", "page: contents of a sorted set", ` and redis.sha1hex(x) == ARGV[7]`, ``},
}

// readPages compares pages with what they must be, for all ways of asking.
func readPages(w *world) {
	w.clean(rangeMerge)
	var all []byhand.Scored
	for n, length := range []int{10, 2000, 2000, 10, 500, 3000, 1, 1500} {
		score := 100 + n/2 // some are equal
		content := fmt.Sprintf("%d", n) + strings.Repeat("x", length-1)
		w.do("zadd", w.k.Dead, score, content)
		all = append(all, byhand.Scored{Content: content, Score: fmt.Sprint(score)})
	}
	w.do("zadd", w.k.Store, 1, "another key")
	asks := 0
	for _, down := range []bool{false, true} {
		if down {
			slices.Reverse(all)
		}
		for from := range len(all) + 2 {
			for _, most := range []int{1, 2, 3, 100} {
				for _, bytes := range []int{0, 10, 2000, 2011, 4009, 1 << 20} {
					for least := range 3 {
						for _, known := range []string{"", all[min(from, len(all)-1)].Content, strings.Repeat("y", 2000)} {
							asks++
							ask := byhand.PageAsk{Key: w.k.Dead, From: from, Down: down, Most: most, Bytes: bytes, Least: least, Known: byhand.Know(known)}
							var want byhand.Page
							rest := all[min(from, len(all)):]
							room := bytes
							for n, e := range rest {
								if n > 0 || e.Content != known || len(known) < 1<<10 {
									room -= len(e.Content)
								}
								if n == most || room < 0 && n >= least {
									want.Next = e.Score
									break
								}
								want.Entries = append(want.Entries, e)
							}
							same := len(want.Entries) > 0 && want.Entries[0].Content == known && len(known) >= 1<<10
							if same {
								want.Entries[0].Content = "" // it is not sent again
							}
							cmd := byhand.PageCmd(ctx, ask)
							w.s.Exec(ctx, cmd)
							got, err := byhand.PageAnswer(cmd)
							w.must(err == nil && got.Next == want.Next && slices.Equal(got.Entries, want.Entries), "%+v: %.200v, not %.200v; %v", ask, got, want, err)
						}
					}
				}
			}
		}
	}
	w.must(asks > 1000, "only %d", asks)
}

// lookLarge: an audit is no larger than it must be.
func lookLarge(w *world) {
	w.clean(rangeMerge)
	content := func(n int) string { return fmt.Sprint(n) + strings.Repeat("x", 200<<10) }
	for n := range 10 {
		w.do("zadd", w.k.Dead, w.now, content(n))
		w.do("zadd", w.k.Prepare, w.now/1000*1000+16, content(100+n))
	}
	w.do("hset", w.k.Meta, "holder", "a", "batch", 1)
	small := func(a *byhand.Audit, err error, most int) {
		w.Helper()
		w.must(err == nil, "%v", err)
		bytes := 0
		for _, e := range a.Entries {
			bytes += len(e.Content)
		}
		for _, x := range a.Flight {
			bytes += len(x.Content)
		}
		w.must(bytes <= most, "%d bytes at once", bytes)
	}
	met := 0
	for from := "0"; ; {
		a, err := w.s.Audit(ctx, w.k, byhand.PartDead, from, 100)
		small(a, err, 1<<20)
		w.must(len(a.Entries) == 2 && (from != "0" || len(a.Flight) == 3), "%d entries, %d in flight", len(a.Entries), len(a.Flight))
		met += len(a.Entries)
		if from = a.Next; from == "0" {
			break
		}
	}
	w.must(met == 10, "%d of 10", met)
	a, err := w.s.Audit(ctx, w.k, byhand.PartStore, "0", 100)
	w.must(err == nil && a.Violations() == nil && a.Sizes[1] == 10, "%v, %v", a.Violations(), err)
	// Two of more than that come all the same, or whoever begins one before would not get on.
	for n := range 3 {
		w.do("zadd", w.k.Store, w.now, fmt.Sprint(n)+strings.Repeat("y", 700<<10))
	}
	a, err = w.s.Audit(ctx, w.k, byhand.PartStore, "0", 100)
	w.must(err == nil && len(a.Entries) == 2 && a.Next == "2", "%d entries, then %s; %v", len(a.Entries), a.Next, err)
	// A mark that is not like the others is found, even if its content is not told.
	w.do("zadd", w.k.Prepare, w.now/1000*1000+5000+16, content(105))
	a, err = w.s.Audit(ctx, w.k, byhand.PartStore, "0", 100)
	w.must(err == nil && len(a.Violations()) == 1 && a.Violations()[0].Rule == "BATCH", "%v, %v", a.Violations(), err)
}
