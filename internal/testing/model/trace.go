package model

import (
	"fmt"
	"slices"
	"strings"
)

// Trace is a way from a start to a violation.
type Trace struct {
	Options   Options
	Violation string
	start     state
	steps     []step
}

// Name of the violated invariant.
func (t *Trace) Name() string { return nameOf(t.Violation) }

func nameOf(violation string) string {
	name, _, _ := strings.Cut(violation, " ")
	return name
}

// String reports the trace in words, one step a line, with the answers Redis gave.
func (t *Trace) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v, leases %v, %d steps:\n", &t.Options, t.Options.Leases, len(t.steps))
	w := &world{Options: &t.Options, state: t.start}
	for n, s := range t.steps {
		before := w.state
		w.exec(s)
		fmt.Fprintf(&b, "%4d  %s\n", n+1, w.words(s, &before))
		w.check()
	}
	fmt.Fprintf(&b, "   => %s", t.Violation)
	return b.String()
}

// shrink leaves out every step without which the same invariant still breaks.
func (t *Trace) shrink() { t.steps, t.Violation = shorten(t.steps, t.Violation, t.replay) }

// shorten is shrink for whatever can replay steps.
func shorten(steps []step, violation string, replay func([]step) (string, int)) ([]step, string) {
	for i := len(steps) - 1; i >= 0; i-- {
		shorter := slices.Delete(slices.Clone(steps), i, i+1)
		if v, n := replay(shorter); nameOf(v) == nameOf(violation) {
			steps, violation = shorter[:n], v
			i = min(i, n)
		}
	}
	return steps, violation
}

// replay reports what the steps violate, and after how many of them. It stops at one that is not
// possible.
func (t *Trace) replay(steps []step) (string, int) {
	w := &world{Options: &t.Options, state: t.start}
	var possible []step
	for n, s := range steps {
		possible = w.steps(possible[:0])
		if s.Op != drain && !slices.Contains(possible, s) {
			return "", n
		}
		w.exec(s)
		if w.check(); w.violation != "" {
			return w.violation, n + 1
		}
	}
	return "", len(steps)
}

var opWords = [ops]string{
	tick:       "a tick",
	drain:      "no faults and no sends any more",
	arrive:     "turn reaches Redis",
	arriveDup:  "late duplicate reaches Redis",
	duplicate:  "turn is on its way twice",
	loseReply:  "reply gets lost, turn is repeated",
	forget:     "gives the turn up",
	crash:      "crashes",
	freeze:     "freezes",
	thaw:       "thaws",
	restart:    "starts under a new id",
	expire:     "session expires",
	deadline:   "session deadline passes",
	heard:      "hears that its session lives",
	newSession: "new session under a new id",
	askHolder:  "asks the holder named by BUSY",
	rebalance:  "is assigned the slot",
	seeSlot:    "reads the assignment",
	seeMembers: "reads the members",
	verify:     "verifies the holder",
	leave:      "leaves",
	hear:       "hears",
	succeed:    "handler succeeds",
	touch:      "touches",
}

func (w *world) words(s step, before *state) string {
	who := fmt.Sprintf("w%d ", s.Worker)
	k := &w.Workers[s.Worker]
	switch s.Op {
	case send:
		return fmt.Sprintf("send %c/%d", letter(int(s.Content)), s.Value)
	case readNumber:
		return fmt.Sprintf("reads the number behind the send of %c", letter(int(s.Content)))
	case tick, drain:
		return opWords[s.Op]
	case rollback:
		return fmt.Sprintf("Redis is what it was %d changes ago", s.Value)
	case turn:
		return fmt.Sprintf("%sturns for %d", who, s.Value)
	case arrive:
		return who + opWords[s.Op] + ": " + k.Reply.String()
	case hear:
		return who + opWords[s.Op] + " " + before.Workers[s.Worker].Reply.String()
	case begin:
		return fmt.Sprintf("%sstarts the handler of %c", who, letter(int(s.Content)))
	case fail:
		how := map[verdict]string{failed: "", failedNow: ", no delay", failedForGood: " for good", snoozed: ": not now"}
		return who + "handler fails" + how[verdict(s.Value)]
	}
	return who + opWords[s.Op]
}

func (r reply) String() string {
	switch r.Answer {
	case answerNumber:
		return fmt.Sprintf("NUMBER %d", r.Number)
	case answerEmpty:
		return fmt.Sprintf("EMPTY %d", r.Number)
	case answerLeft:
		return fmt.Sprintf("LEFT %d", r.Number)
	case answerBusy:
		return fmt.Sprintf("BUSY w%d", r.Holder.worker())
	case answerBatch:
		what := ""
		for c, has := range r.Has {
			if has {
				what += " " + string(letter(c))
			}
		}
		return fmt.Sprintf("BATCH %d%s", r.Number, what)
	}
	return "nothing"
}
