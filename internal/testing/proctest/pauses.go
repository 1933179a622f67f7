package proctest

import (
	"fmt"
	"slices"
	"time"
)

// Pauses tells for each worker that was killed or left, and each slot it was the
// last to work at by then, how long the slot stood still until another worker
// began: since the kill, or since the last handler of a worker that left.
func Pauses(events []Event) (killed, left []time.Duration) {
	type end struct {
		at   int64
		kill bool
	}
	ends := map[string]end{}
	for _, e := range events {
		switch e.Kind {
		case Kill:
			ends[e.Note] = end{e.At, true}
		case Closed:
			ends[e.Worker] = end{e.At, false}
		}
	}
	type standing struct {
		worker string
		since  int64
	}
	last := map[slotName]standing{}
	for _, e := range events {
		switch e.Kind {
		case Start:
			before, known := last[e.slot()]
			if gone, ended := ends[before.worker]; known && ended && before.worker != e.Worker {
				switch {
				case !gone.kill && e.At > before.since:
					left = append(left, time.Duration(e.At-before.since))
				case gone.kill && e.At > gone.at:
					killed = append(killed, time.Duration(e.At-gone.at))
				}
			}
			last[e.slot()] = standing{e.Worker, e.At}
		case Done, Fail:
			if last[e.slot()].worker == e.Worker {
				last[e.slot()] = standing{e.Worker, e.At}
			}
		}
	}
	return killed, left
}

// Spread reports how durations are distributed.
func Spread(d []time.Duration) string {
	if len(d) == 0 {
		return "none"
	}
	d = slices.Sorted(slices.Values(d))
	at := func(percent int) time.Duration { return d[(len(d)-1)*percent/100].Round(100 * time.Microsecond) }
	return fmt.Sprintf("%d slots: median %v, p90 %v, p99 %v, max %v", len(d), at(50), at(90), at(99), at(100))
}
