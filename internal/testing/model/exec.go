package model

// exec does one step. Whether it is possible is for steps to say.
func (w *world) exec(t step) {
	if w.Forgets {
		defer w.remember()
	}
	i := int(t.Worker)
	k := &w.Workers[i]
	switch t.Op {
	case send:
		w.Sends--
		w.send(int(t.Content), t.Value)
	case readNumber:
		w.Unread[t.Content] = false
	case tick:
		w.Now++
	case drain:
		w.Drain, w.Sends, w.Faults = true, 0, 0

	case arrive:
		k.Reply = w.turn(&k.Request)
	case arriveDup:
		q := k.Ghost
		k.Ghost = request{}
		w.turn(&q)
	case duplicate:
		w.Faults--
		k.Ghost = k.Request
	case loseReply:
		w.Faults--
		k.Reply, k.Sent = reply{}, w.Now // any of its sendings may count for the lease
	case forget:
		w.Faults--
		k.Ghost = k.Request
		k.endTurn()

	case rollback:
		w.Faults--
		w.goBack(int(t.Value))
	case askHolder:
		w.Workers[k.Named.worker()].Asked = true
		k.Named = 0

	case crash:
		w.Faults--
		*k = worker{Incarnation: k.Incarnation, Session: k.Session, Ghost: k.afterlife()}
	case freeze:
		w.Faults--
		k.Frozen = true
	case thaw:
		k.Frozen = false
	case restart, newSession:
		w.startAnew(i)

	case expire:
		k.Session = false
		if w.Assigned == w.id(i) {
			w.reassign()
		}
	case deadline:
		w.passDeadline(k)
	case heard:
		k.Late = false
	case rebalance:
		w.Faults--
		w.Assigned = w.id(i)
	case seeSlot:
		k.Sees = w.Assigned
	case seeMembers:
		k.Members = w.members()
	case verify:
		if !w.QuorumWrite || !w.hasSession(k.Named) {
			k.Gone = k.Named
		}
		k.Named = 0

	case turn:
		w.ask(i, t.Value, t.Low)
	case leave:
		w.ask(i, 0, false)
		k.Leaving = true
	case hear:
		w.hear(k)
	case begin:
		k.Handling = t.Content + 1
		k.Reckless = !w.inTime(i) // not with the check
	case succeed:
		c := k.Handling - 1
		k.end(done)
		if k.Newest[c] {
			w.Owed[c] = false
		}
	case fail:
		k.end(verdict(t.Value))
	case touch:
		if w.touch(w.id(i), k.Number) {
			k.Since = w.Now
		} else { // not its own any more: the handler is cancelled and none is started
			k.Since = w.Now - w.Leases[i]
			k.end(failed)
		}
	}
}

// end notes the verdict of the handler that was running.
func (k *worker) end(v verdict) {
	k.Verdicts[k.Handling-1] = v
	k.Handling, k.Reckless = 0, false
}

// afterlife is the request that may still arrive when its sender is dead.
func (k *worker) afterlife() request {
	if k.Request.From != 0 && k.Reply.Answer == answerNone {
		return k.Request
	}
	return k.Ghost
}

func (w *world) startAnew(i int) {
	k := &w.Workers[i]
	*k = worker{Incarnation: k.Incarnation + 1, Up: true, Session: true, Ghost: k.Ghost}
	if w.Assigned == 0 {
		w.Assigned = w.id(i)
	}
	k.Sees, k.Members = w.Assigned, w.members()
}

// reassign gives the slot to a worker with a session, if there is one.
func (w *world) reassign() {
	w.Assigned = 0
	for i := range w.Workers {
		if w.Workers[i].Session {
			w.Assigned = w.id(i)
		}
	}
}

// passDeadline: the worker's own clock says that its session may be over. Handlers are cancelled.
func (w *world) passDeadline(k *worker) {
	if k.Session {
		w.Faults--
	}
	k.Late = true
	if w.CheckBeforeHandler && k.Handling > 0 {
		k.end(failed)
	}
}

// ask sends a turn, which finishes the batch the worker holds.
func (w *world) ask(i int, count int8, low bool) {
	k := &w.Workers[i]
	q := request{From: w.id(i), Number: k.Number, Gone: k.Gone, Count: count, Low: low, Idle: w.Forgets && !k.Holds}
	if k.Holds {
		q.Verdicts = k.Verdicts
		for c, v := range k.Verdicts {
			if v == notStarted || v == snoozed {
				q.Priority[c] = k.Priority[c]
			}
		}
	}
	k.Request, k.Reply = q, reply{}
	k.Waiting, k.Joined, k.Asked, k.Sent = true, true, false, w.Now
}

// hear is the client's half of a turn. The old batch is settled by whatever was answered.
func (w *world) hear(k *worker) {
	r, leaving := k.Reply, k.Leaving
	if k.Cut && r.Answer != answerNumber && r.Answer != answerBusy {
		w.violate("UNTOLD", "a finish was answered as if it had been applied, but the batch was taken over")
	}
	k.endTurn()
	switch r.Answer {
	case answerBatch:
		k.Holds, k.Number, k.Since = true, r.Number, k.Sent
		for c := range r.Has {
			if r.Has[c] {
				k.Verdicts[c], k.Priority[c], k.Newest[c] = notStarted, r.Priority[c], r.Newest[c]
			}
		}
		return // even if it is leaving: told again, which is to be handed back or handled
	case answerBusy:
		k.Named = r.Holder
		if r.Number != 0 { // not in the protocol
			k.Number = r.Number
		}
	default:
		k.Number = r.Number
	}
	if leaving {
		k.Joined, k.Number = false, 0
	}
}

// endTurn forgets the turn and the batch it finished.
func (k *worker) endTurn() {
	k.Waiting, k.Leaving, k.Request, k.Reply = false, false, request{}, reply{}
	k.Holds, k.Cut = false, false
	k.Verdicts, k.Priority, k.Newest = [maxContents]verdict{}, [maxContents]int8{}, [maxContents]bool{}
}
