package flow

import (
	"math"
	"time"
)

// By how much a trial changes the number of handlers, and what it must bring to be kept. If there
// were too many handlers, fewer handle as much. If each was of use, what comes out falls as their
// number does.
const (
	fewer, more, muchMore = 0.7, 1.4, 2.0
	muchFewer             = 0.55 // the first trials, from many handlers on
	many                  = 24
	fewest                = 0.3  // a trial after the rate has fallen, at the least
	mayLose               = 0.18 // of what the handlers left out would have handled, if each was of use
	mayLoseMuch           = 0.3  // the same in a trial with much fewer: it goes on from there
	mustGain              = 0.35 // of what the handlers added could handle
	overload              = 0.7  // by which time-outs and push-back shrink the limit
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

// slow is how long a batch takes where no fewer handlers are tried: a trial would last for minutes.
const slow = 10 * time.Second

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
}

// Limit is how many handlers of a topic may run at once. One goroutine at a time may use it.
type Limit struct {
	min, max int
	places   int // now, also in a trial
	stay     int // outside of it
	measure  window
	begun    time.Time // since when it measures with these places, gaps or not

	rate  float64 // messages a second outside of a trial; 0: unknown
	doubt float64 // of that
	other bool    // the rate was another one in the last window
	fell  float64 // since the last trial, to which part of itself the rate fell; 0: no new rate
	size  float64 // of the trial: how many times as many as in use before
	grows bool    // the last trial that helped was one with more
	dives bool    // the next trial is one with much fewer: none of those was in vain

	less, more time.Time // when a trial with fewer is due, or with more
	times      int       // by which the wait for a trial with fewer has grown: 1, 2, 4, 8
	calm       time.Time // an overload before then is the one that was noted
}

// New returns a limit between two bounds that begins with the larger one.
func New(min, max int) *Limit {
	return &Limit{min: min, max: max, places: max, stay: max, times: 1, dives: true}
}

// Places is how many handlers may run at once.
func (l *Limit) Places() int { return l.places }

// Stays is the same but for a trial under way.
func (l *Limit) Stays() int { return l.stay }

// Finished learns of a batch, and returns how many handlers may run at once from now on.
func (l *Limit) Finished(b Batch) int {
	w := &l.measure
	if l.places != l.stay && b.End.Sub(l.begun) > 2*w.most() { // the work ended before the trial did
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
	return l.places
}

// set begins to measure with a number of places.
func (l *Limit) set(places int, now time.Time) {
	settled := now
	if places != l.places { // what runs is of before, and so is the queue behind it
		settled = now.Add(l.measure.mean())
	}
	l.places, l.begun = places, settled
	l.measure = window{from: settled}
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
	switch {
	case !l.measure.pressed() || rate == 0: // it says nothing
		l.set(l.places, b.End)
		return
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
	up := l.stay < l.max && !b.End.Before(l.more)
	down := l.stay > l.min && l.measure.busy() && l.measure.mean() <= slow && !b.End.Before(l.less)
	switch {
	case up && l.grows:
		places = l.raised(muchMore)
	case up && !down:
		places = l.raised(more)
	case down:
		by := fewer
		if l.dives = l.dives && used > many; l.dives {
			by = muchFewer
		}
		if l.fell > 0 {
			by = max(fewest, min(by, l.fell/fewer))
		}
		places = max(int(float64(used)*by), l.min)
	}
	l.fell = 0
	l.size = float64(places) / float64(max(used, 1))
	l.set(places, b.End)
}

func (l *Limit) raised(by float64) int { return min(int(math.Ceil(float64(l.stay)*by)), l.max) }

// judge ends a trial, if it is clear what it brings, or has lasted for long.
func (l *Limit) judge(b Batch) {
	w := &l.measure
	if !w.long() {
		return
	}
	grows := l.places > l.stay
	least := 1 - (1-l.size)*mayLose
	switch {
	case grows:
		least = 1 + (l.size-1)*mustGain
	case l.dives:
		least = 1 - (1-l.size)*mayLoseMuch
	}
	gain := w.rate() / l.rate
	if clear := math.Abs(gain-least) > clearly*math.Hypot(w.doubt(), l.doubt); !clear && !w.longest() {
		return
	}
	lasted := b.End.Sub(w.from)
	switch {
	case w.pressed() && gain >= least:
		l.stay, l.rate, l.doubt, l.grows, l.times = l.places, w.rate(), w.doubt(), grows, 1
		if grows {
			l.less = b.End.Add(leastWait)
		} else {
			l.more = b.End.Add(leastWait)
		}
		l.try(b)
		return
	case grows:
		l.grows = false
		l.more = b.End.Add(max(leastWait, lasted))
	default:
		wait := doubtWait * lasted
		if gain < (1+l.size)/2 { // each handler is of use
			lost := time.Duration((1 - gain) * float64(lasted))
			wait = max(leastWait, lossWait*lost*time.Duration(l.times))
			l.times = min(2*l.times, mostTimes)
		}
		l.dives = false
		l.less = b.End.Add(wait)
	}
	l.set(l.stay, b.End)
}
