package periodic

import (
	"container/heap"
	"context"
	"sync"
	"time"
)

// Timetable says when something that is done for each topic now and then is due. One
// goroutine goes by it, whatever number of topics there are. It gets those that are due
// at about the same time together, so that one request serves many of them.
type Timetable[T comparable] struct {
	period func(T) time.Duration
	gap    time.Duration // between two lots, unless a topic is in a hurry
	sooner chan struct{} // the first one is due sooner than it was

	mu   sync.Mutex
	rows rows[T]
	of   map[T]*row[T]
}

// row is one topic's.
type row[T comparable] struct {
	topic   T
	at      time.Time
	regular time.Time // as at, but for topics that are in a hurry
	index   int       // in the heap
}

// mostDue is how many topics are in a lot.
const mostDue = 256

// Gap returns the gap between two lots: an eighth of the shortest period, at most 100 ms.
func Gap(shortest time.Duration) time.Duration { return min(100*time.Millisecond, shortest/8) }

// NewTimetable has each topic due for the first time within its first period, one after the
// other, so that they are not all due at the same time. From then on each is due when its
// period is over, and perhaps a gap later.
func NewTimetable[T comparable](topics []T, gap time.Duration, period func(T) time.Duration) *Timetable[T] {
	tt := &Timetable[T]{period: period, gap: gap, sooner: make(chan struct{}, 1), of: map[T]*row[T]{}}
	now := time.Now()
	for i, t := range topics {
		part := float64(i+1) / float64(len(topics))
		at := now.Add(max(1, time.Duration(float64(period(t))*part)))
		r := &row[T]{topic: t, at: at, regular: at}
		tt.of[t] = r
		heap.Push(&tt.rows, r)
	}
	return tt
}

// NewRegular has each topic due at least every period.
func NewRegular[T comparable](topics []T, period func(T) time.Duration) *Timetable[T] {
	shortest := period(topics[0])
	for _, t := range topics {
		shortest = min(shortest, period(t))
	}
	gap := Gap(shortest) // it may be so late
	return NewTimetable(topics, gap, func(t T) time.Duration { return period(t) - gap })
}

// Set has a topic due at a time, and from then on regularly.
func (tt *Timetable[T]) Set(t T, at time.Time) { tt.change(t, at, at) }

// Hurry has a topic due now, and then when it would have been: many may be in a hurry together,
// and are not to be due together from then on.
func (tt *Timetable[T]) Hurry(t T) { tt.change(t, time.Now(), time.Time{}) }

func (tt *Timetable[T]) change(t T, at, regular time.Time) {
	tt.mu.Lock()
	defer tt.mu.Unlock()
	r := tt.of[t]
	r.at = at
	if !regular.IsZero() {
		r.regular = regular
	}
	heap.Fix(&tt.rows, r.index)
	if tt.rows[0] == r {
		select {
		case tt.sooner <- struct{}{}:
		default: // the goroutine that waits will see to it already
		}
	}
}

// Next waits until something is due, and returns it; nothing when ctx has ended.
func (tt *Timetable[T]) Next(ctx context.Context) []T {
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
func (tt *Timetable[T]) due(now time.Time) (due []T, in time.Duration) {
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
type rows[T comparable] []*row[T]

func (h rows[T]) Len() int           { return len(h) }
func (h rows[T]) Less(i, j int) bool { return h[i].at.Before(h[j].at) }
func (h rows[T]) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h *rows[T]) Push(x any) {
	r := x.(*row[T])
	r.index = len(*h)
	*h = append(*h, r)
}

func (h *rows[T]) Pop() any { panic("no topic ever leaves") }
