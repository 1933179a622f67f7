package inspector

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/inspector/internal/ask"
	"github.com/slotmq/go-rmq/inspector/internal/pages"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/byhand"
	"github.com/slotmq/go-rmq/internal/protocol/limits"
	"github.com/slotmq/go-rmq/message"
)

// DeadQuery selects dead messages of a topic. The zero value selects all.
type DeadQuery struct {
	Slots     []int                     // nil: all
	Content   func(content string) bool // nil: any
	Which     func(e Entry) bool        // chooses by slot, time of death and content, of which the Failure is not known yet; nil: any
	Reason    string                    // a part of the last error; empty: any
	Why       func(failure string) bool // chooses by the last error, which is empty if nothing is known of it; nil: any
	OlderThan time.Time                 // died before; zero: any. Methods that change messages refuse a time to come
	NewerThan time.Time                 // died after; zero: any
	Newest    bool                      // newest first instead of oldest first
	Limit     int                       // how many at most; 0: all
	Complete  bool                      // end with an error at the first slot that cannot be read, instead of going on with the others

	likely  int  // how many are enough, unless some do not count; 0: all
	changes bool // what it selects is taken out, if all can be read
}

// byEntry reports whether it chooses by what is only known of one that was read.
func (q DeadQuery) byEntry() bool { return q.Content != nil || q.Which != nil }

// picks reports whether it chooses a message whose failure is not known yet.
func (q DeadQuery) picks(e Entry) bool {
	return (q.Content == nil || q.Content(e.Content)) && (q.Which == nil || q.Which(e))
}

// byFailure reports whether it chooses by the last error.
func (q DeadQuery) byFailure() bool { return q.Reason != "" || q.Why != nil }

// fits reports whether the last error is one that it chooses.
func (q DeadQuery) fits(f *Failure) bool {
	reason := ""
	if f != nil {
		reason = f.Reason
	}
	return strings.Contains(reason, q.Reason) && (q.Why == nil || q.Why(reason))
}

// few is how many dead messages have to be read at least; 0: it is not known, or all.
func (q DeadQuery) few() int {
	if q.byEntry() || q.byFailure() {
		return 0
	}
	return cmp.Or(q.Limit, q.likely)
}

// slots are those that it selects, each once.
func (q DeadQuery) slots(t Topic) ([]int, error) {
	if q.Limit < 0 {
		return nil, &message.InvalidError{Field: "Limit", Value: strconv.Itoa(q.Limit), Limit: "1 or more, or 0 for all"}
	}
	for _, given := range []struct {
		field string
		at    time.Time
	}{{"OlderThan", q.OlderThan}, {"NewerThan", q.NewerThan}} {
		if y := given.at.UTC().Year(); y < 1 || y > 9999 { // it came from an overflow, and is none in ms
			return nil, &message.InvalidError{Field: given.field, Value: given.at.String(), Limit: "in the years 1 to 9999, or zero for any"}
		}
	}
	which, err := ask.Chosen(t, q.Slots)
	return slices.Compact(slices.Sorted(slices.Values(which))), err
}

// allowance is how far clocks may be apart before a time counts as one to come.
const allowance = 5 * time.Minute

// past refuses to change what is older than a time to come. That would be all messages, and
// to say all there is the zero time: this time comes from an age that was negative, or
// overflowed. After the server's clock was set back, the latest deaths are to come, too.
func (q DeadQuery) past(counts []byhand.Counts) error {
	var now, latest time.Time
	for _, c := range counts {
		now = ask.Later(now, c.Now)
		if c.Dead > 0 {
			latest = ask.Later(latest, c.Died[1])
		}
	}
	if latest.IsZero() || !q.OlderThan.After(ask.Later(now, latest).Add(allowance)) {
		return nil
	}
	return &message.InvalidError{
		Field: "OlderThan", Value: stamp(q.OlderThan), Limit: "no later than the server's clock, " + stamp(now) + ", or not given, which means all",
	}
}

// wholeMs is what a time of death may have behind its ms, if another program wrote it.
const wholeMs = 0.999

// times are the first and the last time of death that it selects, in ms.
func (q DeadQuery) times() (low, high float64) {
	low, high = math.Inf(-1), math.Inf(1)
	if !q.NewerThan.IsZero() {
		low = float64(q.NewerThan.UnixMilli() + 1)
	}
	if !q.OlderThan.IsZero() {
		high = float64(q.OlderThan.Add(-1).UnixMilli()) + wholeMs
	}
	return low, high
}

// bound is a time of death as an argument of a command.
func bound(ms float64) string { return strings.ToLower(strconv.FormatFloat(ms, 'f', -1, 64)) }

// How many dead messages are read ahead of those that are met: in all slots, and in one. If
// few are wanted, these are likely to be of several slots, and as many do not come of each.
const (
	readAhead = 10_000
	deadPage  = 100
	fewPage   = 10
)

// walks go through the slots that the query selects and that have dead messages. What dies
// later is not met. With a [PartialError] they are the slots that could be counted.
func (d DeadMessages) walks(ctx context.Context, t Topic, q DeadQuery) ([]*pages.Walk, error) {
	which, err := q.slots(t)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	failed := d.i.w.Failing()
	counts, which, err := d.i.w.Counts(ctx, t, which)
	if err := failed.Merge(err); err != nil {
		return nil, err
	}
	if q.changes {
		if err := q.past(counts); err != nil {
			return nil, err
		}
	}
	count := map[int]byhand.Counts{} // of the slots that have any
	for n, slot := range which {
		if c := counts[n]; c.Dead > 0 {
			count[slot] = c
		}
	}
	which = slices.Sorted(maps.Keys(count))
	low, high := q.times()
	// How many come before all that is meant: to find the first one without reading those.
	from, to := "-inf", "("+bound(low)
	if q.Newest {
		from, to = "("+bound(high), "+inf"
	}
	before, which, err := d.countBetween(ctx, t, which, from, to)
	if err := failed.Merge(err); err != nil {
		return nil, err
	}
	walks := make([]*pages.Walk, len(which))
	for n, slot := range which {
		page := max(1, min(deadPage, readAhead/len(which)))
		if few := q.few(); few > 0 {
			page = min(page, few, max(fewPage, few/len(which)))
		}
		c := count[slot]
		latest := float64(c.Died[1].UnixMilli()) + wholeMs
		if c.Died[1].UnixMilli() >= limits.MaxScore { // another program wrote one that is no time
			latest = math.Inf(1)
		}
		w := pages.NewWalk(d.i.w.Keys(t.Name, slot).Dead, low, min(high, latest), q.Newest, page)
		w.Slot, w.From, w.Start, w.Began = slot, max(0, before[n]-1), float64(c.Now.UnixMilli()), began
		if !q.Newest {
			w.Head = max(w.Head, pages.Floor(c.Died[0].UnixMilli()))
		}
		walks[n] = w
	}
	return walks, failed.Err()
}

// countBetween counts in each slot those that died between two times.
func (d DeadMessages) countBetween(ctx context.Context, t Topic, which []int, from, to string) (counts, read []int, err error) {
	return ask.OfSlots(ctx, d.i.w.Ground, t, which, func(k protocol.SlotKeys) *redis.IntCmd {
		return redis.NewIntCmd(ctx, "zcount", k.Dead, from, to)
	}, func(k protocol.SlotKeys, cmd *redis.IntCmd) (int, error) {
		n, err := cmd.Result()
		return int(n), ask.At(k.Dead, err)
	})
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
