package main

import (
	"slices"
	"strconv"
	"time"

	"github.com/slotmq/go-rmq/slots"
)

// idealQueue is a queue that loses no time: what a message waits there, it waits for a place.
type idealQueue struct {
	workers, places int  // of each
	slots           int  // 0: all workers take from one queue
	serial          bool // a slot has one handler at a time
	help            bool // a slot of which nothing runs may be served by any worker

	free    []int // places of each worker
	holder  []int // the worker that handles something of a slot
	running []int // handlers of each slot
	ends    []idealEnd
}

type idealEnd struct {
	at           time.Duration
	slot, worker int
}

// waits are those of a plan's messages, which are of an entity each, sorted, without the first tenth.
func (q idealQueue) waits(p workPlan) (all latencies) {
	q.free, q.holder, q.running = slices.Repeat([]int{q.places}, q.workers), make([]int, max(1, q.slots)), make([]int, max(1, q.slots))
	var waiting []int // oldest first
	begin := func(i int, now time.Duration) bool {
		slot := q.slot(i)
		worker := q.taker(slot)
		if worker < 0 {
			return false
		}
		q.free[worker]--
		q.running[slot]++
		q.holder[slot] = worker
		q.ends = append(q.ends, idealEnd{now + p.pieces[i].takes, slot, worker})
		if p.pieces[i].at >= p.warm() {
			all = append(all, now-p.pieces[i].at)
		}
		return true
	}
	for next := 0; next < len(p.pieces) || len(q.ends) > 0; {
		first := q.first()
		if next < len(p.pieces) && (first < 0 || p.pieces[next].at < q.ends[first].at) {
			waiting = append(waiting, next)
			if begin(next, p.pieces[next].at) { // nobody who waits could begin, so it takes nothing from them
				waiting = waiting[:len(waiting)-1]
			}
			next++
			continue
		}
		end := q.ends[first]
		q.ends = slices.Delete(q.ends, first, first+1)
		q.free[end.worker]++
		q.running[end.slot]--
		waiting = slices.DeleteFunc(waiting, func(i int) bool { return begin(i, end.at) })
	}
	slices.Sort(all)
	return all
}

// slot of a message.
func (q idealQueue) slot(i int) int {
	if q.slots == 0 {
		return 0
	}
	return slots.Of(strconv.Itoa(i), q.slots)
}

// first is the handler that ends first, or -1.
func (q idealQueue) first() int {
	first := -1
	for i, end := range q.ends {
		if first < 0 || end.at < q.ends[first].at {
			first = i
		}
	}
	return first
}

// taker is who may handle a message of a slot now, or -1.
func (q idealQueue) taker(slot int) int {
	idlest := slices.Index(q.free, slices.Max(q.free))
	owner := slot % q.workers
	switch {
	case q.free[idlest] == 0 || q.serial && q.running[slot] > 0:
		return -1
	case q.slots == 0:
		return idlest
	case q.running[slot] > 0:
		owner = q.holder[slot]
	case q.help && q.free[owner] == 0:
		owner = idlest
	}
	if q.free[owner] == 0 {
		return -1
	}
	return owner
}
