package model

// turn is turn.lua: it finishes the batch that the asker holds, then takes the next one.
func (w *world) turn(q *request) reply {
	if w.inFlight() {
		mine := w.Holder == q.From
		switch {
		case mine && (q.Number == w.Number || !w.FinishByNumber) && !(q.Idle && w.IdleTellsAgain):
			for c := range w.Prepare {
				if w.Prepare[c] > 0 {
					w.putBack(c, q.Verdicts[c], q.Priority[c])
				}
			}
		case mine && w.TellAgain:
			return w.tellAgain()
		case !mine && w.mayTakeOver(q):
			return w.takeOver()
		case w.TakeWhenEmpty:
			return w.tellBusy(q)
		}
	} else if q.Number != w.Number && w.TakeByNumber {
		return reply{Answer: answerNumber, Number: w.Number}
	}
	if q.Count == 0 {
		w.Holder = 0
		if w.LeaveNumber {
			w.nextNumber()
		}
		return reply{Answer: answerLeft, Number: w.Number}
	}
	return w.take(q)
}

// nextNumber changes the slot's number. It grows with a clock, hence past what Redis has forgotten.
func (w *world) nextNumber() {
	if w.Number++; w.NumberOutgrows {
		w.Number = max(w.Number, w.Given+1)
	}
	w.Given = w.Number
	w.outgrow()
}

// putBack removes c from prepare and puts it where the verdict sends it.
func (w *world) putBack(c int, v verdict, priority int8) {
	left, newest := w.Prepare[c]-1, w.Newest[c]
	w.Prepare[c], w.Newest[c] = 0, false
	if (v == notStarted || v == snoozed) && newest {
		w.Deliveries[c]-- // nobody handled it, whatever the rules make of it
	}
	if v == done || v == notMine { // what a finish does not list is done
		w.settle(c)
		return
	}
	if w.FreshCopyWins && w.Store[c] > w.Retries {
		if v == notStarted && left == w.Retries && w.Kind == RangeMerge {
			if w.HandBackKeepsTime {
				w.Store[c] = min(w.Store[c], w.wasDue(priority))
			}
			w.watchTime(c)
		}
		return // a range merge that was put back, too: no send is due later here
	}
	switch {
	case v == snoozed && w.SnoozeKeepsAttempt:
		w.snooze(c, left, priority, newest)
	case v == notStarted && w.HandBackKeepsAttempt:
		switch {
		case left < w.Retries || w.Kind == Priority && priority == 0:
			// A fresh content of unknown priority too: it comes again as attempt 1.
			w.retry(c, 0, left+1)
		case w.Kind == Priority:
			w.Store[c], w.Unseen[c] = priority, true
		default:
			w.Store[c], w.Unseen[c] = w.wasDue(priority), true
		}
	case v == failedForGood || left == 0:
		w.die(c, v, newest)
	case v == failedNow:
		w.Store[c] = left
	default:
		w.retry(c, w.Delay, left)
	}
}

// wasDue is when a content was due that is handed back: if the worker does not know it, when it
// was taken.
func (w *world) wasDue(known int8) int8 {
	if known > 0 {
		return known
	}
	return fresh + w.Taken
}

// snooze puts c back for a while. A first delivery keeps its priority, if it is known.
func (w *world) snooze(c int, left, priority int8, newest bool) {
	delay := w.Delay
	if newest {
		w.Later[c] = w.Now + delay
	}
	if !w.SnoozeWaits {
		delay = 0
	}
	switch {
	case left < w.Retries || w.Kind == Priority && priority == 0:
		w.retry(c, delay, left+1)
	case w.Kind == Priority:
		w.retry(c, delay, left+1)
		if w.Unseen[c] = newest; w.SnoozeKeepsPriority {
			w.RetryLeft[c], w.Kept[c] = left+2, priority
		}
	default:
		w.Store[c], w.Unseen[c] = fresh+w.Now+delay, true
	}
}

func (w *world) retry(c int, delay, left int8) {
	w.RetryDue[c], w.RetryLeft[c], w.Kept[c] = w.Now+delay+1, left, 0
}

func (w *world) die(c int, v verdict, newest bool) {
	w.settle(c)
	if !newest {
		return // the last send is another copy
	}
	if v != failedForGood && w.Deliveries[c] != w.Retries+1 {
		w.violate("DEAD-EARLY", "%c after %d deliveries", letter(c), w.Deliveries[c])
	}
	w.Owed[c] = false
}

// tellAgain answers a holder whose reply got lost. Priorities are not kept in prepare.
func (w *world) tellAgain() reply {
	if w.TellAgainRenews {
		w.Until = w.Now + w.Lease
	}
	r := reply{Answer: answerBatch, Number: w.Number, Newest: w.Newest}
	for c := range w.Prepare {
		r.Has[c] = w.Prepare[c] > 0
	}
	return r
}

func (w *world) mayTakeOver(q *request) bool {
	if w.Holder == 0 {
		return true // as when meta was deleted
	}
	if w.ZooKeeper {
		return q.Gone == w.Holder
	}
	return w.Until < w.Now
}

// takeOver puts back all of another holder's batch. Attempts count: the batch may have killed it.
func (w *world) takeOver() reply {
	w.watchTakeover()
	for i := range w.Workers {
		if k := &w.Workers[i]; w.id(i) == w.Holder && k.Holds && k.Number == w.Number {
			k.Cut = true
		}
	}
	for c := range w.Prepare {
		if w.Prepare[c] > 0 {
			w.putBack(c, failed, 0)
		}
	}
	w.Holder = 0
	if w.TakeoverNumber {
		w.nextNumber()
	}
	return reply{Answer: answerNumber, Number: w.Number}
}

// tellBusy also mends the end of a lease that lies too far ahead, as after a step back of the
// server's clock. The clock of the model never steps, so mending must never shorten a lease.
func (w *world) tellBusy(q *request) reply {
	if !w.ZooKeeper {
		lease := w.Lease
		if !w.HolderLease {
			lease = w.Leases[q.From.worker()]
		}
		if w.Until > w.Now+2*lease {
			w.Until = w.Now + lease
		}
	}
	r := reply{Answer: answerBusy, Holder: w.Holder}
	if !w.BusyHidesNumber {
		r.Number = w.Number
	}
	return r
}
