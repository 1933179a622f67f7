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

// surely is so many times the standard error of a gain that chance cannot explain it.
const surely = 3

// slow is how long a batch takes where no fewer handlers are tried: a trial would last for minutes.
const slow = 10 * time.Second

// trial is one with fewer handlers, or with more.
type trial struct {
	of   int     // handlers in use before it
	by   float64 // how many times as many may run
	dive bool    // it is one with much fewer
}

// least is what must come out, as a part of what came out before.
func (t trial) least() float64 {
	switch {
	case t.by > 1:
		return 1 + (t.by-1)*mustGain
	case t.dive:
		return 1 - (1-t.by)*mayLoseMuch
	}
	return 1 - (1-t.by)*mayLose
}

// isClear reports whether chance can hardly explain on which side of least a gain is.
func (t trial) isClear(gain, doubt, before float64) bool {
	return math.Abs(gain-t.least()) > clearly*math.Hypot(doubt, before)
}

// raised is the number nearest to so many times as many, one more at the least, up to a bound. Where few are of use, one
// too many in each of several workers is much.
func raised(n int, by float64, most int) int { return min(max(n+1, int(float64(n)*by+0.5)), most) }
