package topics

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/slotmq/go-rmq/inspector/doctor"
	"github.com/slotmq/go-rmq/internal/commands/frame"
	"github.com/slotmq/go-rmq/internal/servers/silence"
	"github.com/slotmq/go-rmq/internal/text/columns"
	"github.com/slotmq/go-rmq/internal/text/words"
)

var doctorCommand = frame.Command{
	Use:   "doctor",
	Short: "Check the servers and settings, and say what to do",
	Long: `Check the servers and settings that RMQ depends on, and say what to do.

  ok     as it should be
  warn   works, but you should look at it
  fail   does not work, or may lose messages

Exit code 1 if a check fails. docs/DEPLOYMENT.md explains all settings.`,
	Example: `  rmq doctor
  rmq doctor --zk zk1:2181,zk2:2181,zk3:2181`,
	Steps: frame.Steps{func(ctx context.Context, c *frame.Call) error {
		checks, err := examine(ctx, c)
		if err != nil {
			return err
		}
		for _, check := range checks {
			check.Advice = c.Ours(check.Advice)
			if c.JSON {
				c.Object(check)
			} else {
				showCheck(c.Page, check)
			}
		}
		return verdict(checks)
	}},
}

// examine is what the inspector finds. A missing Redis is a finding, too. Servers that hang
// must not keep a person waiting who wants to know why nothing works.
func examine(ctx context.Context, c *frame.Call) ([]doctor.Check, error) {
	ctx, cancel := context.WithTimeout(ctx, 3*c.Patience)
	defer cancel()
	var lost []doctor.Check
	if _, err := c.OpenJournal(ctx, frame.ToLook); err != nil {
		var wrong *frame.Error
		if errors.As(err, &wrong) { // it is named wrongly
			return nil, err
		}
		lost = []doctor.Check{{Name: "journal", Level: doctor.Fail, Detail: words.OneLine(err.Error()), Advice: "mend that first: nobody knows what Redis has forgotten"}}
	}
	err := c.Open()
	if err == nil && c.OneRedis() { // of several, it finds out by itself who answers
		err = c.Greet(ctx)
	}
	var silent *silence.Error
	switch {
	case errors.As(err, &silent):
		line, _ := c.Explain(err)
		return []doctor.Check{{Name: "connection", Level: doctor.Fail, Detail: line}}, nil
	case err != nil:
		return nil, err
	}
	return append(c.Inspector.Doctor(ctx), lost...), nil
}

func showCheck(p *frame.Page, check doctor.Check) {
	hues := map[doctor.Level]frame.Hue{doctor.OK: frame.Green, doctor.Warn: frame.Yellow, doctor.Fail: frame.Red}
	const level = 6 // columns, with the gap
	lines := columns.Wrap(check.Name+": "+words.Legible(check.Detail), p.Width()-level)
	if check.Advice != "" {
		lines = append(lines, columns.Wrap(words.Legible(check.Advice), p.Width()-level)...)
	}
	if check.Command != "" { // whole, however wide the screen is: it is to be copied
		lines = append(lines, words.OneLine(check.Command))
	}
	label := p.Paint(hues[check.Level], string(check.Level)) + strings.Repeat(" ", max(1, level-len(check.Level)))
	for _, line := range lines {
		fmt.Fprintln(p.Out, label+line)
		label = strings.Repeat(" ", level)
	}
}

// verdict fails if a check did, and names those that did.
func verdict(checks []doctor.Check) error {
	var bad []string
	for _, check := range checks {
		if check.Level == doctor.Fail {
			bad = append(bad, check.Name)
		}
	}
	if bad == nil {
		return nil
	}
	return frame.Failed("%s failed: %s; the lines above say what to do", words.Count(len(bad), "check"), strings.Join(bad, ", "))
}
