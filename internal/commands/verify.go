package commands

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/wire"
	"github.com/slotmq/go-rmq/internal/words"
	"github.com/slotmq/go-rmq/luascripts/byhand"
)

func (a *app) verifyCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "verify [TOPIC...]",
		Short: "Check whether the stored data is sound",
		Long: `Check what is stored in topics, or in all of them, against the rules of
docs/PROTOCOL.md. It only reads, and workers go on. Broken rules are printed
with their key and content; exit code 1. An error or a signal ends it, after it
has printed what was found until then.`,
		Example: `  rmq verify
  rmq verify orders prices`,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			i, err := a.inspector(ctx)
			if err != nil {
				return err
			}
			var topics []string // nil: all
			if len(args) > 0 {
				topics = args
			}
			slots := map[string]int{}
			looked := 0
			bar := a.progress("verify", 0)
			found, err := i.Verify(ctx, topics, func(topic string, _, of int) {
				slots[topic] = of
				looked++
				bar.show(looked)
			})
			bar.end()
			// What was found before an error is printed, too.
			if a.json {
				j := a.verified(found, len(slots), looked)
				if err != nil {
					j.OK = false
					j.Error, _ = a.explain(err)
				}
				if werr := a.object(j); err == nil {
					err = werr
				}
			} else {
				explained := map[string]bool{}
				for _, v := range found {
					a.broken(v, !explained[v.Rule])
					explained[v.Rule] = true
				}
			}
			if err != nil {
				return err
			}
			if len(found) > 0 {
				return failed("%s; docs/PROTOCOL.md has all rules", headline(found))
			}
			if !a.json {
				a.say("ok: %s of %s, no rule broken", words.Count(looked, "slot"), words.Count(len(slots), "topic"))
			}
			return nil
		},
	}
}

// headline says how much is broken.
func headline(found []inspector.Violation) string {
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
func (a *app) broken(v inspector.Violation, explain bool) {
	where := words.Legible(v.Topic)
	if v.Slot >= 0 {
		where += fmt.Sprintf(" slot %d", v.Slot)
	}
	fmt.Fprintf(a.out, "%s: %s\n", a.paint(red, where), v.Rule)
	for _, rule := range byhand.Rules {
		if explain && rule.Name == v.Rule {
			fmt.Fprintf(a.out, "  rule     %s\n", rule.Rule)
		}
	}
	fmt.Fprintf(a.out, "  key      %s\n", words.Legible(v.Key))
	if v.Content != "" {
		fmt.Fprintf(a.out, "  content  %s\n", a.text(v.Content))
	}
	if v.Detail != "" {
		fmt.Fprintf(a.out, "  there    %s\n", words.Legible(v.Detail))
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
	Slot  *int   `json:"slot,omitempty"` // none: the topic as a whole
	Rule  string `json:"rule"`
	Key   string `json:"key"`
	wire.Shown
	Detail string `json:"detail,omitempty"`
}

func (a *app) verified(found []inspector.Violation, topics, slots int) verifyJSON {
	j := verifyJSON{OK: len(found) == 0, Topics: topics, Slots: slots, Broken: []violationJSON{}}
	for _, v := range found {
		one := violationJSON{Topic: v.Topic, Rule: v.Rule, Key: strings.ToValidUTF8(v.Key, "\ufffd"), Detail: strings.ToValidUTF8(v.Detail, "\ufffd")}
		if v.Slot >= 0 {
			one.Slot = &v.Slot
		}
		if v.Content != "" {
			one.Shown = a.shown(v.Content)
		}
		j.Broken = append(j.Broken, one)
	}
	return j
}
