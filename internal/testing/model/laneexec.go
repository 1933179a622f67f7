package model

// exec does one step. Whether it is possible is for steps to say.
func (w *laneWorld) exec(t step) {
	if w.Forgets {
		defer w.remember()
	}
	if w.Drain {
		w.normaliseNumbers() // there may be many
	}
	k := &w.Workers[t.Worker]
	c := int(t.Content)
	switch t.Op {
	case send:
		w.send(c)
	case drain:
		w.Drain, w.Sends, w.Faults, w.Pauses, w.Paused = true, 0, 0, 0, false
	case pause:
		if w.Paused = !w.Paused; w.Paused {
			w.Pauses--
		}
	case leaseEnds:
		w.LeaseOver = true
	case stale:
		if k.Stale = true; !k.Late {
			w.Faults--
		}
	case metaLost:
		w.Faults--
		w.Holder, w.Number, w.Paused, w.Forgot = 0, 0, false, true
		w.renew()
	case rollback:
		w.Faults--
		w.goBack(int(t.Value))
	case verify:
		if who := k.Named.worker(); w.id(who) != k.Named || !w.Workers[who].Session {
			k.Gone = k.Named
		}
		k.Named = 0
	case begin:
		if k.Ended[c] != 0 && k.Ended[c] == w.Mark[c] {
			w.violate("AGAIN", c)
		}
		k.Lanes[c] = running
	case succeed:
		w.end(int(t.Worker), c, overDone)
	case fail:
		w.end(int(t.Worker), c, overFailed)
	case turn, leave:
		w.ask(int(t.Worker), t)
	case hear:
		w.hear(k)
	default:
		w.execNetwork(t, k)
	}
}

func (w *laneWorld) execNetwork(t step, k *laneWorker) {
	switch t.Op {
	case arrive:
		k.Reply = w.turn(&k.Request)
	case arriveDup:
		q := k.Ghost
		k.Ghost = laneRequest{}
		w.turn(&q)
	case duplicate:
		w.Faults--
		k.Ghost = k.Request
	case loseReply:
		w.Faults--
		k.Reply, k.Stale = laneReply{}, false // any of its sendings may count for the lease
	case crash:
		w.Faults--
		ghost := k.Ghost
		if k.Waiting && k.Reply.Answer == answerNone {
			ghost = k.Request
		}
		*k = laneWorker{Incarnation: k.Incarnation, Session: k.Session, Ghost: ghost}
	case restart, newSession:
		*k = laneWorker{Incarnation: k.Incarnation + 1, Up: true, Session: true, Ghost: k.Ghost}
	case expire:
		k.Session = false
	case heard:
		k.Late = false
	case deadline:
		w.Faults--
		k.Late = true
		for c, l := range k.Lanes {
			if l == running && w.LateStops {
				w.end(int(t.Worker), c, overFailed)
			}
		}
	case touch:
		k.Touch, k.Touched, k.Overtaken = k.Number+1, 0, k.Waiting
	case touchComes:
		k.Touched = 2
		if w.Holder == w.id(int(t.Worker)) && w.Prepare.count() > 0 && k.Touch == w.Number+1 {
			k.Touched = 1
			w.renew()
		}
	case touchHeard:
		refused := k.Touched == 2 && !(k.Overtaken && w.TurnOutdatesTouch)
		k.Touch, k.Touched, k.Overtaken = 0, 0, false
		if refused {
			w.cut(k)
		}
	}
}

func (w *laneWorld) send(c int) {
	w.Sends--
	w.Sent[c]++
	w.Store.Left[c], w.Store.Send[c] = w.Retries+1, w.Sent[c]
	w.Owed[c], w.Journal[c], w.Stamp[c] = true, true, max(w.Number, w.Given) // the number, or the clock
}

// cut drops all lanes of a worker that hears that they are its own no more.
func (w *laneWorld) cut(k *laneWorker) {
	for c, l := range k.Lanes {
		if l == running {
			w.violate("CUT", c)
		}
	}
	k.drop()
}

func (w *laneWorld) end(i, c int, how lane) {
	k := &w.Workers[i]
	k.Lanes[c], k.Ended[c] = how, 0
	if w.Holder == w.id(i) {
		k.Ended[c] = w.Mark[c]
	}
	if how == overDone && k.Send[c] == w.Sent[c] {
		w.Owed[c] = false
	}
}

// ask sends a turn with all that is over.
func (w *laneWorld) ask(i int, t step) {
	k := &w.Workers[i]
	q := laneRequest{From: w.id(i), Number: k.Number, Gone: k.Gone, Idle: !k.holds(), Count: t.Value, Low: t.Low}
	for c, l := range k.Lanes {
		switch {
		case l == overDone:
			q.Verdicts[c] = done
		case l == overFailed:
			q.Verdicts[c] = failed
		case l == unbegun && t.Op == leave:
			q.Verdicts[c] = notStarted
			if w.BackDoesNotBegin {
				k.Lanes[c] = handedBack
			}
		case l != noLane:
			q.Rolling = true
		}
	}
	k.Request, k.Reply = q, laneReply{}
	k.Waiting, k.Stale, k.Leaving, k.Asked, k.Overtaken = true, false, t.Op == leave, false, k.Touch != 0
}

// hear is the client's half of a turn.
func (w *laneWorld) hear(k *laneWorker) {
	q, r, isStale := k.Request, k.Reply, k.Stale
	k.Request, k.Reply = laneRequest{}, laneReply{}
	k.Waiting, k.Stale = false, false
	if r.Answer != answerBusy {
		k.Number = r.Number
	}
	switch r.Answer {
	case answerBusy:
		k.Named = r.Holder
		if w.AskHolder && w.lives(r.Holder) {
			w.Workers[r.Holder.worker()].Asked = true
		}
		w.cut(k)
		return
	case answerNumber:
		w.cut(k)
		return
	case answerLeft:
		k.Number = 0
	}
	for c, v := range q.Verdicts {
		if v == done && w.Stamp[c] < k.Under[c] {
			w.Journal[c] = false
		}
		if v != notMine {
			k.Lanes[c], k.Under[c], k.Send[c] = noLane, 0, 0
		}
	}
	w.hearBatch(k, &q, &r)
	if k.Leaving = false; !w.ZooKeeper {
		k.Late = isStale && k.holds() // as a deadline before it has said, if it held something
	}
}

// hearBatch begins nothing that runs. What is told again under a later take than its own is another message.
func (w *laneWorld) hearBatch(k *laneWorker, q *laneRequest, r *laneReply) {
	for c, has := range r.Has {
		l := k.Lanes[c]
		later := r.Told && w.ToldIsAll && r.Mark[c] > k.Under[c]
		switch {
		case !has && r.Told && (w.ToldIsAll || l == unbegun): // Redis forgot it
			k.Lanes[c], k.Under[c], k.Send[c] = noLane, 0, 0
		case !has, r.Told && q.Verdicts[c] != notMine && !w.ListedIsOver:
		case l == running && (!r.Told || !w.TellKeepsRunning):
			w.violate("RESTARTED", c)
		case l == noLane, l == unbegun, later:
			k.Lanes[c], k.Under[c], k.Send[c] = unbegun, r.Number, r.Send[c]
			if r.Told && w.MarkHasNumber {
				k.Under[c] = r.Mark[c]
			}
		}
	}
}
