package model

// turn is the turn with lanes: it finishes what is over, then takes more.
func (w *laneWorld) turn(q *laneRequest) laneReply {
	flying := w.Prepare.count()
	mine := w.Holder == q.From && (q.Number == w.Number || q.Rolling && !w.ListedOnly) && !(q.Idle && w.IdleTellsAgain)
	switch {
	case mine:
		for c, left := range w.Prepare.Left {
			v := q.Verdicts[c]
			if left == 0 || v == notMine && q.Rolling && w.RestGoesOn {
				continue
			}
			w.putBack(c, v)
		}
	case flying > 0 && w.Holder == q.From:
		return w.tellAgain()
	case flying > 0 && w.mayTakeOver(q):
		return w.takeOver(flying)
	case flying > 0 && w.TakeByHolder:
		return laneReply{Answer: answerBusy, Holder: w.Holder}
	case q.Number != w.Number:
		return laneReply{Answer: answerNumber, Number: w.Number}
	}
	if q.Count > 0 && !w.Paused {
		if w.take(q) {
			return w.answer(answerBatch)
		}
	}
	switch {
	case w.Prepare.count() > 0:
		return w.keep()
	case q.Count == 0:
		w.Holder = 0
		w.nextNumber()
		return w.answer(answerLeft)
	case w.Paused:
		return w.answer(answerPaused)
	}
	return w.answer(answerEmpty)
}

// keep ends a turn that took nothing, and whose holder goes on with what it has.
func (w *laneWorld) keep() laneReply {
	if w.RollingNumber {
		w.nextNumber()
	}
	if w.GoesOnRenews {
		w.renew()
	} else {
		w.Unrenewed = true
	}
	return w.answer(answerKept)
}

func (w *laneWorld) renew() { w.LeaseOver, w.Unrenewed = false, false }

func (w *laneWorld) answer(a answer) laneReply {
	r := laneReply{Answer: a, Number: w.Number}
	for c := range r.Has {
		if a == answerBatch && w.Mark[c] == w.Number && w.Prepare.Left[c] > 0 {
			r.Has[c], r.Mark[c], r.Send[c] = true, w.Mark[c], w.Prepare.Send[c]
		}
	}
	return r
}

func (w *laneWorld) tellAgain() laneReply {
	w.renew()
	r := laneReply{Answer: answerBatch, Number: w.Number, Told: true, Mark: w.Mark, Send: w.Prepare.Send}
	for c, left := range w.Prepare.Left {
		r.Has[c] = left > 0
	}
	return r
}

func (w *laneWorld) nextNumber() {
	if w.Number++; w.NumberOutgrows {
		w.Number = max(w.Number, w.Given+1)
	}
	w.Given = max(w.Given, w.Number)
}

func (w *laneWorld) mayTakeOver(q *laneRequest) bool {
	return w.Holder == 0 || w.ZooKeeper && q.Gone == w.Holder || !w.ZooKeeper && w.LeaseOver
}

// takeOver spends an attempt of all that is in flight, and makes suspects of it.
func (w *laneWorld) takeOver(flying int) laneReply {
	for c, left := range w.Prepare.Left {
		if left == 0 {
			continue
		}
		w.Prepare.Suspect[c] = true
		if flying > 1 {
			if w.Shared[c]++; w.Shared[c] > 1 {
				w.violate("NEIGHBOUR", c)
			}
		}
		w.putBack(c, failedNow)
	}
	w.Holder = 0
	w.nextNumber()
	return w.answer(answerNumber)
}

// putBack removes c from prepare, and puts it where the verdict sends it.
func (w *laneWorld) putBack(c int, v verdict) {
	p := &w.Prepare
	w.Mark[c] = 0
	if v == notStarted {
		w.Deliveries[c]--
	}
	switch {
	case v == done || v == notMine || w.Store.Left[c] > 0: // the fresh copy wins
		p.drop(c)
	case v == notStarted && p.Left[c] > w.Retries:
		p.move(c, &w.Store)
	case v == notStarted:
		p.move(c, &w.Retry)
	case p.Left[c] == 1:
		if w.Deliveries[c] != w.Retries+1 {
			w.violate("DEAD-EARLY", c)
		}
		w.Owed[c] = w.Owed[c] && p.Send[c] != w.Sent[c]
		p.drop(c)
	default:
		p.Left[c]--
		if v == failed && !w.SuspectLasts {
			p.Suspect[c] = false
		}
		p.move(c, &w.Retry)
	}
}

// take moves more into prepare, if it may: first deliveries, or one retry.
func (w *laneWorld) take(q *laneRequest) bool {
	flying := w.Prepare.count()
	for c := range w.Prepare.Suspect {
		if w.Prepare.Suspect[c] && w.NothingBesideSuspect {
			return false
		}
		if w.Store.Left[c] > 0 {
			w.Retry.drop(c) // a retry gives way to a fresh copy
		}
	}
	var fresh []int
	retry := -1
	for c := range w.Store.Left {
		if w.Store.Left[c] > 0 && (w.Prepare.Left[c] == 0 || !w.SkipFlying) && len(fresh) < int(q.Count) {
			fresh = append(fresh, c)
		}
		if w.Retry.Left[c] > 0 {
			retry = c
		}
	}
	switch {
	case retry >= 0 && (q.Low || len(fresh) == 0):
		if w.Retry.Suspect[retry] && w.SuspectAlone && flying > 0 {
			return false // it gets its turn when the running ones have ended
		}
		w.begins(q.From)
		w.taken(retry, &w.Retry)
	case len(fresh) > 0:
		w.begins(q.From)
		for _, c := range fresh {
			w.Deliveries[c], w.Shared[c] = 0, 0
			w.taken(c, &w.Store)
		}
	default:
		return false
	}
	return true
}

// begins a take.
func (w *laneWorld) begins(who id) {
	w.nextNumber()
	w.Holder = who
	w.renew()
}

func (w *laneWorld) taken(c int, from *copies) {
	from.move(c, &w.Prepare)
	w.Mark[c] = w.Number
	if w.Deliveries[c]++; w.Deliveries[c] > w.Retries+1 {
		w.violate("OVERRUN", c)
	}
	if w.Number <= w.Fence[c] {
		w.violate("FENCE", c)
	}
	w.Fence[c] = w.Number
}
