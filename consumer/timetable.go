package consumer

import (
	"container/heap"
	"context"
	"sync"
	"time"
)

// timetable says when something that is done for each topic now and then is due. One
// goroutine goes by it, whatever number of topics there are. It gets those that are due
// at about the same time together, so that one request serves many of them.
type timetable struct {
	period func(*topic) time.Duration
	gap    time.Duration // between two lots, unless a topic is in a hurry
	sooner chan struct{} // the first one is due sooner than it was

	mu   sync.Mutex
	rows rows
	of   map[*topic]*row
}

// row is one topic's.
type row struct {
	topic   *topic
	at      time.Time
	regular time.Time // as at, but for topics that are in a hurry
	index   int       // in the heap
}

// mostDue is how many topics are in a lot.
const mostDue = 256

// gapOf is the gap that is right where the shortest period is so long.
func gapOf(shortest time.Duration) time.Duration { return min(100*time.Millisecond, shortest/8) }

// newTimetable has each topic due for the first time within its first period, so that they
// are not all due at the same time. From then on each is due when its period is over, and
// perhaps a gap later.
func newTimetable(topics []*topic, gap time.Duration, period func(*topic) time.Duration) *timetable {
	tt := &timetable{period: period, gap: gap, sooner: make(chan struct{}, 1), of: map[*topic]*row{}}
	now := time.Now()
	for _, t := range topics {
		at := now.Add(t.first(period(t)))
		r := &row{topic: t, at: at, regular: at}
		tt.of[t] = r
		heap.Push(&tt.rows, r)
	}
	return tt
}

// set has a topic due at a time, and from then on regularly.
func (tt *timetable) set(t *topic, at time.Time) { tt.change(t, at, at) }

// hurry has a topic due now, and then when it would have been: many may be in a hurry together,
// and are not to be due together from then on.
func (tt *timetable) hurry(t *topic) { tt.change(t, time.Now(), time.Time{}) }

func (tt *timetable) change(t *topic, at, regular time.Time) {
	tt.mu.Lock()
	defer tt.mu.Unlock()
	r := tt.of[t]
	r.at = at
	if !regular.IsZero() {
		r.regular = regular
	}
	heap.Fix(&tt.rows, r.index)
	if tt.rows[0] == r {
		signal(tt.sooner)
	}
}

// next waits until something is due, and returns it; nothing when ctx has ended.
func (tt *timetable) next(ctx context.Context) []*topic {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for ctx.Err() == nil {
		due, in := tt.due(time.Now())
		if len(due) > 0 {
			return due
		}
		timer.Reset(max(in, tt.gap))
		select {
		case <-timer.C:
		case <-tt.sooner:
		case <-ctx.Done():
		}
	}
	return nil
}

// due returns the topics that are due and sets when they are next; if there is none, it
// returns how long it is until there is.
func (tt *timetable) due(now time.Time) (due []*topic, in time.Duration) {
	tt.mu.Lock()
	defer tt.mu.Unlock()
	for len(due) < mostDue && !tt.rows[0].at.After(now) {
		r := tt.rows[0]
		due = append(due, r.topic)
		if !r.regular.After(now) {
			r.regular = now.Add(tt.period(r.topic))
		}
		r.at = r.regular
		heap.Fix(&tt.rows, 0)
	}
	return due, tt.rows[0].at.Sub(now)
}

// rows is a heap of them, the one that is due next first.
type rows []*row

func (h rows) Len() int           { return len(h) }
func (h rows) Less(i, j int) bool { return h[i].at.Before(h[j].at) }
func (h rows) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h *rows) Push(x any) {
	r := x.(*row)
	r.index = len(*h)
	*h = append(*h, r)
}

func (h *rows) Pop() any { panic("no topic ever leaves") }

// first is when something that is done for each topic once in a period is first done
// for this one, so that it is not done for all of them at the same time.
func (t *topic) first(period time.Duration) time.Duration {
	return max(1, time.Duration(float64(period)*t.part))
}

// signal wakes the goroutine that waits for the channel, once, however often it is called.
func signal(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}
