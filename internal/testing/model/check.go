package model

import "fmt"

// violate notes the first violation; words say which content or how. Of what is promised little is left
// when Redis has forgotten something.
func (w *world) violate(name, words string, args ...any) {
	if w.Forgot && name != "LOST" && name != "STRANDED" && name != "SPENT" {
		return
	}
	if w.violation == "" {
		w.violation = name + " " + fmt.Sprintf(words, args...)
	}
}

func letter(c int) rune { return 'A' + rune(c) }

// watch is the observer's look at a content which is being taken out of the store or, retried, out
// of the retry set.
//
// A priority that is not known any more is the one accepted loss: the reply of the take got lost,
// the batch was told again and then handed back. It is not Unseen in that case.
func (w *world) watch(c int, retried bool) {
	score := w.Store[c]
	if retried {
		score = w.RetryLeft[c]
	}
	if w.Unseen[c] && w.Kind == Priority && score != w.Last[c] {
		w.violate("PRIORITY-LOST", "%c taken with %d, last sent with %d", letter(c), score, w.Last[c])
	}
	if w.Unseen[c] && w.Kind == FixedTime && fresh+w.Now < w.Last[c] {
		w.violate("EARLY", "%c taken %d ticks before its time", letter(c), w.Last[c]-fresh-w.Now)
	}
	if w.Now < w.Later[c] {
		w.violate("SOON", "%c taken %d ticks before its handler wanted it", letter(c), w.Later[c]-w.Now)
	}
	w.Unseen[c], w.Later[c] = false, 0
	w.Deliveries[c]++
	if w.Deliveries[c] > w.Retries+1 {
		w.violate("OVERRUN", "%c is delivered for the %dth time", letter(c), w.Deliveries[c])
	}
}

// watchTime is the observer's look at a range-merge content that was due, was taken and goes back
// because nobody has begun it: the first of its times is over.
func (w *world) watchTime(c int) {
	if w.Store[c] > fresh+w.Now {
		w.violate("LATE", "%c was due, and waits for another %d ticks", letter(c), w.Store[c]-fresh-w.Now)
	}
}

// check looks at what must hold after every step.
func (w *world) check() {
	for c := range w.Max.Contents {
		if w.Owed[c] && w.Store[c] == 0 && w.Prepare[c] == 0 && w.RetryDue[c] == 0 {
			w.violate("LOST", "%c is owed and nowhere", letter(c))
		}
	}
	w.checkJournal()
	first := -1
	for i := range w.Workers {
		if !w.handlesLive(i) {
			continue
		}
		if first >= 0 && w.Workers[first].Handling == w.Workers[i].Handling {
			w.violate("CONCURRENT", "w%d and w%d handle the same content", first, i)
		}
		if first >= 0 {
			w.violate("SERIAL", "w%d and w%d handle at the same time", first, i)
		}
		first = i
	}
	if w.ZooKeeper && !w.Forgot && w.inFlight() && w.Holder != 0 && w.forgotten(w.Holder) {
		w.violate("STRANDED", "the holder lives, and neither knows its batch nor will ask")
	}
}

// handlesLive reports whether the worker's handler runs while the protocol promises that no other
// does: the lease or the session lives. A handler that was started too late counts anyway, unless
// its process is frozen: that is what the check before it is for.
func (w *world) handlesLive(i int) bool {
	k := &w.Workers[i]
	if !k.Up || k.Handling == 0 {
		return false
	}
	if k.Reckless && !k.Frozen {
		return true
	}
	if w.ZooKeeper {
		return k.Session // even past its own deadline
	}
	return w.inTime(i)
}

// forgotten tells that the holder cannot be proven dead, has no part in the slot and will get none.
func (w *world) forgotten(holder id) bool {
	i := holder.worker()
	k := &w.Workers[i]
	return holder == w.id(i) && k.Up && !k.Frozen && k.Session && !k.Late &&
		!k.Joined && !k.Waiting && k.Sees != holder && w.Assigned != holder
}

// settled: nothing owed is left to deliver.
func (w *world) settled() bool {
	if w.Forgot {
		return w.empty()
	}
	return w.Owed == [maxContents]bool{}
}

// hopeless: no worker can ever work again, since all have used up their lives.
func (w *world) hopeless() bool {
	for i := range w.Max.Workers {
		k := &w.Workers[i]
		last := k.Incarnation == maxIncarnations-1
		if k.Up && !(last && w.ZooKeeper && (k.Late || !k.Session)) || !k.Up && !last {
			return false
		}
	}
	return true
}
