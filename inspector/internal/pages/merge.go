package pages

import (
	"cmp"
	"container/heap"
	"context"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/inspector/internal/ask"
	"github.com/slotmq/go-rmq/internal/protocol/byhand"
	"github.com/slotmq/go-rmq/internal/protocol/script"
)

// read reads on for walks that have nothing ready, until each has or is over. Without force
// it stops where what comes next is too large, and reports that. A walk that fails is over,
// unless fail returns an error: then all are.
func read(ctx context.Context, g *ask.Ground, walks []*Walk, force bool, fail failing) (full bool, err error) {
	for hungry := slices.Clone(walks); ; {
		hungry = slices.DeleteFunc(hungry, func(w *Walk) bool { return len(w.ready) > 0 || w.Over || w.full && !force })
		if len(hungry) == 0 {
			return full, nil
		}
		asks, cmds := make([]byhand.PageAsk, len(hungry)), make([]redis.Cmder, len(hungry))
		for k, w := range hungry {
			asks[k] = w.ask(min(w.room, PageBytes/len(hungry)), force)
			cmds[k] = byhand.PageCmd(ctx, asks[k])
		}
		script.Exec(ctx, g.Redis, cmds...)
		for k, w := range hungry {
			p, err := byhand.PageAnswer(cmds[k].(*redis.StringSliceCmd))
			if err != nil {
				w.Over = true
				if err := fail(w, ask.At(w.Key, g.Explain(err))); err != nil {
					return full, err
				}
				continue
			}
			w.heed(asks[k], p, force)
			full = full || w.full
		}
	}
}

// heed makes the page that answers a question ready.
func (w *Walk) heed(asked byhand.PageAsk, p byhand.Page, force bool) {
	page := make([]Member, len(p.Entries))
	for n, e := range p.Entries {
		page[n].Content = e.Content
		page[n].Score, _ = strconv.ParseFloat(e.Score, 64)
	}
	if asked.Known != (byhand.Known{}) && len(page) > 0 && page[0].Content == "" {
		if page[0].Score != w.met.Score { // it has died again, say: then it is to be met again
			w.known = byhand.Known{}
			return
		}
		page[0] = w.met
	}
	w.Take(page, p.Next)
	w.full = !force && len(w.ready) == 0 && p.Next != "" && len(page) < asked.Most
}

// failing gets the error of a walk. If it returns one, the whole ends with it.
type failing func(w *Walk, why error) error

// Merge goes through all walks in their common order, and yields each member with the walk it
// is from. An error is the last it yields. If only few members are wanted, it reads no more
// walks ahead than these may come from; 0: all are wanted.
func Merge(ctx context.Context, g *ask.Ground, walks []*Walk, few int, fail failing) iter.Seq2[found, error] {
	return func(yield func(found, error) bool) {
		if few == 0 || few > len(walks) {
			few = len(walks)
		}
		for _, w := range walks {
			const least = 256 // bytes
			w.room = max(least, min(PageBytes, heldBytes/len(walks)))
		}
		next := heads(slices.Clone(walks))
		slices.SortStableFunc(next, (*Walk).before)
		const first = 8 // they show whether contents are large
		for from, some := 0, first; from < few; from, some = from+some, ask.PerPipeline {
			full, err := read(ctx, g, next[from:min(from+some, few)], false, fail)
			if err != nil {
				yield(found{}, err)
				return
			}
			if full {
				break
			}
		}
		heap.Init(&next)
		for len(next) > 0 {
			if err := ctx.Err(); err != nil {
				yield(found{}, err)
				return
			}
			w := next[0]
			if len(w.ready) > 0 {
				m := w.ready[0]
				w.ready[0] = Member{} // which may be large
				w.ready = w.ready[1:]
				if !yield(found{w, m}, nil) {
					return
				}
			} else if _, err := read(ctx, g, []*Walk{w}, true, fail); err != nil {
				yield(found{}, err)
				return
			}
			if w.Over && len(w.ready) == 0 {
				heap.Pop(&next)
			} else {
				heap.Fix(&next, 0)
			}
		}
	}
}

// before compares walks by whose next member comes first, as far as it is known. Equal ones
// come in the order of their slots, so that none must be read to find out.
func (w *Walk) before(other *Walk) int {
	next := func(w *Walk) float64 {
		if len(w.ready) > 0 {
			return w.ready[0].Score
		}
		return w.Head
	}
	o := cmp.Compare(next(w), next(other))
	if w.down {
		o = -o
	}
	return cmp.Or(o, cmp.Compare(w.Slot, other.Slot), strings.Compare(w.Key, other.Key))
}

// found is a member, and the walk that met it.
type found struct {
	In *Walk
	Member
}

// heads is a heap of walks by what comes next.
type heads []*Walk

func (h heads) Len() int { return len(h) }

func (h heads) Less(a, b int) bool { return h[a].before(h[b]) < 0 }

func (h heads) Swap(a, b int) { h[a], h[b] = h[b], h[a] }

func (h *heads) Push(x any) { *h = append(*h, x.(*Walk)) }

func (h *heads) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
