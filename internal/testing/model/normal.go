package model

// never is a time so long ago that everything counted from it is over.
const never = -100

// normalise forgets what can have no effect any more, so that a search meets fewer states. Every
// step that is possible stays possible and violates what it would have violated.
func (w *world) normalise() {
	w.normaliseRedis()
	for i := range w.Workers {
		w.normaliseWorker(i)
	}
	for c := range w.Owed {
		w.normaliseContent(c)
	}
	w.normaliseNumbers()
}

func (w *world) normaliseRedis() {
	// Who held the last batch can tell something only to a touch during a handler, and with these
	// rules no handler runs on a batch that was finished.
	if w.Holder == 0 || !w.inFlight() && w.FinishByNumber && w.RepeatTurn {
		w.Holder, w.Until, w.Lease, w.Taken = 0, 0, 0, 0
	}
	switch {
	case w.ZooKeeper:
		w.Until, w.Lease = 0, 0
	case w.Until < w.Now && w.Holder != 0:
		w.Until = never
	}
	if w.Kind == Priority {
		w.Taken = 0
	}
}

func (w *world) normaliseWorker(i int) {
	k := &w.Workers[i]
	if w.ZooKeeper || !k.Holds {
		k.Since = 0
	} else if !w.inTime(i) {
		k.Since = never
	}
	if w.ZooKeeper || !k.Waiting {
		k.Sent = 0
	} else if w.Now-k.Sent >= w.Leases[i] {
		k.Sent = never
	}
	if w.QuorumWrite || !w.ZooKeeper {
		k.Members = [maxWorkers]int8{}
	}
	if !w.ZooKeeper {
		k.Named, k.Sees, k.Joined = 0, 0, false
	}
	if w.Faults == 0 && k.Reply.Answer != answerNone {
		k.Request = request{From: k.Request.From} // it will not be repeated
	}
	w.normaliseRequest(&k.Request)
	w.normaliseRequest(&k.Ghost)
	w.normaliseTimes(&k.Priority)
	w.normaliseTimes(&k.Reply.Priority)
	if w.ZooKeeper && k.Ghost.Gone == 0 && w.outdated(&k.Ghost) {
		k.Ghost = request{}
	}
}

// outdated: the number of the request is the slot's no more, and numbers do not come back.
func (w *world) outdated(q *request) bool {
	return q.Number != w.Number && w.FinishByNumber && w.TakeByNumber && w.TakeWhenEmpty
}

// normaliseRequest: an outdated request can only be told a batch again, or take over.
func (w *world) normaliseRequest(q *request) {
	if q.From != 0 && w.outdated(q) {
		*q = request{From: q.From, Number: q.Number, Gone: q.Gone}
	}
	w.normaliseTimes(&q.Priority)
	q.Low = q.Low && !w.orderless()
}

// orderless: of one content alone, the fresh copy and a waiting retry become one in either order.
func (w *world) orderless() bool {
	return w.Max.Contents == 1 && w.DueRetryMerges && w.TakeSupersedesRetry
}

// normaliseTimes: of one content alone it does not matter for how long it had been due.
func (w *world) normaliseTimes(known *[maxContents]int8) {
	if w.Kind == Priority || !w.orderless() {
		return
	}
	for c, at := range known {
		known[c] = min(at, fresh)
	}
}

func (w *world) normaliseContent(c int) {
	waits := w.Store[c] != 0 || w.Prepare[c] != 0 || w.RetryDue[c] != 0
	if !waits && !w.Owed[c] {
		w.Deliveries[c], w.Last[c], w.Unseen[c] = 0, 0, false
	}
	w.normaliseJournal(c)
	if w.Later[c] <= w.Now {
		w.Later[c] = 0
	}
	switch w.Kind {
	case RangeMerge:
		w.Last[c] = 0
	case Priority:
		back := w.Prepare[c] > w.Retries || w.RetryLeft[c] > w.Retries // it may be unseen again
		if !w.Unseen[c] && !back && w.RetryAlone {
			w.Last[c] = 0
		}
	case FixedTime:
		if w.Last[c] <= fresh+w.Now {
			w.Last[c] = 0
		}
	}
	if w.orderless() { // how long something has been due does not matter
		if w.Kind != Priority && w.Store[c] > fresh && w.Store[c] <= fresh+w.Now {
			w.Store[c] = fresh
		}
		if w.RetryDue[c] > 1 && w.RetryDue[c]-1 <= w.Now {
			w.RetryDue[c] = 1
		}
		w.Taken = 0
	}
}

// normaliseNumbers: numbers are only ever compared with the slot's, which only grows. It becomes 1,
// and every other number 0.
func (w *world) normaliseNumbers() {
	w.Given = 0
	if w.Number == 0 {
		return // a worker that knows nothing may take
	}
	now := w.Number
	set := func(n *int8) {
		if *n == now {
			*n = 1
		} else {
			*n = 0
		}
	}
	for i := range w.Workers {
		k := &w.Workers[i]
		set(&k.Number)
		set(&k.Request.Number)
		set(&k.Ghost.Number)
		set(&k.Reply.Number)
	}
	w.Number = 1
}
