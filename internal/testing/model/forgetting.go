package model

import "math/rand/v2"

// Redis forgets: it starts again from a snapshot, or a replica that lagged takes over. It is then as it
// was some steps ago, and the workers know what they knew. Sends that it forgot are lost, and what it
// forgot of deliveries may come again, two at a time: that is not promised. But the slot must go on.

// redis is what Redis has of a slot, and may go back to.
type redis struct {
	Store, Prepare, RetryDue, RetryLeft, Kept [maxContents]int8
	Holder                                    id
	Number, Until, Lease, Taken               int8
}

func (s *state) redis() redis {
	return redis{s.Store, s.Prepare, s.RetryDue, s.RetryLeft, s.Kept, s.Holder, s.Number, s.Until, s.Lease, s.Taken}
}

// remember notes what Redis was like, each time it has changed.
func (w *world) remember() {
	if now := w.redis(); len(w.history) == 0 || w.history[len(w.history)-1] != now {
		w.history = append(w.history, now)
	}
}

// goBack makes Redis what it was so many changes ago. From then on the observer wants to see that what
// is there gets delivered, and what was owed and is still there is not lost.
func (w *world) goBack(changes int) {
	r := w.history[len(w.history)-1-changes]
	w.Store, w.Prepare, w.RetryDue, w.RetryLeft = r.Store, r.Prepare, r.RetryDue, r.RetryLeft
	w.Kept, w.Later = r.Kept, [maxContents]int8{}
	w.Holder, w.Number, w.Until, w.Lease, w.Taken = r.Holder, r.Number, r.Until, r.Lease, r.Taken
	w.Forgot, w.Unseen = true, [maxContents]bool{}
	for c := range w.Owed {
		w.Owed[c] = w.Owed[c] && (w.Store[c] != 0 || w.Prepare[c] != 0 || w.RetryDue[c] != 0)
		w.Newest[c] = w.Prepare[c] > 0
		for i := range w.Workers {
			k := &w.Workers[i]
			holds := w.Holder == w.id(i) && w.Newest[c]
			k.Newest[c] = holds && k.Holds && k.Number == w.Number
			k.Reply.Newest[c] = holds && k.Reply.Has[c] && k.Reply.Number == w.Number
			// What was handled may still be finished.
			handled := k.Newest[c] && k.Verdicts[c] == done
			for _, q := range []*request{&k.Request, &k.Ghost} {
				handled = handled || holds && q.From == w.Holder && q.Number == w.Number && q.Verdicts[c] == done
			}
			w.Owed[c] = w.Owed[c] && !handled
		}
	}
}

// empty: nothing is left in the slot.
func (w *world) empty() bool {
	return w.Store == [maxContents]int8{} && w.Prepare == [maxContents]int8{} && w.RetryDue == [maxContents]int8{}
}

// watchTakeover is the observer's look at a batch that is taken over. While its holder lives and Redis
// has forgotten what became of it, it can come back without the loss of an attempt.
func (w *world) watchTakeover() {
	if !w.Forgot || w.Holder == 0 {
		return
	}
	i := w.Holder.worker()
	if k := &w.Workers[i]; w.Holder == w.id(i) && k.Up && !k.Frozen {
		w.violate("SPENT", "the batch of w%d was taken over, and w%d lives", i, i)
	}
}

// ForgettingOptions is the world of the walks in which Redis forgets. Leases are long beside all else.
func ForgettingOptions(kind Kind, zooKeeper bool) Options {
	o := WideOptions(kind, zooKeeper)
	o.Forgets, o.Delay, o.Leases, o.Max.Ticks = true, 1, [maxWorkers]int8{25, 25, 25}, 8
	return o
}

// WalkForgetting takes the n-th walk of a seed in which Redis forgets once, after the slot may have
// moved, and requests may have been lost and doubled. No process dies or stands still. Then the slot must
// drain, and no batch may be taken over.
func WalkForgetting(o Options, seed, n uint64) (int, *Trace) {
	r := rand.New(rand.NewPCG(seed, n))
	t := &Trace{Options: o, start: start(&o)}
	w := &world{Options: &o, state: t.start}
	w.remember()
	var possible []step
	for range 10 + r.IntN(80) {
		possible = possible[:0]
		for _, s := range w.steps(nil) {
			switch s.Op {
			case crash, freeze, expire, deadline, rollback:
			default:
				possible = append(possible, s)
			}
		}
		if len(possible) == 0 || w.violation != "" {
			break
		}
		w.follow(possible[r.IntN(len(possible))], t)
	}
	if w.violation == "" && len(w.history) > 1 {
		w.follow(step{Op: rollback, Value: int8(1 + r.IntN(min(len(w.history)-1, 40)))}, t)
		w.drain(r, t)
	}
	if w.violation == "" {
		return len(t.steps), nil
	}
	t.Violation = w.violation
	return len(t.steps), t
}
