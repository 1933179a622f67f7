package console

import (
	"context"
	"encoding/base64"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/cluster"
	"github.com/slotmq/go-rmq/internal/humantime"
	"github.com/slotmq/go-rmq/internal/wire"
	"github.com/slotmq/go-rmq/internal/words"
)

// filter says which dead messages are meant. The words are those of rmq dead.
type filter struct {
	Topic   string
	Content string   // a glob
	Reason  string   // a part of the last error
	Group   string   // the last error as it is grouped
	Grouped bool     // by Group, which is empty where no error is known
	Older   string   // how long dead, at least
	Newer   string   // at most
	Slots   string   // 3,7 or 0-5
	Picks   []string // single ones, by pickOf
	Before  string   // ms: died before. A form has it, so that what it does is what it said; then Older and Newer only say where it is from
	After   string   // ms: died after; beside Before
}

// filter reads the fields of an address or a form.
func (v *visit) filter() filter {
	q := v.values()
	if group, err := base64.RawURLEncoding.DecodeString(q.Get("group64")); err == nil && q.Has("group64") {
		q.Set("group", string(group))
	}
	return filter{Topic: q.Get("topic"), Content: strings.TrimSpace(q.Get("glob")), Reason: strings.TrimSpace(q.Get("reason")),
		Group: q.Get("group"), Grouped: q.Has("group"), Older: strings.TrimSpace(q.Get("older")), Newer: strings.TrimSpace(q.Get("newer")),
		Slots: strings.TrimSpace(q.Get("slots")), Picks: q["pick"], Before: q.Get("before"), After: q.Get("after")}
}

// values are the fields that it is made of, without those that are empty.
func (f filter) values() url.Values {
	q := url.Values{"topic": {f.Topic}}
	for name, value := range map[string]string{"glob": f.Content, "reason": f.Reason, "older": f.Older, "newer": f.Newer, "slots": f.Slots, "before": f.Before, "after": f.After} {
		if value != "" {
			q.Set(name, value)
		}
	}
	switch {
	case !f.Grouped:
	case strings.ContainsFunc(f.Group, unicode.IsControl): // which forms change
		q.Set("group64", base64.RawURLEncoding.EncodeToString([]byte(f.Group)))
	default:
		q.Set("group", f.Group)
	}
	if len(f.Picks) > 0 {
		q["pick"] = f.Picks
	}
	return q
}

// Fields are the same for a form.
func (f filter) Fields() (all []field) {
	q := f.values()
	for name, values := range q {
		for _, value := range values {
			all = append(all, field{name, value})
		}
	}
	slices.SortFunc(all, func(a, b field) int { return strings.Compare(a.Name+a.Value, b.Name+b.Value) })
	return all
}

// field is one of a form.
type field struct{ Name, Value string }

// Any reports whether it leaves anything out.
func (f filter) Any() bool { return len(f.values()) > 1 }

// Words says what it chooses.
func (f filter) Words() (all []string) {
	add := func(is bool, text string) {
		if is {
			all = append(all, text)
		}
	}
	add(len(f.Picks) == 1, "the one that you have chosen")
	add(len(f.Picks) > 1, "the "+strconv.Itoa(len(f.Picks))+" that you have chosen")
	add(f.Grouped && f.Group != "", "with the error “"+words.Legible(f.Group)+"”")
	add(f.Grouped && f.Group == "", "of whose errors nothing is known")
	add(f.Content != "", "with a content like “"+words.Legible(f.Content)+"”")
	add(f.Reason != "", "with “"+words.Legible(f.Reason)+"” in the error")
	add(f.Older != "", "dead for longer than "+f.Older)
	add(f.Newer != "", "dead for less than "+f.Newer)
	add(f.Slots != "", "in slots "+f.Slots)
	return all
}

// pickOf names a dead message: its slot, when it died, and a part of the hash of its content.
func (c *Console) pickOf(e inspector.Entry) string {
	return strconv.Itoa(e.Slot) + "." + strconv.FormatInt(e.Died.UnixMilli(), 10) + "." + c.digest(e.Content)[:32]
}

// errGuess is the answer where contents are hidden: who may choose by a part of them could find out the rest.
var errGuess = refused("This console hides contents, so that messages cannot be chosen by them.")

