package doctor

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/slotmq/go-rmq/inspector/internal/ask"
	"github.com/slotmq/go-rmq/message"
)

// comparing is a journal that is compared with Redis.
type comparing interface {
	Forgotten(ctx context.Context) ([]message.Forgotten, error)
	Compared(ctx context.Context) (bool, error) // whether a program does so again and again, at present
}

// journal tells what Redis has forgotten. It is no check at all without a journal.
func (d *doctor) forgotten(ctx context.Context) []Check {
	j, is := d.Journal.(comparing)
	if !is {
		return nil
	}
	all, err := j.Forgotten(ctx)
	now := false
	if err == nil {
		now, err = j.Compared(ctx)
	}
	if err != nil {
		return []Check{check("journal", []finding{fail(ask.OneLine(err), "mend that first: nobody knows what Redis has forgotten")})}
	}
	var findings []finding
	for _, f := range all {
		slots := make([]string, len(f.Slots))
		for n, slot := range f.Slots {
			slots[n] = strconv.Itoa(slot)
		}
		what := "something"
		if !f.Since.IsZero() {
			what = "what came after " + f.Since.Format("2006-01-02 15:04:05")
		}
		findings = append(findings, fail(
			fmt.Sprintf("Redis forgot %s in %s %s of %s: %s missing", what, nounOf(len(slots), "slot"), ask.Enough(slots, ", "), d.bare(f.Topic), isMissing(f.Messages)),
			"run rmqd journal restore; or rmqd journal reconcile --accept, if they are not wanted any more"))
	}
	if !now {
		findings = append(findings, warn("no program compares it with Redis at present: what Redis forgets is not noticed",
			"let rmqd journal reconcile --every run beside the programs"))
	}
	return []Check{check("journal", append(findings, ok("Redis has all that is owed")))}
}

// bare is a topic's name without the namespace of the inspector.
func (d *doctor) bare(topic string) string {
	return strings.TrimPrefix(topic, d.Qualified(""))
}

func nounOf(n int, noun string) string {
	if n == 1 {
		return noun
	}
	return noun + "s"
}

func isMissing(messages int) string {
	if messages == 1 {
		return "1 message is"
	}
	return strconv.Itoa(messages) + " messages are"
}
