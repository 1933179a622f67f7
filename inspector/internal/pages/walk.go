package pages

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slotmq/go-rmq/internal/protocol/byhand"
	"github.com/slotmq/go-rmq/internal/protocol/limits"
)

// A sorted set is read page by page, by rank, while contents come and go. Nothing that stays
// may be passed over or met twice. So each page begins one before what comes next, with a
// content that was met already. If it does not begin with that, contents before it have gone,
// and what comes next has moved to lower ranks: then an earlier page is read.

// Contents may be large, and there may be thousands of slots. So no question asks for a
// number of contents alone: no answer has more than pageBytes, and all that was read and not
// met yet has no more than heldBytes, but for a content that is larger by itself. Of a content
// that is too large to be read ahead, only the score is known until it is met.
const (
	PageBytes = 512 << 10
	heldBytes = 4 << 20
)

// Member is a content with its score.
type Member struct {
	Content string
	Score   float64
}

// Walk goes through one sorted set, from the lowest score to the highest or the other way
// round. Equal scores stand in the order of their bytes, for Redis as for Go.
type Walk struct {
	Key  string
	Slot int
	down bool
	page int     // how many are read at once, and one that was met before
	room int     // how many bytes of them may be read ahead
	last float64 // the score it ends with
	Head float64 // no score comes before this one

	// The server's clock when the walk began, in ms, and when that was by this machine's.
	Start float64
	Began time.Time

	met   Member // the last one, or what stands before all that is to be met
	known byhand.Known
	level bool     // all of the score of met count as met, and what met was is forgotten
	begin bool     // nothing stands before all, not even met
	From  int      // where the next page begins, if nothing has changed
	back  int      // how far the last guess was taken back
	above int      // a guess that was too high; 0: none was
	ready []Member // read, and to be met next
	full  bool     // what comes next is too large to be read ahead
	stays bool     // the last page began with what was met before
	Over  bool     // there are no more pages
}

// NewWalk goes through the scores from low to high, or down from high to low.
func NewWalk(key string, low, high float64, down bool, page int) *Walk {
	w := &Walk{Key: key, down: down, page: page, room: PageBytes, met: Member{Score: low}, last: high, Head: low}
	if down { // no content is empty, so all of score high come after this
		w.met.Score, w.last, w.Head = math.Nextafter(high, math.Inf(1)), low, high
		w.begin = math.IsInf(high, 1)
	}
	return w
}

// order compares members by who is met first.
func (w *Walk) order(a, b Member) int {
	o := cmp.Or(cmp.Compare(a.Score, b.Score), strings.Compare(a.Content, b.Content))
	if w.down {
		return -o
	}
	return o
}

// ask is the question for the next page. What comes next is read ahead if there is room for
// it, or with force however large it is.
func (w *Walk) ask(room int, force bool) byhand.PageAsk {
	ask := byhand.PageAsk{Key: w.Key, From: w.From, Down: w.down, Most: w.page + 1, Bytes: room, Known: w.known}
	if force {
		ask.Least = 2 // the first one may be what was met before
		if w.From == 0 && !w.stays {
			ask.Least = 1 // it is not: one more of each slot, to be met much later, would be too much
		}
	}
	return ask
}

// Take makes the page ready, or nothing of it if another page must be read. If next is not
// empty, it is the score of what follows the page.
func (w *Walk) Take(page []Member, next string) {
	if w.From > 0 && len(page) == 0 && next != "" { // there was no room even for the one before
		return
	}
	if w.From > 0 && (len(page) == 0 || w.fresh(page[0])) { // some have gone
		w.above, w.back = w.From, max(w.page, 2*w.back)
		w.From = max(0, w.From-w.back)
		return
	}
	w.back = 0
	w.Over = next == ""
	score, err := strconv.ParseFloat(next, 64)
	if err == nil {
		w.Head = score
		w.Over = w.beyond(Member{Score: score})
	}
	w.stays = len(page) > 0 && !w.fresh(page[0])
	first := slices.IndexFunc(page, w.fresh)
	if first < 0 { // it is too early, or others have come
		w.From = max(w.From+len(page)-1, (w.From+w.above)/2)
		return
	}
	w.above, w.begin = 0, false
	w.From += len(page) - 1
	page = page[first:]
	w.met, w.level = page[len(page)-1], false
	w.known = byhand.Know(w.met.Content)
	if (err != nil || score != w.met.Score) && w.known != (byhand.Known{}) {
		w.met.Content, w.level = "", true // it is large, and thousands of walks may wait
	}
	if end := slices.IndexFunc(page, w.beyond); end >= 0 {
		page, w.Over = page[:end], true
	}
	w.ready = page
}

// Floor and ceiling bound the scores that are read as n: none is below floor(n), and none
// above ceiling(n).
func Floor(n int64) float64 {
	if n <= -limits.MaxScore {
		return math.Inf(-1)
	}
	return float64(n)
}

func Ceiling(n int64) float64 {
	if n >= limits.MaxScore {
		return math.Inf(1)
	}
	return float64(n + 1)
}

// fresh reports whether a member was not met yet.
func (w *Walk) fresh(m Member) bool {
	return w.begin || w.order(m, w.met) > 0 && !(w.level && m.Score == w.met.Score)
}

// beyond reports whether a member comes after all that is to be met.
func (w *Walk) beyond(m Member) bool {
	if w.down {
		return m.Score < w.last
	}
	return m.Score > w.last
}

// Since reports whether a death may be of after the beginning. One that is later than the
// server's clock is older than it looks: the clock was set back since.
func (w *Walk) Since(died float64) bool {
	return died > w.Start && died <= w.Start+float64(time.Since(w.Began).Milliseconds()+1)
}
