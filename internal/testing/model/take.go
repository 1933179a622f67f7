package model

// pick is what a turn is about to take: contents of the store in their order, or a due retry.
type pick struct {
	contents  [maxContents]int
	n         int
	score     int8 // of the first
	fromRetry bool // the first comes out of the retry set
}

func (p *pick) add(c int) {
	p.contents[p.n] = c
	p.n++
}

// take moves the next batch into prepare.
func (w *world) take(q *request) reply {
	if w.Kind == Priority {
		w.takeUp()
	}
	p, dueRetryFirst := w.pickTime(q), false
	if w.Kind == Priority {
		p, dueRetryFirst = w.pickPriority(q)
	} else if r := w.nextRetry(); r >= 0 {
		dueRetryFirst = p.n == 0 || q.Low || fresh+w.RetryDue[r]-1 <= p.score
	}
	if r := w.nextRetry(); dueRetryFirst && r >= 0 && w.RetryDue[r]-1 <= w.Now {
		if w.Store[r] > w.Retries && w.DueRetryMerges {
			w.RetryDue[r], w.RetryLeft[r], w.Kept[r] = 0, 0, 0
		} else {
			p = w.pickRetry(r, p, q.Count)
		}
	}
	if p.n == 0 {
		return reply{Answer: answerEmpty, Number: w.Number}
	}

	if w.Large {
		p.n = 1
	}
	w.nextNumber()
	w.Holder, w.Lease, w.Taken = q.From, w.Leases[q.From.worker()], w.Now
	w.Until = w.Now + w.Lease
	left := w.Retries // one mark for all of the batch
	if p.score <= w.Retries || p.fromRetry {
		left = min(w.Retries, p.score-1)
	}
	r := reply{Answer: answerBatch, Number: w.Number}
	for i, c := range p.contents[:p.n] {
		retried := p.fromRetry && i == 0
		w.watch(c, retried)
		if w.Store[c] > w.Retries && !retried {
			r.Priority[c] = w.Store[c]
		}
		w.Store[c] = 0
		if retried || w.TakeSupersedesRetry {
			w.RetryDue[c], w.RetryLeft[c], w.Kept[c] = 0, 0, 0
		}
		w.Prepare[c] = left + 1
		w.Newest[c] = true
		r.Has[c], r.Newest[c] = true, true
	}
	return r
}

// takeUp gives what was put back its place in the store again, once its time has come.
func (w *world) takeUp() {
	for c, due := range w.RetryDue {
		if due == 0 || due-1 > w.Now || w.Kept[c] == 0 {
			continue
		}
		if w.Store[c] <= w.Retries || !w.DueRetryMerges {
			w.Store[c] = w.Kept[c]
		}
		w.RetryDue[c], w.RetryLeft[c], w.Kept[c] = 0, 0, 0
	}
}

// nextRetry is the content whose retry is due first, or -1.
func (w *world) nextRetry() int {
	first := -1
	for c, due := range w.RetryDue {
		if due > 0 && (first < 0 || due < w.RetryDue[first]) {
			first = c
		}
	}
	return first
}

func (w *world) pickRetry(r int, store pick, count int8) pick {
	p := pick{score: w.RetryLeft[r], fromRetry: true}
	p.add(r)
	if !w.RetryAlone {
		for _, c := range store.contents[:store.n] {
			if c != r && p.n < int(count) {
				p.add(c)
			}
		}
	}
	return p
}

// pickTime picks what is due in the store, oldest first. Scores of retries are low, hence due.
func (w *world) pickTime(q *request) (p pick) {
	for _, c := range w.ascending() {
		if w.Store[c] == 0 || w.Store[c] > fresh+w.Now || p.n == int(q.Count) {
			continue
		}
		if p.n == 0 {
			p.score = w.Store[c]
		}
		p.add(c)
		if p.score <= w.Retries && w.RetryAlone {
			break
		}
	}
	return p
}

// pickPriority picks the highest priorities, or now and then a retry: from the store if there is
// one, else the due one of the retry set.
func (w *world) pickPriority(q *request) (p pick, dueRetryFirst bool) {
	order := w.ascending()
	top := w.Store[order[maxContents-1]]
	dueRetryFirst = top <= w.Retries || q.Low
	if dueRetryFirst {
		for _, c := range order {
			if s := w.Store[c]; s > 0 && s <= w.Retries {
				p.score = s
				p.add(c)
				break
			}
		}
		if p.n > 0 && w.RetryAlone {
			return p, dueRetryFirst
		}
	}
	for i := maxContents - 1; i >= 0; i-- {
		if c := order[i]; w.Store[c] > w.Retries && p.n < int(q.Count) {
			if p.n == 0 {
				p.score = w.Store[c]
			}
			p.add(c)
		}
	}
	return p, dueRetryFirst
}

// ascending are the contents by their scores in the store.
func (w *world) ascending() (order [maxContents]int) {
	order = [maxContents]int{0, 1}
	if w.Store[0] > w.Store[1] {
		order = [maxContents]int{1, 0}
	}
	return order
}
