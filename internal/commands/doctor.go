package commands

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/cluster"
	"github.com/slotmq/go-rmq/internal/columns"
	"github.com/slotmq/go-rmq/internal/silence"
	"github.com/slotmq/go-rmq/internal/words"
)

func (a *app) doctorCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Check the servers and settings, and say what to do",
		Long: `Check the servers and settings that RMQ depends on, and say what to do.

  ok     as it should be
  warn   works, but you should look at it
  fail   does not work, or may lose messages

Exit code 1 if a check fails. docs/DEPLOYMENT.md explains all settings.`,
		Example: `  rmq doctor
  rmq doctor --zk zk1:2181,zk2:2181,zk3:2181`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			checks, err := a.examine(cmd.Context())
			if err != nil {
				return err
			}
			for _, c := range checks {
				if err := a.showCheck(c); err != nil {
					return err
				}
			}
			return verdict(checks)
		},
	}
}

// examine is what the inspector finds. That there is no Redis is a finding, too, and servers
// that hang must not keep the one waiting who wants to know why nothing works.
func (a *app) examine(ctx context.Context) ([]inspector.Check, error) {
	ctx, cancel := context.WithTimeout(ctx, 3*a.Patience)
	defer cancel()
	var lost []inspector.Check
	if _, err := a.openJournal(ctx, toLook); err != nil {
		var wrong *failure
		if errors.As(err, &wrong) { // it is named wrongly
			return nil, err
		}
		lost = []inspector.Check{{Name: "journal", Level: inspector.Fail, Detail: words.OneLine(err.Error()), Advice: "mend that first: nobody knows what Redis has forgotten"}}
	}
	i, err := a.connect()
	if err == nil && !cluster.IsCluster(a.rdb) { // of several, it finds out by itself who answers
		err = a.greet(ctx)
	}
	var silent *silence.Error
	switch {
	case errors.As(err, &silent):
		line, _ := a.explain(err)
		return []inspector.Check{{Name: "connection", Level: inspector.Fail, Detail: line}}, nil
	case err != nil:
		return nil, err
	}
	return append(i.Doctor(ctx), lost...), nil
}

func (a *app) showCheck(c inspector.Check) error {
	c.Advice = a.ours(c.Advice)
	if a.json {
		return a.object(c)
	}
	hues := map[inspector.Level]hue{inspector.OK: green, inspector.Warn: yellow, inspector.Fail: red}
	const level = 6 // columns, with the gap
	lines := columns.Wrap(c.Name+": "+words.Legible(c.Detail), a.width()-level)
	if c.Advice != "" {
		lines = append(lines, columns.Wrap(words.Legible(c.Advice), a.width()-level)...)
	}
	if c.Command != "" { // whole, however wide the screen is: it is to be copied
		lines = append(lines, words.OneLine(c.Command))
	}
	for n, line := range lines {
		label := strings.Repeat(" ", level)
		if n == 0 {
			label = a.paint(hues[c.Level], string(c.Level)) + strings.Repeat(" ", max(1, level-len(c.Level)))
		}
		fmt.Fprintln(a.out, label+line)
	}
	return nil
}

// verdict fails if a check did, and names those that did.
func verdict(checks []inspector.Check) error {
	var bad []string
	for _, c := range checks {
		if c.Level == inspector.Fail {
			bad = append(bad, c.Name)
		}
	}
	if bad == nil {
		return nil
	}
	return failed("%s failed: %s; the lines above say what to do", words.Count(len(bad), "check"), strings.Join(bad, ", "))
}
