package topics

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/slotmq/go-rmq/inspector/audit"
	"github.com/slotmq/go-rmq/internal/commands/frame"
	"github.com/slotmq/go-rmq/internal/protocol/byhand"
	"github.com/slotmq/go-rmq/internal/text/wire"
	"github.com/slotmq/go-rmq/internal/text/words"
)

var verify = frame.Command{
	Use:   "verify [TOPIC...]",
	Short: "Check whether the stored data is sound",
	Long: `Check what is stored in topics, or in all of them, against the rules of
docs/PROTOCOL.md. It only reads, and workers go on. Broken rules are printed
with their key and content; exit code 1. An error or a signal ends it, after it
has printed what was found until then.`,
	Example: `  rmq verify
  rmq verify orders prices`,
	Steps: frame.Steps{frame.Connect, func(ctx context.Context, c *frame.Call) error {
		var topics []string // nil: all
		if len(c.Args) > 0 {
			topics = c.Args
		}
		slots := map[string]int{}
		looked := 0
		bar := c.Progress("verify", 0)
		found, err := c.Inspector.Verify(ctx, topics, func(topic string, _, of int) {
			slots[topic] = of
			looked++
			bar.Show(looked)
		})
		bar.End()
		// What was found before an error is printed, too.
		if c.JSON {
			j := verified(c.Page, found, len(slots), looked)
			if err != nil {
				j.OK = false
				j.Error, _ = c.Explain(err)
			}
			c.Object(j)
		} else {
			explained := map[string]bool{}
			for _, v := range found {
				broken(c.Page, v, !explained[v.Rule])
				explained[v.Rule] = true
			}
		}
		switch {
		case err != nil:
			return err
		case len(found) > 0:
			return frame.Failed("%s; docs/PROTOCOL.md has all rules", headline(found))
		case !c.JSON:
			c.Say("ok: %s of %s, no rule broken", words.Count(looked, "slot"), words.Count(len(slots), "topic"))
		}
		return nil
	}},
}

// headline says how much is broken.
func headline(found []audit.Violation) string {
	var rules []string
	for _, v := range found {
		if !slices.Contains(rules, v.Rule) {
			rules = append(rules, v.Rule)
		}
	}
	slices.Sort(rules)
	return fmt.Sprintf("%s, %s (%s)", words.Count(len(found), "finding"), words.Count(len(rules), "rule"), strings.Join(rules, ", "))
}

// broken prints a violation, and what its rule says, if that is wanted. Nothing of it is
// shortened.
func broken(p *frame.Page, v audit.Violation, explain bool) {
	where := words.Legible(v.Topic)
	if v.Slot >= 0 {
		where += fmt.Sprintf(" slot %d", v.Slot)
	}
	fmt.Fprintf(p.Out, "%s: %s\n", p.Paint(frame.Red, where), v.Rule)
	for _, rule := range byhand.Rules {
		if explain && rule.Name == v.Rule {
			fmt.Fprintf(p.Out, "  rule     %s\n", rule.Rule)
		}
	}
	fmt.Fprintf(p.Out, "  key      %s\n", words.Legible(v.Key))
	if v.Content != "" {
		fmt.Fprintf(p.Out, "  content  %s\n", p.Text(v.Content))
	}
	if v.Detail != "" {
		fmt.Fprintf(p.Out, "  there    %s\n", words.Legible(v.Detail))
	}
}

type verifyJSON struct {
	OK     bool            `json:"ok"`
	Topics int             `json:"topics"`
	Slots  int             `json:"slots"`
	Broken []violationJSON `json:"violations"`
	Error  string          `json:"error,omitempty"` // why not all was looked at
}

type violationJSON struct {
	Topic string `json:"topic"`
	Slot  *int   `json:"slot,omitempty"` // empty: it is about the topic as a whole
	Rule  string `json:"rule"`
	Key   string `json:"key"`
	wire.Shown
	Detail string `json:"detail,omitempty"`
}

func verified(p *frame.Page, found []audit.Violation, topics, slots int) verifyJSON {
	j := verifyJSON{OK: len(found) == 0, Topics: topics, Slots: slots, Broken: []violationJSON{}}
	for _, v := range found {
		one := violationJSON{Topic: v.Topic, Rule: v.Rule, Key: strings.ToValidUTF8(v.Key, "\ufffd"), Detail: strings.ToValidUTF8(v.Detail, "\ufffd")}
		if v.Slot >= 0 {
			one.Slot = &v.Slot
		}
		if v.Content != "" {
			one.Shown = p.Shown(v.Content)
		}
		j.Broken = append(j.Broken, one)
	}
	return j
}
