package flow

import (
	"math"
	"time"
)

// When there is another trial. After one that showed that each handler is of use, the limit
// waits a hundred times as long as the time that this trial has lost, and each time twice as
// long.
const (
	leastWait  = 2 * time.Second
	lossWait   = 100
	doubtWait  = 8 // times as long as a trial that showed little
	mostTimes  = 8
	otherSpeed = 0.2 // a rate that differs by so much begins everything anew
)

// Batch is what the limit learns of one that was handled.
type Batch struct {
	End      time.Time
	Took     time.Duration // from its begin to its end
	Busy     time.Duration // its handlers together
	Good     int           // messages handled, and nothing against it
	Overload int           // messages that timed out, or were pushed back
	Pushed   bool          // some were pushed back
	Places   int           // in use at its end
	Waiting  bool          // slots of the topic wait for a place
	Full     bool          // all that could be in use are
	Slots    int           // of the topic that are this worker's
}

// Limit is how many handlers of a topic may run at once. One goroutine at a time may use it.
type Limit struct {
	min, max int
	places   int // now, also in a trial
	stay     int // outside of it
	measure  window
	begun    time.Time // since when it measures with these places, gaps or not

	rate  float64   // messages a second outside of a trial; 0: unknown
	doubt float64   // of that
	other bool      // the rate was another one in the last window
	fell  float64   // since the last trial, to which part of itself the rate fell; 0: no new rate
	slots int       // of the topic that are this worker's
	since time.Time // a window that began before says nothing: the workers were others, or it listened to them
	used  int       // handlers, at the end of the last batch with work that waits, outside of a trial
	trial trial     // under way, or the last one
	grows bool      // the last trial that helped was one with more
	dives bool      // the next trial is one with much fewer: none of those was in vain

	less, more time.Time // when a trial with fewer is due, or with more
	times      int       // by which the wait for a trial with fewer has grown: 1, 2, 4, 8
	calm       time.Time // an overload before then is the one that was noted

	pressed time.Time // when there was more work than handlers, the last time
	others  others
}

// New returns a limit between two bounds that begins with the larger one. The id is the worker's own among
// those of the topic; without one it is the only worker.
func New(id string, min, max int) *Limit {
	return &Limit{min: min, max: max, places: max, stay: max, used: max, times: 1, dives: true, others: others{id: id}}
}

// Places is how many handlers may run at once.
func (l *Limit) Places() int { return l.places }

// Finished learns of a batch, and returns how many handlers may run at once from now on.
func (l *Limit) Finished(b Batch) int {
	w, stay, places := &l.measure, l.stay, l.places
	if places == stay && (b.Waiting || b.Full) {
		l.used = max(1, b.Places)
	}
	l.renew(b)
	if l.places != l.stay && b.End.Sub(l.begun) > 2*w.most() { // the work ended before the trial did, or its end was not heard
		l.set(l.stay, b.End)
	}
	switch {
	case b.Pushed:
		l.shrink(b.End)
	case !w.add(b):
	case w.overloaded():
		l.shrink(b.End)
	case l.places != l.stay:
		l.judge(b)
	case w.long() && w.doubt() <= goodDoubt || w.longest():
		l.consider(b)
	}
	l.tell(b.End, stay != l.stay || places != l.places)
	return l.places
}

// renew has it find out everything anew when workers have come or gone, since its share of what is behind the handlers is
// another one then. It measures when it has listened to them.
func (l *Limit) renew(b Batch) {
	switch {
	case b.Slots != l.slots:
		l.slots, l.rate, l.other, l.less, l.more, l.times, l.grows = b.Slots, 0, false, time.Time{}, time.Time{}, 1, false
		l.since = b.End.Add(listens)
		l.set(l.stay, b.End)
	case l.places == l.stay && l.measure.from.Before(l.since) && !b.End.Before(l.since):
		l.set(l.stay, b.End)
	}
}

// set begins to measure with a number of places.
func (l *Limit) set(places int, now time.Time) {
	settled := now
	if places != l.places { // what runs is of before, and so is the queue behind it
		settled = now.Add(l.measure.mean())
	}
	if o := &l.others; o.joins != (Word{}) {
		o.joins, o.ended = Word{}, o.joins
	}
	if places < l.stay {
		l.others.fewer = now
	}
	l.places, l.begun = places, settled
	l.measure = window{from: settled, before: l.measure.mean()}
}

