package inspector

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/slotmq/go-rmq/internal/text/words"
)

// Reason is why messages are dead: those whose last errors are equal, but for numbers in them.
type Reason struct {
	Text        string // the first line of their last errors, with # for each number; empty: nothing is known of them
	Count       int
	First, Last time.Time // when the first and the last of them died
	Latest      Entry     // one that died last
	Cut         bool      // Latest.Content is only its beginning: it is long, and those of other reasons are, too
	Rest        bool      // it stands for all reasons behind the first 1000 that were met
}

// mostReasons are told apart.
const mostReasons = 1000

// How many bytes of their latest contents stay in memory: of the long ones together, and at least of each.
const (
	longContents = 4 << 20
	leastContent = 1000
)

// Reasons groups the dead messages that a query selects by why they died, the most frequent reason first. It reads
// all of them; no more than the reasons stay in memory, with 4 MiB of their latest contents, and 1,000 bytes of each other one.
func (d DeadMessages) Reasons(ctx context.Context, topic string, q DeadQuery) ([]Reason, error) {
	operation := "group dead messages of topic " + topic
	t, err := d.i.w.About(ctx, operation, topic)
	if err != nil {
		return nil, err
	}
	groups := map[string]*Reason{}
	rest := &Reason{Rest: true}
	room := longContents
	var failed error
	for e, err := range d.each(ctx, t, q, true) {
		if err != nil {
			failed = fmt.Errorf("%s: %w", operation, err)
			break // it is the last
		}
		text := ""
		if e.Failure != nil {
			text = words.Reason(e.Failure.Reason)
		}
		r := groups[text]
		switch {
		case r == nil && len(groups) < mostReasons:
			r = &Reason{Text: text}
			groups[text] = r
		case r == nil:
			r = rest
		}
		r.add(e, &room)
	}
	all := make([]Reason, 0, len(groups)+1)
	for _, r := range groups {
		all = append(all, *r)
	}
	slices.SortFunc(all, func(a, b Reason) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), b.Last.Compare(a.Last), strings.Compare(a.Text, b.Text))
	})
	if rest.Count > 0 {
		all = append(all, *rest)
	}
	return all, failed
}

// add counts a message. room is how many bytes long contents may still have.
func (r *Reason) add(e Entry, room *int) {
	if r.Count == 0 || e.Died.Before(r.First) {
		r.First = e.Died
	}
	if r.Count == 0 || !e.Died.Before(r.Last) {
		*room += longBytes(r.Latest.Content)
		if r.Cut = longBytes(e.Content) > *room; r.Cut {
			e.Content = strings.Clone(words.Head(e.Content, leastContent)) // or the whole would stay in memory
		}
		*room -= longBytes(e.Content)
		r.Last, r.Latest = e.Died, e
	}
	r.Count++
}

// longBytes is how much room a content needs among the long ones.
func longBytes(content string) int {
	if len(content) <= leastContent {
		return 0
	}
	return len(content)
}
