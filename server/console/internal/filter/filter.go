package filter

import (
	"context"
	"encoding/base64"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/servers/cluster"
	"github.com/slotmq/go-rmq/internal/text/humantime"
	"github.com/slotmq/go-rmq/internal/text/pattern"
	"github.com/slotmq/go-rmq/internal/text/wire"
	"github.com/slotmq/go-rmq/internal/text/words"
	"github.com/slotmq/go-rmq/server/console/internal/contents"
	"github.com/slotmq/go-rmq/server/console/internal/problem"
)

// Filter says which dead messages are meant. The words are those of rmq dead.
type Filter struct {
	Topic   string
	Content string   // a glob
	Reason  string   // a part of the last error
	Group   string   // the last error as it is grouped
	Grouped bool     // by Group, which is empty where no error is known
	Older   string   // how long dead, at least
	Newer   string   // at most
	Slots   string   // 3,7 or 0-5
	Picks   []string // single ones, by contents.Pick
	Before  string   // ms: died before. A form has it, so that it does exactly what it has shown; then Older and Newer only say how it was chosen
	After   string   // ms: died after; beside Before
}

// Of reads the fields of an address or a form.
func Of(q url.Values) Filter {
	if group, err := base64.RawURLEncoding.DecodeString(q.Get("group64")); err == nil && q.Has("group64") {
		q.Set("group", string(group))
	}
	return Filter{Topic: q.Get("topic"), Content: strings.TrimSpace(q.Get("glob")), Reason: strings.TrimSpace(q.Get("reason")),
		Group: q.Get("group"), Grouped: q.Has("group"), Older: strings.TrimSpace(q.Get("older")), Newer: strings.TrimSpace(q.Get("newer")),
		Slots: strings.TrimSpace(q.Get("slots")), Picks: q["pick"], Before: q.Get("before"), After: q.Get("after")}
}

// Values are the fields that it is made of, without those that are empty.
func (f Filter) Values() url.Values {
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
func (f Filter) Fields() (all []Field) {
	q := f.Values()
	for name, values := range q {
		for _, value := range values {
			all = append(all, Field{name, value})
		}
	}
	slices.SortFunc(all, func(a, b Field) int { return strings.Compare(a.Name+a.Value, b.Name+b.Value) })
	return all
}

// Field is one of a form.
type Field struct{ Name, Value string }

// Any reports whether it leaves anything out.
func (f Filter) Any() bool { return len(f.Values()) > 1 }

// Words says what it chooses.
func (f Filter) Words() (all []string) {
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

// Query is what a filter says, by the clock of Redis.
func (f Filter) Query(ctx context.Context, rdb redis.UniversalClient, c contents.Contents) (q inspector.DeadQuery, err error) {
	q.Reason = f.Reason
	if f.Grouped {
		q.Why = func(failure string) bool { return words.Reason(failure) == f.Group }
	}
	if f.Content != "" {
		if c.Hidden {
			return q, problem.Guess
		}
		if q.Content, err = pattern.Glob(f.Content); err != nil {
			return q, problem.Glob(err)
		}
	}
	if f.Slots != "" {
		if q.Slots, err = wire.ParseSlots(f.Slots); err != nil {
			return q, problem.Slots
		}
	}
	if err := f.when(ctx, rdb, &q); err != nil {
		return q, err
	}
	return f.picked(c, q)
}

// when narrows a query to when its messages died.
func (f Filter) when(ctx context.Context, rdb redis.UniversalClient, q *inspector.DeadQuery) error {
	if f.Before == "" {
		return f.aged(ctx, rdb, q, false)
	}
	if f.Newer != "" && f.After == "" && len(f.Picks) == 0 {
		return problem.Torn
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
			return problem.Torn
		}
		*end.to = time.UnixMilli(ms)
	}
	return nil
}

// aged narrows a query to messages of the chosen ages and, where needed, to those that are dead by now.
func (f Filter) aged(ctx context.Context, rdb redis.UniversalClient, q *inspector.DeadQuery, byNow bool) error {
	older, newer, err := f.ages()
	if err != nil || older == 0 && newer == 0 && !byNow {
		return err
	}
	now, err := cluster.Now(ctx, rdb)
	if err != nil && now.IsZero() { // a part of a Cluster may be away
		return err
	}
	if byNow {
		q.OlderThan = now.Add(time.Millisecond)
	}
	wire.Aged(q, now, older, newer)
	return nil
}

// ages are how long its messages are dead, at least and at most; 0: any.
func (f Filter) ages() (older, newer time.Duration, err error) {
	for _, span := range []struct {
		text string
		to   *time.Duration
	}{{f.Older, &older}, {f.Newer, &newer}} {
		if span.text == "" || len(f.Picks) > 0 { // which were chosen when their age was right
			continue
		}
		if *span.to, err = humantime.ParseSpan(span.text); err != nil || *span.to < time.Millisecond {
			return 0, 0, problem.Refused("How long a message is dead is written as 90s, 2h or 7d.")
		}
	}
	return older, newer, nil
}

// picked narrows a query to single messages.
func (f Filter) picked(c contents.Contents, q inspector.DeadQuery) (inspector.DeadQuery, error) {
	if len(f.Picks) == 0 {
		return q, nil
	}
	picks := map[string]bool{}
	var first, last time.Time
	q.Slots = nil
	for _, pick := range f.Picks {
		parts := strings.Split(pick, ".")
		if len(parts) != 3 {
			return q, problem.Torn
		}
		slot, err := strconv.Atoi(parts[0])
		ms, err2 := strconv.ParseInt(parts[1], 10, 64)
		if err != nil || err2 != nil {
			return q, problem.Torn
		}
		q.Slots, picks[pick] = append(q.Slots, slot), true
		died := time.UnixMilli(ms)
		if first.IsZero() || died.Before(first) {
			first = died
		}
		last = latest(last, died)
	}
	q.NewerThan = latest(q.NewerThan, first.Add(-time.Millisecond))
	if end := last.Add(time.Millisecond); q.OlderThan.IsZero() || end.Before(q.OlderThan) {
		q.OlderThan = end
	}
	q.Which = func(e inspector.Entry) bool { return picks[c.Pick(e)] }
	return q, nil
}

// Until limits a query to what is dead now, and makes its ages fixed times: it leaves out what dies, or becomes old
// enough, later.
func (f *Filter) Until(ctx context.Context, rdb redis.UniversalClient) error {
	if f.Before != "" {
		return nil
	}
	var q inspector.DeadQuery
	if err := f.aged(ctx, rdb, &q, true); err != nil {
		return err
	}
	f.Before = strconv.FormatInt(q.OlderThan.UnixMilli(), 10)
	if !q.NewerThan.IsZero() {
		f.After = strconv.FormatInt(q.NewerThan.UnixMilli(), 10)
	}
	return nil
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
