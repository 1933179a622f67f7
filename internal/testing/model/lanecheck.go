package model

import "slices"

// afterForgetting are the promises that hold also when Redis has forgotten something.
var afterForgetting = []string{"ENTITY", "CROWDED", "LOST", "ONCE", "FENCE", "JOURNAL-LOST", "STRANDED"}

func (w *laneWorld) violate(name string, c int) {
	if w.Forgot && !slices.Contains(afterForgetting, name) || w.violation != "" {
		return
	}
	if w.violation = name; c >= 0 {
		w.violation += " " + string(letter(c))
	}
}

// check looks at what must hold after every step.
func (w *laneWorld) check() {
	var everywhere [2]int
	for i := range w.Workers {
		var here [2]int
		for c, l := range w.Workers[i].Lanes {
			if l != running {
				continue
			}
			e := entityOf(c)
			if here[e]++; here[e] > 1 {
				w.violate("ENTITY", c)
			}
			if everywhere[e]++; everywhere[e] > 1 {
				w.violate("CONCURRENT", c)
			}
			if w.Prepare.Left[c] == 0 || w.Holder != w.id(i) {
				w.violate("NOT-HELD", c)
			}
		}
	}
	flying := w.Prepare.count()
	for c := range laneContents {
		waits := w.there(c)
		switch {
		case w.Prepare.Suspect[c] && flying > 1:
			w.violate("CROWDED", c)
		case w.Owed[c] && !waits:
			w.violate("LOST", c)
		case w.Owed[c] && !w.Journal[c]:
			w.violate("JOURNAL-LOST", c)
		case w.Prepare.Left[c] > 0 && w.Retry.Left[c] > 0:
			w.violate("ONCE", c)
		}
	}
}

// there reports whether a copy of the last send is in Redis.
func (w *laneWorld) there(c int) bool {
	for _, p := range []*copies{&w.Store, &w.Prepare, &w.Retry} {
		if p.Left[c] > 0 && p.Send[c] == w.Sent[c] {
			return true
		}
	}
	return false
}

func (w *laneWorld) settled() bool {
	return w.Store.count()+w.Prepare.count()+w.Retry.count() == 0
}

func (w *laneWorld) remember() {
	if len(w.history) == 0 || w.history[len(w.history)-1] != w.laneRedis {
		w.history = append(w.history, w.laneRedis)
	}
}

// goBack makes Redis what it was so many changes ago. What it forgot is owed no more.
func (w *laneWorld) goBack(changes int) {
	w.history = w.history[:len(w.history)-changes] // and what it forgot it never knows again
	w.laneRedis = w.history[len(w.history)-1]
	w.Forgot = true
	for c := range w.Owed {
		w.Owed[c] = w.Owed[c] && w.there(c)
	}
}

// normalise forgets what can have no effect any more.
func (w *laneWorld) normalise() {
	for c := range laneContents {
		if !w.Journal[c] {
			w.Stamp[c] = 0
		}
		if w.Prepare.Left[c] == 0 && w.Retry.Left[c] == 0 {
			w.Deliveries[c], w.Shared[c] = 0, 0
		}
		w.Fence[c] = w.Number // numbers grow where Redis forgets nothing
		for i := range w.Workers {
			if k := &w.Workers[i]; k.Ended[c] != w.Mark[c] {
				k.Ended[c] = 0
			}
		}
	}
	for i := range w.Workers {
		k := &w.Workers[i]
		if !w.ZooKeeper {
			k.Named, k.Gone, k.Session = 0, 0, k.Up
		}
		for _, n := range []*int8{&k.Number, &k.Request.Number, &k.Ghost.Number} {
			if *n != w.Number {
				*n = 0 // and does not come back
			}
		}
	}
	w.normaliseNumbers()
}

// normaliseNumbers: only the order of numbers matters. What Redis may go back to keeps its own.
func (w *laneWorld) normaliseNumbers() {
	var there, rank [128]int8
	w.numbers(func(n *int8) { there[*n] = 1 })
	next := int8(1)
	for n := 1; n < len(there); n++ {
		if there[n] > 0 {
			rank[n] = next
			next++
		}
	}
	w.numbers(func(n *int8) { *n = rank[*n] })
}

// numbers shows all numbers of the slot that anybody knows.
func (w *laneWorld) numbers(see func(*int8)) {
	see(&w.Number)
	see(&w.Given)
	for c := range laneContents {
		see(&w.Mark[c])
		see(&w.Fence[c])
		see(&w.Stamp[c])
	}
	for i := range w.Workers[:w.Max.Workers] {
		k := &w.Workers[i]
		see(&k.Number)
		see(&k.Request.Number)
		see(&k.Ghost.Number)
		see(&k.Reply.Number)
		for c := range laneContents {
			see(&k.Under[c])
			see(&k.Ended[c])
			see(&k.Reply.Mark[c])
		}
		if k.Touch > 0 {
			k.Touch--
			see(&k.Touch)
			k.Touch++
		}
	}
}
