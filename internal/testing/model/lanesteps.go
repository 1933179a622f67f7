package model

// What happens to lanes only. All else has the op of the model of a slot.
const (
	leaseEnds  op = ops + iota // of the holder, at the server
	stale                      // the lease, counted from when the turn was sent
	metaLost                   // somebody deletes meta
	pause                      // or resumes
	touchComes                 // reaches Redis, which answers
	touchHeard                 // the answer reaches the worker
	laneOps
)

func (w *laneWorld) steps(to []step) []step {
	for c := range laneContents {
		if w.Sends > 0 && w.Store.Left[c] == 0 {
			to = append(to, step{Op: send, Content: int8(c)})
		}
	}
	if w.Pauses > 0 || w.Paused {
		to = append(to, step{Op: pause})
	}
	if !w.ZooKeeper && w.Prepare.count() > 0 && !w.LeaseOver && (!w.keepsLease() || w.Unrenewed) {
		to = append(to, step{Op: leaseEnds})
	}
	if w.Forgets && w.Faults > 0 {
		to = append(to, step{Op: metaLost})
		for back := 1; back < min(len(w.history), 13); back++ {
			to = append(to, step{Op: rollback, Value: int8(back)})
		}
	}
	for i := range w.Workers[:w.Max.Workers] {
		to = w.networkSteps(i, to)
		to = w.processSteps(i, to)
		if w.Workers[i].Up {
			to = w.handlerSteps(i, to)
			to = w.turnSteps(i, to)
		}
	}
	return to
}

func (w *laneWorld) networkSteps(i int, to []step) []step {
	k, at := &w.Workers[i], int8(i)
	answered := k.Reply.Answer != answerNone
	if k.Waiting && !answered {
		to = append(to, step{Op: arrive, Worker: at})
		if w.Faults > 0 && k.Ghost.From == 0 {
			to = append(to, step{Op: duplicate, Worker: at})
		}
	}
	if answered {
		to = append(to, step{Op: hear, Worker: at})
		if w.Faults > 0 {
			to = append(to, step{Op: loseReply, Worker: at})
		}
	}
	if k.Ghost.From != 0 {
		to = append(to, step{Op: arriveDup, Worker: at})
	}
	switch {
	case k.Touched != 0:
		to = append(to, step{Op: touchHeard, Worker: at})
	case k.Touch != 0:
		to = append(to, step{Op: touchComes, Worker: at})
	case w.Touches && !w.Drain && k.holds():
		to = append(to, step{Op: touch, Worker: at})
	}
	return to
}

func (w *laneWorld) processSteps(i int, to []step) []step {
	k, at := &w.Workers[i], int8(i)
	if !k.Up {
		to = append(to, step{Op: restart, Worker: at})
	} else if w.Faults > 0 {
		to = append(to, step{Op: crash, Worker: at})
		if k.holds() && !k.Late {
			to = append(to, step{Op: deadline, Worker: at})
		}
	}
	if k.Waiting && !k.Stale && (k.Late || !k.holds() && w.Faults > 0) && !w.ZooKeeper {
		to = append(to, step{Op: stale, Worker: at})
	}
	if !w.ZooKeeper {
		return to
	}
	switch {
	case k.Session && (k.Late || !k.Up):
		to = append(to, step{Op: expire, Worker: at})
		if k.Up {
			to = append(to, step{Op: heard, Worker: at})
		}
	case k.Up && !k.Session:
		to = append(to, step{Op: newSession, Worker: at})
	}
	if k.Up && k.Named != 0 {
		to = append(to, step{Op: verify, Worker: at})
	}
	return to
}

func (w *laneWorld) handlerSteps(i int, to []step) []step {
	k := &w.Workers[i]
	for c, l := range k.Lanes {
		t := step{Worker: int8(i), Content: int8(c)}
		switch {
		case l == running:
			t.Op = succeed
			if to = append(to, t); !w.Drain {
				t.Op = fail
				to = append(to, t)
			}
		case l == unbegun && (!k.Late || !w.LateStops) && !(w.OneOfEntity && k.entityRuns(c)):
			t.Op = begin
			to = append(to, t)
		}
	}
	return to
}

func (k *laneWorker) entityRuns(c int) bool {
	for d, l := range k.Lanes {
		if l == running && entityOf(d) == entityOf(c) {
			return true
		}
	}
	return false
}

// turnSteps: a worker that believes to have the slot turns whenever it likes. One that helps takes once,
// reports what has ended, and leaves when all has.
func (w *laneWorld) turnSteps(i int, to []step) []step {
	k, at := &w.Workers[i], int8(i)
	take := step{Op: turn, Worker: at, Value: laneContents}
	switch {
	case k.Waiting:
	case w.ZooKeeper && k.Late:
		if k.holds() {
			to = append(to, step{Op: leave, Worker: at})
		}
	case i == helper && k.holds():
		if w.HelperLeaves && k.all(overDone, overFailed) || !w.Drain || k.Late {
			if w.HelperLeaves {
				to = append(to, step{Op: leave, Worker: at})
			}
		}
	case i == helper:
		if !w.Drain || k.Asked {
			to = append(to, take)
		}
	default:
		to = append(to, take)
		take.Low = true
		if to = append(to, take); !w.Drain {
			to = append(to, step{Op: turn, Worker: at, Value: 1}, step{Op: leave, Worker: at})
		}
	}
	return to
}
