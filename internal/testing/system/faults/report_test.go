package faults

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/night"
)

// figures are what a fault has cost.
type figures struct {
	l *traffic

	accepted, notReplicated, uncertain, refused int // sends, by what they were told

	lost           int // accepted, and never handled
	unreplicated   int // not replicated, and never handled
	doubtful       int // uncertain, and handled
	twice          int // handled more than once
	repeated       int // of those: the producer may have sent them twice, after a late answer
	overlaps, back int
	burnt          int
	dead           int64
}

// figures ends the traffic, waits until nothing moves any more, and judges. What
// must never be fails the test; what a setting may cost is for the test to say.
func (l *traffic) figures() figures {
	l.t.Helper()
	l.drain()
	for _, w := range append(l.workers, l.sender) {
		if err := w.Close(await.Context(l.t)); err != nil {
			l.t.Error(err)
		}
	}
	var dead int64
	await.Nil(l.t, "the dead are counted", func() (err error) {
		dead, err = l.dead()
		return err
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	f := figures{l: l, overlaps: l.overlaps, back: l.back, burnt: l.burnt, dead: dead}
	for id, m := range l.letters {
		if m.handled > 1 {
			f.twice++
			if l.repeated(m) {
				f.repeated++
			}
		}
		switch m.fate {
		case accepted:
			f.accepted++
			if m.handled > 0 {
				break
			}
			if f.lost++; f.lost <= 10 {
				l.t.Logf("lost: %q in slot %d of %s, accepted %v after the fault began, delivered and failed %d times",
					id, m.spot.index, m.spot.topic.Name, rough(m.answered.Sub(l.harmed)), m.failed)
			}
		case notReplicated:
			f.notReplicated++
			if m.handled == 0 {
				f.unreplicated++
			}
		case uncertain:
			f.uncertain++
			if m.handled > 0 {
				f.doubtful++
			}
		case refused:
			f.refused++
			if m.handled > 0 {
				l.fault("the send of %q was refused for certain, and it was handled", id)
			}
		case onItsWay:
			l.fault("the send of %q was never answered", id)
		}
	}
	for _, x := range l.faults {
		l.t.Error(x)
	}
	if f.dead != 0 {
		l.t.Errorf("%d are dead, though no handler failed", f.dead)
	}
	l.t.Log("figures: " + f.row())
	l.t.Logf("errors met %v; refused %v", l.met, l.refusals)
	return f
}

// kept fails the test if anything is lost that Redis had acknowledged.
func (f figures) kept() figures {
	f.l.t.Helper()
	if f.lost > 0 {
		f.l.t.Errorf("%d messages were accepted and are lost", f.lost)
	}
	return f
}

// once fails the test if anything was handled twice that the producer had no reason to repeat, or two handlers of a slot
// at the same time, or if the fault has cost an attempt.
func (f figures) once() figures {
	f.l.t.Helper()
	if f.twice > f.repeated || f.overlaps > 0 || f.back > 0 || f.burnt > 0 {
		f.l.t.Errorf("%d handled twice that were sent once, %d overlaps, %d older batches, %d attempts spent; none is allowed here", f.twice-f.repeated, f.overlaps, f.back, f.burnt)
	}
	return f
}

// answered fails the test if any send failed.
func (f figures) answered() figures {
	f.l.t.Helper()
	if f.refused+f.uncertain+f.notReplicated > 0 {
		f.l.t.Errorf("%d sends were refused, %d uncertain, %d not replicated; none may fail here: %v\n%s", f.refused, f.uncertain, f.notReplicated, f.l.refusals,
			strings.Join(f.l.unsure[:min(len(f.l.unsure), 20)], "\n"))
	}
	return f
}

// soon fails the test by night if the slots of a server that was replaced stood still for
// half of the minute for which a Cluster client left to itself asks the dead one.
func (f figures) soon() figures {
	f.l.t.Helper()
	for _, times := range []func(*spot) []time.Time{acceptedAt, handledAt} {
		for _, s := range f.l.hit {
			night.AtMost(f.l.t, "a pause on the slots of "+s.server, f.l.gap(s.spots, times), 30*time.Second)
		}
	}
	return f
}

// figuresHead names the columns of the figures. The pauses are the longest times,
// from the fault on, without an accepted send and without a message handled, and
// what the slowest message waited beyond its time.
const figuresHead = "| fault | setting | sends OK | not replicated (lost) | uncertain (handled) | refused | lost | handled twice | overlaps " +
	"| pause where it hit: sends, handling, slowest | pause elsewhere |"

// row tells the figures as a row of that table.
func (f figures) row() string {
	l := f.l
	var hit []*spot
	for _, s := range l.hit {
		hit = append(hit, s.spots...)
	}
	others := slices.DeleteFunc(slices.Clone(l.spots), func(s *spot) bool { return slices.Contains(hit, s) })
	return fmt.Sprintf("| %s | %s | %d | %d (%d) | %d (%d) | %d | %d | %d | %d | %s | %s |",
		l.name, l.setting, f.accepted, f.notReplicated, f.unreplicated, f.uncertain, f.doubtful, f.refused,
		f.lost, f.twice, f.overlaps+f.back, l.pauses(hit), l.pauses(others))
}

// pauses tells how some slots stood still.
func (l *traffic) pauses(of []*spot) string {
	if len(of) == 0 {
		return "-"
	}
	slowest := time.Duration(0)
	for _, m := range l.letters {
		if slices.Contains(of, m.spot) && m.handled > 0 {
			slowest = max(slowest, m.first.Sub(m.ready))
		}
	}
	return fmt.Sprintf("%v, %v, %v", l.gap(of, acceptedAt), l.gap(of, handledAt), rough(slowest))
}

func rough(d time.Duration) time.Duration { return d.Round(10 * time.Millisecond) }

func acceptedAt(s *spot) []time.Time { return s.accepted }
func handledAt(s *spot) []time.Time  { return s.handled }

// gap is the longest time, from the fault to the end of the sending, in which
// nothing of a sort happened in some slots.
func (l *traffic) gap(of []*spot, times func(*spot) []time.Time) time.Duration {
	return rough(longestGap(of, times, l.harmed, l.ended))
}

func longestGap(of []*spot, times func(*spot) []time.Time, from, to time.Time) (longest time.Duration) {
	all := []time.Time{to}
	for _, s := range of {
		all = append(all, times(s)...)
	}
	slices.SortFunc(all, time.Time.Compare)
	last := from
	for _, at := range all {
		if at.After(last) && !at.After(to) {
			longest, last = max(longest, at.Sub(last)), at
		}
	}
	return longest
}
