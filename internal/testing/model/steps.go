package model

// op is what happens in one step.
type op int8

const (
	send       op = iota // Content, Value
	readNumber           // behind the last send of Content
	tick
	drain // ends sends and faults; only between a walk and its drain

	// The network.
	arrive    // the request reaches Redis, which answers
	arriveDup // a late duplicate reaches Redis, the answer belongs to no worker
	duplicate // the request is on its way twice
	loseReply // the reply gets lost, the turn is repeated
	forget    // without RepeatTurn: the worker goes on as if it had never asked
	rollback  // Redis is what it was Value changes ago
	askHolder // the holder named by BUSY is asked whether it carries its batch

	// Processes.
	crash
	freeze
	thaw
	restart // under a new id

	// ZooKeeper.
	expire     // of a session, at the server
	deadline   // of a session, at the worker
	heard      // the session, after its deadline: it has not expired
	newSession // under a new id
	rebalance  // the slot is assigned to this worker
	seeSlot    // reads the assignment
	seeMembers // reads the members
	verify     // is the holder named by BUSY dead?

	// The worker's own work.
	turn  // Value contents at most; Low
	leave // the turn with count 0
	hear  // the reply
	begin // a handler of Content
	succeed
	fail // Value is the verdict
	touch

	ops // how many there are
)

// step is an op with what it is about.
type step struct {
	Op      op
	Worker  int8
	Content int8
	Value   int8
	Low     bool
}

// steps appends all steps that are possible now.
func (w *world) steps(to []step) []step {
	if w.Sends > 0 {
		for c := range w.Max.Contents {
			to = append(to, step{Op: send, Content: int8(c), Value: 1})
			if w.Kind != RangeMerge {
				to = append(to, step{Op: send, Content: int8(c), Value: 3})
			}
		}
	}
	for c := range w.Max.Contents {
		if w.Unread[c] && w.Journal[c] {
			to = append(to, step{Op: readNumber, Content: int8(c)})
		}
	}
	if w.Now < w.Max.Ticks || w.Drain && w.Now < drainTicks {
		to = append(to, step{Op: tick})
	}
	if w.Forgets && w.Faults > 0 && !w.Forgot {
		for back := 1; back < len(w.history); back++ {
			to = append(to, step{Op: rollback, Value: int8(back)})
		}
	}
	for i := range w.Max.Workers {
		to = w.networkSteps(i, to)
		to = w.processSteps(i, to)
		if k := &w.Workers[i]; k.Up && !k.Frozen {
			if w.ZooKeeper {
				to = w.sessionSteps(i, to)
			}
			to = w.shareSteps(i, to)
			to = w.workSteps(i, to)
		}
	}
	return to
}

func (w *world) networkSteps(i int, to []step) []step {
	k := &w.Workers[i]
	onItsWay := k.Request.From != 0 && k.Reply.Answer == answerNone
	awake := k.Up && !k.Frozen
	if onItsWay {
		to = append(to, step{Op: arrive, Worker: int8(i)})
	}
	if k.Ghost.From != 0 {
		to = append(to, step{Op: arriveDup, Worker: int8(i)})
	}
	if w.Faults == 0 {
		return to
	}
	if k.Reply.Answer != answerNone && awake {
		to = append(to, step{Op: loseReply, Worker: int8(i)})
	}
	if onItsWay && k.Ghost.From == 0 {
		to = append(to, step{Op: duplicate, Worker: int8(i)})
		if !w.RepeatTurn && awake {
			to = append(to, step{Op: forget, Worker: int8(i)})
		}
	}
	return to
}

func (w *world) processSteps(i int, to []step) []step {
	k := &w.Workers[i]
	awake := k.Up && !k.Frozen
	if w.Faults > 0 {
		if k.Up {
			to = append(to, step{Op: crash, Worker: int8(i)})
		}
		if awake {
			to = append(to, step{Op: freeze, Worker: int8(i)})
		}
		if w.shared() && k.Session && w.Assigned != w.id(i) {
			to = append(to, step{Op: rebalance, Worker: int8(i)})
		}
		if w.ZooKeeper && k.Session && awake && !k.Late {
			to = append(to, step{Op: deadline, Worker: int8(i)})
		}
	}
	if w.ZooKeeper && awake && k.Late && (k.Session || !w.SessionLives) {
		to = append(to, step{Op: heard, Worker: int8(i)})
	}
	if k.Up && k.Frozen {
		to = append(to, step{Op: thaw, Worker: int8(i)})
	}
	// While draining, a frozen process thaws in time.
	if w.ZooKeeper && k.Session && (!k.Up || k.Late || k.Frozen && !w.Drain) {
		to = append(to, step{Op: expire, Worker: int8(i)})
	}
	if !k.Up && !(w.ZooKeeper && k.Session) && k.Incarnation < maxIncarnations-1 {
		to = append(to, step{Op: restart, Worker: int8(i)})
	}
	return to
}

