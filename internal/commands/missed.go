package commands

import (
	"fmt"
	"slices"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/wire"
	"github.com/slotmq/go-rmq/internal/words"
)

// For the commands that only look: a part that cannot be read hides nothing else. It is
// printed at the end, a line for each, and the exit code is 1. Long commands that change
// messages end with halted instead: see goon.go.

// mostMissed is how many slots are named by themselves. More are counted.
const mostMissed = 10

// partly notes the parts that could not be read, and returns any other error.
func (a *app) partly(err error) error { return a.missed.Merge(err) }

// blind reports whether what a topic has as a whole could not be looked at.
func (a *app) blind(topic string) bool {
	return slices.ContainsFunc(a.missed.Failures, func(f inspector.Failed) bool { return f.Topic == topic && f.Slot < 0 })
}

// whereLooked follows "none" if not everything could be read.
func (a *app) whereLooked() string {
	if len(a.missed.Failures) == 0 {
		return ""
	}
	return " where it could be looked"
}

// reportMissed is what was missed, in lines for people; in JSON it is printed, too. Then it is
// forgotten, for the next look.
func (a *app) reportMissed() (lines []string, err error) {
	missed := a.missed.Failures
	a.missed.Failures = nil
	type part struct{ server, topic string }
	var parts []part // of servers that do not answer
	slots := map[part]int{}
	named, more := 0, 0
	for _, f := range missed {
		slot := &f.Slot
		if f.Slot < 0 {
			slot = nil
		}
		if a.json {
			if err := a.object(wire.MissedOf(f)); err != nil {
				return nil, err
			}
		}
		switch p := (part{f.Server, f.Topic}); {
		case f.Server != "" && slot != nil:
			if slots[p] == 0 {
				parts = append(parts, p)
			}
			slots[p]++
		case f.Server != "":
			lines = append(lines, fmt.Sprintf("server %s does not answer: its part of topic %s is not shown", f.Server, words.Legible(f.Topic)))
		case slot == nil:
			lines = append(lines, fmt.Sprintf("%s: %s", words.Legible(f.Topic), words.OneLine(f.Err.Error())))
		case named == mostMissed:
			more++
		default:
			named++
			lines = append(lines, fmt.Sprintf("%s slot %d: %s", words.Legible(f.Topic), f.Slot, words.OneLine(f.Err.Error())))
		}
	}
	if more > 0 {
		lines = append(lines, fmt.Sprintf("and %s more", words.Count(more, "slot")))
	}
	for _, p := range parts {
		verb := "are"
		if slots[p] == 1 {
			verb = "is"
		}
		lines = append(lines, fmt.Sprintf("server %s does not answer: %s of %s %s not shown", p.server, words.Count(slots[p], "slot"), words.Legible(p.topic), verb))
	}
	return lines, nil
}
