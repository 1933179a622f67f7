package model

// send stores content c: due in v ticks, or with priority v.
func (w *world) send(c int, v int8) {
	score := fresh + v
	switch w.Kind {
	case RangeMerge:
		score = fresh + w.Now + 1
		if s := w.Store[c]; s > w.Retries || s > 0 && !w.SendRestartsBudget {
			score = s // merged into what waits
		}
	case FixedTime:
		score += w.Now
	}
	w.Store[c] = score

	w.Owed[c], w.Unseen[c], w.Newest[c] = true, true, false
	w.Last[c], w.Deliveries[c], w.Later[c] = score, 0, 0
	w.note(c)
	for i := range w.Workers {
		w.Workers[i].Newest[c], w.Workers[i].Reply.Newest[c] = false, false
	}
}

// touch renews the lease of a batch and reports whether it is still the asker's.
func (w *world) touch(who id, number int8) bool {
	if w.Holder != who || w.Number != number {
		return false
	}
	w.Until = w.Now + w.Leases[who.worker()]
	return true
}