// sessionSteps are those of a process which is awake.
func (w *world) sessionSteps(i int, to []step) []step {
	k := &w.Workers[i]
	if !k.Session && !k.Late {
		to = append(to, step{Op: deadline, Worker: int8(i)})
	}
	if k.Session && !w.QuorumWrite && k.Members != w.members() {
		to = append(to, step{Op: seeMembers, Worker: int8(i)})
	}
	if !k.Session && k.Late && k.Handling == 0 && !k.Waiting && k.Incarnation < maxIncarnations-1 {
		to = append(to, step{Op: newSession, Worker: int8(i)})
	}
	if k.Session && k.Named != 0 && (w.QuorumWrite || !k.listed(k.Named)) {
		to = append(to, step{Op: verify, Worker: int8(i)})
	}
	return to
}

// shareSteps are those by which the slot moves, without a right to it.
func (w *world) shareSteps(i int, to []step) []step {
	k := &w.Workers[i]
	if w.shared() && k.Session && k.Sees != w.Assigned {
		to = append(to, step{Op: seeSlot, Worker: int8(i)})
	}
	if w.Forgets && w.AskHolder && k.Named != 0 && k.Named == w.id(k.Named.worker()) && !w.Workers[k.Named.worker()].Holds {
		to = append(to, step{Op: askHolder, Worker: int8(i)})
	}
	return to
}

// shared reports whether a worker turns only at what is assigned to it.
func (w *world) shared() bool { return w.ZooKeeper || w.Forgets }

// listed reports whether who is alive, by what the worker has read.
func (k *worker) listed(who id) bool { return k.Members[who.worker()] == who.incarnation()+1 }

// workSteps are those of a process which is awake: it waits for a reply, or runs a handler, or
// starts one, or turns.
func (w *world) workSteps(i int, to []step) []step {
	k := &w.Workers[i]
	at := int8(i)
	if k.Waiting {
		if k.Reply.Answer != answerNone {
			to = append(to, step{Op: hear, Worker: at})
		}
		return to
	}
	inTime := w.trusts(i)
	if k.Handling > 0 {
		to = append(to, step{Op: succeed, Worker: at})
		if !w.Drain {
			to = append(to, step{Op: fail, Worker: at, Value: int8(failed)})
			if w.NoDelay {
				to = append(to, step{Op: fail, Worker: at, Value: int8(failedNow)})
			}
			if w.DeadNow {
				to = append(to, step{Op: fail, Worker: at, Value: int8(failedForGood)})
			}
			if w.Snooze {
				to = append(to, step{Op: fail, Worker: at, Value: int8(snoozed)})
			}
		}
		if !w.ZooKeeper && inTime && w.Now > k.Since {
			to = append(to, step{Op: touch, Worker: at})
		}
		return to
	}

	assigned := !w.shared() || k.Sees == w.id(i)
	goesOn := false
	for c, v := range k.Verdicts {
		if v == notStarted {
			goesOn = goesOn || inTime && assigned && !w.HandBack
			if inTime || !w.CheckBeforeHandler {
				to = append(to, step{Op: begin, Worker: at, Content: int8(c)})
			}
		}
	}
	if goesOn {
		return to
	}
	trusted := !w.ZooKeeper || !k.Late
	if assigned && trusted {
		to = append(to, step{Op: turn, Worker: at, Value: maxContents})
		if w.Single {
			to = append(to, step{Op: turn, Worker: at, Value: 1})
		}
		to = append(to, step{Op: turn, Worker: at, Value: maxContents, Low: true})
	}
	if w.mayLeave(k, assigned) || k.Asked && !k.Holds {
		to = append(to, step{Op: leave, Worker: at})
	}
	return to
}

// mayLeave: a worker leaves what is not its own any more, and what it gives up early. One whose
// session is over finishes what it holds and asks for nothing else.
func (w *world) mayLeave(k *worker, assigned bool) bool {
	switch {
	case w.ZooKeeper && k.Late:
		return k.Holds
	case w.shared() && !assigned:
		return k.Joined
	default:
		return k.Holds && (w.HandBack || !w.ZooKeeper)
	}
}
