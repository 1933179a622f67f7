package inspector

import (
	"cmp"
	"container/heap"
	"context"
	"iter"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// A sorted set is read page by page, by rank, while contents come and go. So that nothing
// that stays is passed over or met twice, each page begins one before what is to come next:
// with a content that was met already. If it does not, contents before it have gone, and
// what is to come next has moved to lower ranks: then an earlier page is read.

// member is a content with its score.
type member struct {
	content string
	score   float64
}

// walk goes through one sorted set, from the lowest score to the highest or the other way
// round. Equal scores stand in the order of their bytes, for Redis as for Go.
type walk struct {
	key  string
	slot int
	down bool
	page int     // how many are read at once, and one that was met before
	last float64 // the score it ends with
	head float64 // no score comes before this one

	// The server's clock when the walk began, in ms, and when that was by this machine's.
	start float64
	began time.Time

	met   member   // the last one, or what stands before all that is to be met
	from  int      // where the next page begins, if nothing has changed
	back  int      // how far the last guess was taken back
	above int      // a guess that was too high; 0: none was
	ready []member // read, and to be met next
	over  bool     // there are no more pages
}

// newWalk goes through the scores from low to high, or down from high to low.
func newWalk(key string, low, high float64, down bool, page int) *walk {
	w := &walk{key: key, down: down, page: page, met: member{score: low}, last: high, head: low}
	if down { // no content is empty, so all of score high come after this
		w.met.score, w.last, w.head = math.Nextafter(high, math.Inf(1)), low, high
	}
	return w
}

// order compares members by who is met first.
func (w *walk) order(a, b member) int {
	o := cmp.Or(cmp.Compare(a.score, b.score), strings.Compare(a.content, b.content))
	if w.down {
		return -o
	}
	return o
}

// cmd reads the next page.
func (w *walk) cmd(ctx context.Context) *redis.ZSliceCmd {
	args := []any{"zrange", w.key, w.from, w.from + w.page}
	if w.down {
		args = append(args, "rev")
	}
	return redis.NewZSliceCmd(ctx, append(args, "withscores")...)
}

// take makes of the page what is ready: nothing, if another page must be read.
func (w *walk) take(page []member) {
	if w.from > 0 && (len(page) == 0 || w.order(page[0], w.met) > 0) { // some have gone
		w.above, w.back = w.from, max(w.page, 2*w.back)
		w.from = max(0, w.from-w.back)
		return
	}
	w.back = 0
	w.over = len(page) <= w.page
	next := slices.IndexFunc(page, func(m member) bool { return w.order(m, w.met) > 0 })
	if next < 0 { // it is too early, or others have come
		w.from = max(w.from+len(page)-1, (w.from+w.above)/2)
		return
	}
	w.above = 0
	w.from += len(page) - 1
	page = page[next:]
	w.met = page[len(page)-1]
	if end := slices.IndexFunc(page, w.beyond); end >= 0 {
		page, w.over = page[:end], true
	}
	w.ready = page
}

// beyond reports whether a member comes after all that is to be met.
func (w *walk) beyond(m member) bool {
	if w.down {
		return m.score < w.last
	}
	return m.score > w.last
}

// since reports whether a death may be of after the beginning. One that is later than the
// server's clock is older than it looks: the clock was set back since.
func (w *walk) since(died float64) bool {
	return died > w.start && died <= w.start+float64(time.Since(w.began).Milliseconds()+1)
}

// read reads on for walks that have nothing ready, until each has or is over.
func (i *Inspector) read(ctx context.Context, walks []*walk) error {
	for some := range slices.Chunk(walks, perPipeline) {
		for {
			var hungry []*walk
			var cmds []redis.Cmder
			for _, w := range some {
				if len(w.ready) == 0 && !w.over {
					hungry, cmds = append(hungry, w), append(cmds, w.cmd(ctx))
				}
			}
			if len(cmds) == 0 {
				break
			}
			i.scripts.Exec(ctx, cmds...)
			for k, w := range hungry {
				zs, err := cmds[k].(*redis.ZSliceCmd).Result()
				if err != nil {
					return at(w.key, i.explain(err))
				}
				page := make([]member, len(zs))
				for n, z := range zs {
					content, _ := z.Member.(string)
					page[n] = member{content, z.Score}
				}
				w.take(page)
			}
		}
	}
	return nil
}

// merge goes through all walks in their common order, and tells which walk each member
// is of. An error is the last it yields. If only few members are wanted, no more walks are
// read than these may be of; 0: all are wanted.
func (i *Inspector) merge(ctx context.Context, walks []*walk, few int) iter.Seq2[found, error] {
	return func(yield func(found, error) bool) {
		slices.SortStableFunc(walks, func(a, b *walk) int { return a.order(member{score: a.head}, member{score: b.head}) })
		if few == 0 || few > len(walks) {
			few = len(walks)
		}
		if err := i.read(ctx, walks[:few]); err != nil {
			yield(found{}, err)
			return
		}
		next := heads(slices.DeleteFunc(walks, func(w *walk) bool { return len(w.ready) == 0 && w.over }))
		heap.Init(&next)
		for len(next) > 0 {
			if err := ctx.Err(); err != nil {
				yield(found{}, err)
				return
			}
			w := next[0]
			if len(w.ready) > 0 {
				m := w.ready[0]
				w.ready = w.ready[1:]
				if !yield(found{w, m}, nil) {
					return
				}
			}
			if err := i.read(ctx, []*walk{w}); err != nil {
				yield(found{}, err)
				return
			}
			if len(w.ready) > 0 {
				heap.Fix(&next, 0)
			} else {
				heap.Pop(&next)
			}
		}
	}
}

// before reports whether what comes next of one walk comes before that of another.
func (w *walk) before(other *walk) bool {
	if len(w.ready) > 0 && len(other.ready) > 0 {
		return w.order(w.ready[0], other.ready[0]) < 0
	}
	next := func(w *walk) member {
		if len(w.ready) > 0 {
			return member{score: w.ready[0].score}
		}
		return member{score: w.head}
	}
	o := w.order(next(w), next(other))
	return o < 0 || o == 0 && len(w.ready) == 0 && len(other.ready) > 0
}

// found is a member, and the walk that met it.
type found struct {
	in *walk
	member
}

// heads is a heap of walks by what is ready first, or may be where nothing was read yet.
type heads []*walk

func (h heads) Len() int           { return len(h) }
func (h heads) Less(a, b int) bool { return h[a].before(h[b]) }
func (h heads) Swap(a, b int)      { h[a], h[b] = h[b], h[a] }
func (h *heads) Push(x any)        { *h = append(*h, x.(*walk)) }
func (h *heads) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
