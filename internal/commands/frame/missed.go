package frame

import (
	"fmt"
	"slices"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/text/wire"
	"github.com/slotmq/go-rmq/internal/text/words"
)

// Missed are the parts that could not be read. A command that only looks shows everything else all the same, names
// each such part in a line at its end, and returns the exit code 1. Long commands that change messages end when they
// meet one.
type Missed struct{ all inspector.PartialError }

// mostMissed is how many slots are named by themselves. More are counted.
const mostMissed = 10

// Partly notes the parts that could not be read, and returns any other error.
func (m *Missed) Partly(err error) error { return m.all.Merge(err) }

// Any reports whether a part could not be read.
func (m *Missed) Any() bool { return len(m.all.Failures) > 0 }

// Forget forgets them.
func (m *Missed) Forget() { m.all.Failures = nil }

// Blind reports whether what a topic has as a whole could not be looked at.
func (m *Missed) Blind(topic string) bool {
	return slices.ContainsFunc(m.all.Failures, func(f inspector.Failed) bool { return f.Topic == topic && f.Slot < 0 })
}

// WhereLooked follows "none" if not everything could be read.
func (m *Missed) WhereLooked() string {
	if !m.Any() {
		return ""
	}
	return " where it could be looked"
}

// ReportMissed is what was missed, in lines for people; in JSON it is printed, too. Then it is
// forgotten, for the next look.
func (p *Page) ReportMissed() (lines []string) {
	missed := p.all.Failures
	p.Forget()
	type part struct{ server, topic string }
	var parts []part // of servers that do not answer
	slots := map[part]int{}
	named, more := 0, 0
	for _, f := range missed {
		slot := &f.Slot
		if f.Slot < 0 {
			slot = nil
		}
		if p.JSON {
			p.Object(wire.MissedOf(f))
		}
		switch of := (part{f.Server, f.Topic}); {
		case f.Server != "" && slot != nil:
			if slots[of] == 0 {
				parts = append(parts, of)
			}
			slots[of]++
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
	for _, of := range parts {
		verb := "are"
		if slots[of] == 1 {
			verb = "is"
		}
		lines = append(lines, fmt.Sprintf("server %s does not answer: %s of %s %s not shown", of.server, words.Count(slots[of], "slot"), words.Legible(of.topic), verb))
	}
	return lines
}