// query is what a filter says, by the clock of Redis.
func (f filter) query(ctx context.Context, c *Console) (q inspector.DeadQuery, err error) {
	q.Reason = f.Reason
	if f.Grouped {
		q.Why = func(failure string) bool { return inspector.ReasonOf(failure) == f.Group }
	}
	if f.Content != "" {
		if c.cfg.HideContents {
			return q, errGuess
		}
		if q.Content, err = inspector.Glob(f.Content); err != nil {
			return q, badGlob(err)
		}
	}
	if f.Slots != "" {
		if q.Slots, err = wire.ParseSlots(f.Slots); err != nil {
			return q, errSlots
		}
	}
	if err := f.when(ctx, c, &q); err != nil {
		return q, err
	}
	return f.picked(c, q)
}

// when narrows a query to when its messages died.
func (f filter) when(ctx context.Context, c *Console, q *inspector.DeadQuery) error {
	if f.Before == "" {
		older, newer, err := f.ages()
		if err != nil || older == 0 && newer == 0 {
			return err
		}
		now, err := cluster.Now(ctx, c.cfg.Redis)
		if err != nil && now.IsZero() { // a part of a Cluster may be away
			return err
		}
		wire.Aged(q, now, older, newer)
		return nil
	}
	if f.Newer != "" && f.After == "" && len(f.Picks) == 0 {
		return errTorn
	}
	for _, end := range []struct {
		text string
		to   *time.Time
	}{{f.Before, &q.OlderThan}, {f.After, &q.NewerThan}} {
		if end.text == "" {
			continue
		}
		ms, err := strconv.ParseInt(end.text, 10, 64)
		if err != nil {
			return errTorn
		}
		*end.to = time.UnixMilli(ms)
	}
	return nil
}

// ages are how long its messages are dead, at least and at most; 0: any.
func (f filter) ages() (older, newer time.Duration, err error) {
	for _, span := range []struct {
		text string
		to   *time.Duration
	}{{f.Older, &older}, {f.Newer, &newer}} {
		if span.text == "" || len(f.Picks) > 0 { // which were chosen when their age was right
			continue
		}
		if *span.to, err = humantime.ParseSpan(span.text); err != nil || *span.to < time.Millisecond {
			return 0, 0, refused("How long a message is dead is written as 90s, 2h or 7d.")
		}
	}
	return older, newer, nil
}

// picked narrows a query to single messages.
func (f filter) picked(c *Console, q inspector.DeadQuery) (inspector.DeadQuery, error) {
	if len(f.Picks) == 0 {
		return q, nil
	}
	picks := map[string]bool{}
	var first, last time.Time
	q.Slots = nil
	for _, pick := range f.Picks {
		parts := strings.Split(pick, ".")
		if len(parts) != 3 {
			return q, errTorn
		}
		slot, err := strconv.Atoi(parts[0])
		ms, err2 := strconv.ParseInt(parts[1], 10, 64)
		if err != nil || err2 != nil {
			return q, errTorn
		}
		q.Slots, picks[pick] = append(q.Slots, slot), true
		died := time.UnixMilli(ms)
		if first.IsZero() || died.Before(first) {
			first = died
		}
		last = later(last, died)
	}
	q.NewerThan = later(q.NewerThan, first.Add(-time.Millisecond))
	if end := last.Add(time.Millisecond); q.OlderThan.IsZero() || end.Before(q.OlderThan) {
		q.OlderThan = end
	}
	q.Which = func(e inspector.Entry) bool { return picks[c.pickOf(e)] }
	return q, nil
}

// until ends a query with what is dead now, and makes its ages fixed times: what dies later, or becomes old enough later, is not
// meant.
func (f *filter) until(ctx context.Context, c *Console) error {
	if f.Before != "" {
		return nil
	}
	older, newer, err := f.ages()
	if err != nil {
		return err
	}
	now, err := cluster.Now(ctx, c.cfg.Redis)
	if err != nil && now.IsZero() {
		return err
	}
	q := inspector.DeadQuery{OlderThan: now.Add(time.Millisecond)}
	wire.Aged(&q, now, older, newer)
	f.Before = strconv.FormatInt(q.OlderThan.UnixMilli(), 10)
	if !q.NewerThan.IsZero() {
		f.After = strconv.FormatInt(q.NewerThan.UnixMilli(), 10)
	}
	return nil
}
