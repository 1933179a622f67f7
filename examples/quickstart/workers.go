package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slotmq/go-rmq/examples/internal/store"
	"github.com/slotmq/go-rmq/rmq"
)

// twoWorkers lets two workers share a stream of numbered jobs, and one of them
// leave in the middle.
func twoWorkers(ctx context.Context, s *store.Store) (result measured, err error) {
	jobs := rmq.Topic{Name: "jobs", Kind: rmq.KindPriority, Slots: 16}
	w := watch{handled: make(chan struct{}, 10_000), times: map[string]int{}, last: map[int]string{}, moved: map[int]time.Time{}}
	clients := map[string]*rmq.Client{}
	for _, name := range []string{"a", "b"} {
		client, err := startWorker(ctx, s, rmq.Config{Worker: name}, jobs, func(_ context.Context, d *rmq.Delivery) error {
			w.handle(name, d)
			return nil
		})
		if err != nil {
			return result, err
		}
		defer stopWorker(client, &err)
		clients[name] = client
	}

	if err := shared(ctx, s, jobs, 2); err != nil {
		return result, err
	}

	// 16 jobs every 5 ms. After a third of them worker a leaves.
	const rounds, each, half = 300, 16, 8
	var leaving time.Time
	var before map[int]string
	closed := make(chan error, 1)
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for round := range rounds {
		batch := make([]rmq.Message, each)
		for i := range batch {
			batch[i] = rmq.Priority{Content: fmt.Sprintf("job %d", round*each+i), Priority: 100}
		}
		if _, err := clients["b"].SendBatch(ctx, jobs, batch); err != nil {
			return result, err
		}
		if round == rounds/3 {
			before, leaving = w.owners(), time.Now()
			go func() { closed <- clients["a"].Close(ctx) }()
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return result, ctx.Err()
		}
	}
	if err := <-closed; err != nil {
		return result, err
	}
	if _, err := collect(ctx, w.handled, rounds*each); err != nil {
		return result, err
	}
	moved, latest := w.moves(rounds*each, before, leaving)
	if err := shared(ctx, s, jobs, 1); err != nil {
		return result, err
	}
	if err := clients["b"].Close(ctx); err != nil { // so that whatever would come again has come
		return result, err
	}
	result = w.count(rounds * each)
	result.text += fmt.Sprintf("; %d slots moved in %s", moved, ms(latest))
	result.ok = result.ok && moved == half
	return result, nil
}

// watch keeps a record of who handles what.
type watch struct {
	handled  chan struct{}
	inSlot   [16]atomic.Int32 // handlers at work there
	overlaps atomic.Int32

	mu    sync.Mutex
	times map[string]int    // how often each job was handled
	last  map[int]string    // the worker that handled a slot last
	moved map[int]time.Time // when another worker handled a slot
}

func (w *watch) handle(worker string, d *rmq.Delivery) {
	if w.inSlot[d.Slot].Add(1) > 1 {
		w.overlaps.Add(1)
	}
	w.mu.Lock()
	w.times[d.Content]++
	if was, known := w.last[d.Slot]; known && was != worker {
		w.moved[d.Slot] = time.Now()
	}
	w.last[d.Slot] = worker
	w.mu.Unlock()
	w.inSlot[d.Slot].Add(-1)
	w.handled <- struct{}{}
}

// owners reports which worker has handled each slot, and forgets earlier moves.
func (w *watch) owners() map[int]string {
	w.mu.Lock()
	defer w.mu.Unlock()
	owners := map[int]string{}
	for slot, worker := range w.last {
		owners[slot] = worker
	}
	w.moved = map[int]time.Time{}
	return owners
}

// moves reports which slots have moved, and when they were at work again.
func (w *watch) moves(sent int, before map[int]string, leaving time.Time) (moved int, latest time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	slots := map[string][]int{}
	for slot, worker := range before {
		slots[worker] = append(slots[worker], slot)
	}
	say("%d jobs. Slots at first: a has %s; b has %s.", sent, numbers(slots["a"]), numbers(slots["b"]))
	var when []string
	for _, slot := range slices.SortedFunc(maps.Keys(w.moved), func(a, b int) int { return w.moved[a].Compare(w.moved[b]) }) {
		latest = w.moved[slot].Sub(leaving)
		when = append(when, fmt.Sprintf("%d (%s)", slot, ms(latest)))
	}
	say("Then a leaves. %d slots moved: %s.", len(when), strings.Join(when, ", "))
	say("The time is that from its Close to the first job at b.")
	return len(when), latest
}

func (w *watch) count(sent int) measured {
	w.mu.Lock()
	defer w.mu.Unlock()
	lost, twice := sent-len(w.times), 0
	for _, n := range w.times {
		if n > 1 {
			twice++
		}
	}
	say("%d jobs handled: %d lost, %d handled twice, %d at the same time as another of their slot.", len(w.times), lost, twice, w.overlaps.Load())
	return measured{
		text: fmt.Sprintf("%d lost, %d twice, %d at once", lost, twice, w.overlaps.Load()),
		ok:   lost == 0 && twice == 0 && w.overlaps.Load() == 0,
	}
}

func numbers(slots []int) string {
	slices.Sort(slots)
	return strings.Trim(fmt.Sprint(slots), "[]")
}
