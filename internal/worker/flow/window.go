package flow

import (
	"math"
	"time"
)

// A window is long enough to be looked at when it lasts as long as several batches, and long
// enough for any judgement when it lasts as long as many.
const (
	leastTime, mostTime       = 100 * time.Millisecond, 3 * time.Second
	leastBatches, mostBatches = 4, 10 // of one handler
)

// How sure one can be of a rate. It is clearly another one if it differs by so many times its
// standard error.
const (
	goodDoubt = 0.07
	clearly   = 1.5
)

// A gap without the end of a batch that is so much longer than one takes is a time without work.
const (
	gapBatches = 3
	few        = 4 // handlers
	leastGap   = 50 * time.Millisecond
)

// window is a time in which it is counted what comes out.
type window struct {
	from, last time.Time
	batches    int
	good, bad  int           // messages
	slack      int           // batches at whose end not all places were in use, and nothing waited
	places     int           // in use at the end of each batch, added up
	took       time.Duration // by all batches
	squares    float64       // of what each took, in seconds
	handlers   time.Duration // at work, all together
	before     time.Duration // what a batch took before it
}

// add counts a batch, and reports whether it did: not in the time before, or after a gap.
func (w *window) add(b Batch) bool {
	idle := b.End.Sub(w.last)
	if b.Places <= few && (b.Waiting || b.Full) { // all of them may take long at the same time
		idle -= b.Took
	}
	if w.from.IsZero() || w.batches > 0 && idle > gapBatches*w.mean()+leastGap {
		*w = window{from: b.End.Add(b.Took), before: w.mean()} // what runs has begun before
		return false
	}
	if b.End.Before(w.from) {
		return false
	}
	w.last = b.End
	w.batches++
	w.good += b.Good
	w.bad += b.Overload
	w.took += b.Took
	w.squares += b.Took.Seconds() * b.Took.Seconds()
	w.handlers += b.Busy
	w.places += b.Places
	if !b.Waiting && !b.Full {
		w.slack++
	}
	return true
}

// mean is how long a batch takes.
func (w *window) mean() time.Duration {
	if w.batches == 0 {
		return w.before
	}
	return w.took / time.Duration(w.batches)
}

func (w *window) lasts() time.Duration { return w.last.Sub(w.from) }

// long reports whether it may be looked at.
func (w *window) long() bool {
	return w.lasts() >= max(leastTime, leastBatches*w.mean()) || w.longest()
}

// half reports whether it is half as long.
func (w *window) half() bool {
	return w.batches > 0 && 2*w.lasts() >= max(leastTime, leastBatches*w.mean())
}

// longest reports whether it must be judged.
func (w *window) longest() bool { return w.lasts() > w.most() }

func (w *window) most() time.Duration { return max(mostTime, mostBatches*w.mean()) }

// pressed reports whether there was more work than handlers all the time.
func (w *window) pressed() bool { return 10*w.slack <= w.batches }

// busy reports whether the places are in use because of the handlers, and not because of the
// turns between the batches.
func (w *window) busy() bool {
	return 2*w.handlers.Seconds()*float64(w.batches) >= w.lasts().Seconds()*float64(w.places)
}

// overloaded reports whether what is behind the handlers cannot bear so many.
func (w *window) overloaded() bool { return w.bad > 1 && 10*w.bad >= w.good+w.bad }

// rate is how many messages a second were handled.
func (w *window) rate() float64 { return float64(w.good) / w.lasts().Seconds() }

// doubt is the standard error of the rate, as a part of it. What waits behind the handlers makes
// all of them take the same time, and the rate no surer.
func (w *window) doubt() float64 {
	mean := w.mean().Seconds()
	if mean == 0 || w.good == 0 {
		return 1
	}
	n := float64(w.batches)
	return max(math.Sqrt(max(0, w.squares/n/(mean*mean)-1)/n), 1/math.Sqrt(float64(w.good)))
}
