package main

import (
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/slotmq/go-rmq/bench/internal/servers"
)

// workRound is what a contestant does: a pile at first, if there is one, and then a plan.
type workRound struct {
	workers
	pile, plan workPlan
	grace      time.Duration // for what has not been handled when all is sent; the rest is left
}

// workResult is what came of it.
type workResult struct {
	servers.Sample           // of the plan: from the begin until the last handler has ended, or the grace has
	*worked                  // the plan
	behind         latencies // of the plan, when a message was sent
	end            time.Duration
	backlog        float64 // the rate of the pile, as a share of the ideal
}

func (b *bench) workRound(p servers.Place, r workRound) (result workResult, err error) {
	if err := p.Empty(); err != nil {
		return result, err
	}
	r.payload = b.payload
	var noted atomic.Pointer[worked]
	q, err := r.open(p, &noted)
	if err == nil {
		err = r.settle(q, &noted)
	}
	if err == nil && len(r.pile.pieces) > 0 {
		result.backlog, err = r.drain(q, &noted)
	}
	if err != nil {
		return result, err
	}
	result.Sample, err = p.Measure(len(r.plan.pieces), func() error {
		// A whole millisecond, since messages are due at whole ones.
		begin := time.Now()
		begin = begin.Add(-time.Duration(begin.Nanosecond() % int(time.Millisecond)))
		w := newWorked(r.plan, begin, r.n)
		result.worked = w
		noted.Store(w)
		if n := r.plan.ahead; n > 0 {
			if err := q.pile(w, n); err != nil {
				return err
			}
		}
		rest := r.plan.pieces[r.plan.ahead:]
		result.behind = make(latencies, len(rest))
		err := play(len(rest), func(i int) time.Duration { return rest[i].at }, begin, func(i int) error {
			result.behind[i] = time.Since(begin) - rest[i].at
			return q.send(w, r.plan.ahead+i)
		})
		slices.Sort(result.behind)
		if err == nil {
			select {
			case <-w.done:
			case <-time.After(r.grace):
			}
		}
		result.end = time.Since(begin)
		return err
	})
	if err == nil {
		err = q.stop()
	}
	if err != nil {
		return result, err
	}
	held, err := q.left()
	if err == nil {
		err = result.check(held)
	}
	return result, err
}

// settle starts the workers, and sends until each of them handles its part twice in a row: workers
// of RMQ that find others there are given slots after a trial.
func (r workRound) settle(q workQueue, noted *atomic.Pointer[worked]) error {
	burst := workPlan{pieces: make([]piece, 32*max(r.slots, r.places))}
	for i := range burst.pieces {
		burst.pieces[i].entity = i
	}
	w := newWorked(burst, time.Now(), r.n)
	noted.Store(w)
	if err := q.start(); err != nil {
		return err
	}
	for begun, good := time.Now(), 0; good < 2; time.Sleep(100 * time.Millisecond) {
		if time.Since(begun) > 30*time.Second {
			return errors.New("the work is not shared out")
		}
		w = newWorked(burst, time.Now(), r.n)
		noted.Store(w)
		if err := q.pile(w, len(burst.pieces)); err != nil {
			return err
		}
		if err := w.wait(); err != nil {
			return err
		}
		if good++; w.idle() {
			good = 0
		}
	}
	return nil
}

// drain has the workers handle the pile, and returns the rate as a share of the ideal.
func (r workRound) drain(q workQueue, noted *atomic.Pointer[worked]) (float64, error) {
	w := newWorked(r.pile, time.Now(), r.n)
	noted.Store(w)
	if err := q.pile(w, len(r.pile.pieces)); err != nil {
		return 0, err
	}
	if err := w.wait(); err != nil {
		return 0, err
	}
	ideal := r.pile.total() / time.Duration(r.n*r.places)
	return ideal.Seconds() / w.last().Seconds(), w.check(0)
}
