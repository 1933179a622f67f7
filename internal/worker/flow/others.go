package flow

import (
	"math"
	"time"
)

// Several workers often share what is behind their handlers. One that tried fewer alone would leave the
// others what it gives up, and one that tried more would take it from them: what comes out of one worker shows
// nothing then. So all try at the same time. One of them leads: it says when a trial begins, and how it
// has ended. The others join with the same part of their handlers. Each ends the trial as it saw it where
// that is clear, and else as the leader says; and who saw otherwise leads from its next trial on. So one
// whose own machine is the bottleneck comes down while the others stay, and one that needs more does not wait
// for a leader that needs no more. Alone, a worker that follows only tries to come up to the leader.

const (
	sayEvery = 2 * time.Second        // the one that leads is heard so often, while its work waits
	silence  = 5 * time.Second        // after its last word, another one may lead
	listens  = sayEvery + leastWait/4 // so long a new worker tries nothing, and hears who leads; and any when workers come or go
	overdue  = 30 * time.Second       // without a trial with fewer: the leader can make none, or need not
)

// others is what a worker knows of them.
type others struct {
	id    string    // empty: there are no others
	lead  Word      // the last one of who leads
	heard time.Time // when that came
	joins Word      // began the trial under way; zero: it is the worker's own
	ended Word      // began the last trial that it has joined, if its leader may still be in it
	fewer time.Time // the last trial with fewer
	leads bool      // this one does
	said  time.Time // when it said something, the last time
	says  bool      // something is to be said
	wait  time.Time // until then it is new
	turn  int       // of leading: who has seen otherwise than the leader takes the next one
}

// takeOver has this worker lead from its next trial on, since it has seen otherwise than the leader.
func (o *others) takeOver() { o.turn = min(o.lead.Turn+1, lastTurn) }

// word is how it is.
func (l *Limit) word() Word {
	w := Word{From: l.others.id, Stay: l.stay, Places: l.places, Of: l.stay, Max: l.max, Turn: l.others.turn}
	if l.places < l.stay {
		w.Of = l.trial.of
	}
	return w
}

// Says returns what is to be told to the others, if anything is.
func (l *Limit) Says() (w Word, ok bool) {
	ok, l.others.says = l.others.says, false
	return l.word(), ok
}

// isNew reports whether what was heard or seen at a time is not out of date.
func (w *window) isNew(at, now time.Time) bool {
	return now.Sub(at) < max(silence, 3*mostBatches*w.mean())
}

// follows reports whether another worker leads, and need not be relieved: it has as many handlers, and may try
// as many.
func (l *Limit) follows(now time.Time) bool {
	o := &l.others
	lead, own := o.lead, l.word()
	lead.From, own.From = "", ""
	return !o.leads && l.measure.isNew(o.heard, now) && !own.ahead(lead)
}

// tell says how it is, if that is new or was not said for a while.
func (l *Limit) tell(now time.Time, changed bool) {
	o := &l.others
	if o.wait.IsZero() { // its first batch
		o.wait, o.fewer = now.Add(listens), now
	}
	again := o.leads && now.Sub(o.said) >= sayEvery && l.measure.isNew(l.pressed, now)
	if o.id != "" && (changed || again) && !l.follows(now) {
		o.leads, o.said, o.says = true, now, true
	}
}

// Heard learns what another worker says, and returns how many handlers may run at once from now on.
func (l *Limit) Heard(w Word, now time.Time) int {
	o := &l.others
	if w.From == o.id {
		return l.places
	}
	if o.leads && l.measure.isNew(l.pressed, now) && l.word().ahead(w) { // both believe to lead
		o.said = now.Add(-sayEvery) // so the other one hears that soon
		return l.places
	}
	led := o.leads
	o.lead, o.heard, o.leads = w, now, false
	o.turn = max(o.turn, w.Turn)
	switch {
	case l.places == l.stay: // there is no trial
	case o.joins == w: // it is still under way
	case o.joins.From == w.From:
		l.follow(w.Stay == o.joins.Places, now)
	case led || o.joins.From != "": // nobody leads it any more. One that this worker alone has begun goes on
		l.set(l.stay, now)
	}
	if w != o.ended {
		o.ended = Word{}
	}
	if stay := max(l.min, w.Stay); stay < l.stay && (o.wait.IsZero() || now.Before(o.wait)) {
		l.stay = stay
		l.set(stay, now)
	}
	l.join(w, now)
	return l.places
}

// join begins a trial that the leader has begun.
func (l *Limit) join(w Word, now time.Time) {
	if w.Places == w.Stay || w == l.others.ended || l.places != l.stay || l.stay > w.Stay || l.others.turn > w.Turn || now.Before(l.since) {
		return
	}
	by := float64(w.Places) / float64(w.Of)
	t := trial{of: min(l.stay, l.used), by: by, dive: by < (muchFewer+fewer)/2}
	places := max(l.min, int(float64(t.of)*by))
	if by > 1 {
		t.of, places = l.stay, raised(l.stay, by, l.max)
	}
	if places == l.stay || by < 1 && l.measure.mean() > slow || by > 1 && now.Before(l.calm) {
		return
	}
	t.by = float64(places) / float64(t.of)
	l.trial = t
	l.set(places, now)
	l.others.joins = w
}

// follow ends a trial of all. helped is what the leader says of it.
func (l *Limit) follow(helped bool, now time.Time) {
	w, o, fewer := &l.measure, &l.others, l.places < l.stay
	seen := w.half() && w.pressed()
	switch gain := w.rate() / l.rate; {
	case l.rate == 0 && helped: // it had seen nothing before the trial either
		l.stay = l.places
	case !seen && helped && fewer: // it goes on alone, until this worker has seen enough
		o.joins = Word{}
		return
	case l.rate == 0 || !seen: // its handlers take longer than those of the leader
		o.takeOver()
	case fewer && !helped && gain >= l.trial.least():
		if gain-l.trial.by > surely*math.Hypot(w.doubt(), l.doubt) { // not each handler is of use
			l.less = now
			o.takeOver()
		}
	default:
		if saw := gain >= l.trial.least(); saw != helped && l.trial.isClear(gain, w.doubt(), l.doubt) {
			helped = saw
			o.takeOver()
		}
		l.end(helped, gain, now)
	}
	l.set(l.stay, now)
}