// shrink notes an overload, once for all that come at a time.
func (l *Limit) shrink(now time.Time) {
	if now.After(l.calm) {
		l.calm = now.Add(max(leastWait/2, 2*l.measure.mean()))
		l.stay = max(l.min, int(float64(l.stay)*overload))
		l.rate, l.more = 0, now.Add(leastWait)
	}
	l.set(l.stay, now)
}

// consider looks at what came out without a trial, and may begin one.
func (l *Limit) consider(b Batch) {
	rate, doubt := l.measure.rate(), l.measure.doubt()
	if !l.measure.pressed() || rate == 0 { // it says nothing
		l.set(l.places, b.End)
		return
	}
	l.pressed = b.End
	if l.measure.from.Before(l.since) { // nor does this
		l.set(l.places, b.End)
		return
	}
	switch {
	case l.rate == 0:
		l.rate = rate
	case math.Abs(rate/l.rate-1) <= otherSpeed:
		l.rate, l.other = (l.rate+rate)/2, false
	case !l.other: // the window may have begun before that
		l.other = true
		l.set(l.places, b.End)
		return
	default: // other messages, or another speed of what is behind
		l.other, l.fell = false, min(rate/l.rate, 1)
		l.rate, l.less, l.more, l.times = rate, time.Time{}, time.Time{}, 1
	}
	l.doubt = doubt
	l.try(b)
}

// try begins a trial, if one is due.
func (l *Limit) try(b Batch) {
	places, used := l.stay, min(l.stay, b.Places)
	most, down := l.mayTry(b)
	up := l.stay < most && !b.End.Before(l.more)
	l.trial = trial{of: max(used, 1)}
	switch {
	case up && l.grows:
		places = raised(l.stay, muchMore, most)
	case up && !down:
		places = raised(l.stay, more, most)
	case down:
		by := fewer
		if l.dives = l.dives && used > many; l.dives {
			by, l.trial.dive = muchFewer, true
		}
		if l.fell > 0 {
			by = max(fewest, min(by, l.fell/fewer))
		}
		places = max(int(float64(used)*by), l.min)
	}
	l.fell = 0
	l.trial.by = float64(places) / float64(l.trial.of)
	l.set(places, b.End)
}

// mayTry returns how many handlers may be tried at the most, and whether fewer may be.
func (l *Limit) mayTry(b Batch) (most int, fewer bool) {
	o := &l.others
	fewer = min(l.stay, b.Places) > l.min && l.measure.busy() && l.measure.mean() <= slow && !b.End.Before(l.less)
	switch {
	case !l.follows(b.End):
		return l.max, fewer
	case fewer && b.End.Sub(o.fewer) > overdue:
		o.takeOver()
		return l.max, true
	}
	return min(l.max, o.lead.Stay), false // alone, it only comes up to the others
}

// judge ends a trial of its own, if it is clear what it brings, or has lasted for long. A trial of all ends when
// the leader says so.
func (l *Limit) judge(b Batch) {
	w := &l.measure
	if !w.long() {
		return
	}
	if w.pressed() {
		l.pressed = b.End
	}
	gain := w.rate() / l.rate
	if l.others.joins != (Word{}) || !l.trial.isClear(gain, w.doubt(), l.doubt) && !w.longest() {
		return
	}
	if l.end(w.pressed() && gain >= l.trial.least(), gain, b.End) {
		l.try(b)
	} else {
		l.set(l.stay, b.End)
	}
}

// end ends a trial, and returns whether it has helped.
func (l *Limit) end(helped bool, gain float64, now time.Time) bool {
	w, grows := &l.measure, l.places > l.stay
	lasted := now.Sub(w.from)
	switch {
	case helped && grows:
		l.less = now.Add(leastWait)
	case helped:
		l.more = now.Add(leastWait)
	case grows:
		l.more = now.Add(max(leastWait, lasted))
	default:
		wait := doubtWait * lasted
		if gain < (1+l.trial.by)/2 { // each handler is of use
			lost := time.Duration((1 - gain) * float64(lasted))
			wait = max(leastWait, lossWait*lost*time.Duration(l.times))
			l.times = min(2*l.times, mostTimes)
		}
		l.dives = false
		l.less = now.Add(wait)
	}
	if helped {
		l.stay, l.rate, l.doubt, l.times = l.places, w.rate(), w.doubt(), 1
	}
	if helped || grows {
		l.grows = helped && grows
	}
	return helped
}
