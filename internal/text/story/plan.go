package story

import (
	"fmt"
	"strings"
	"time"

	"github.com/slotmq/go-rmq/inspector/plans"
	"github.com/slotmq/go-rmq/internal/text/humantime"
	"github.com/slotmq/go-rmq/message"
)

// Rule is what says when, in words: 0 3 * * * Europe/Berlin, 1m later, 5 times 10s apart.
func (s Style) Rule(m message.Recurring) string {
	var parts []string
	add := func(when bool, format string, args ...any) {
		if when {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	add(m.Cron != "", "%s", strings.TrimSpace(m.Cron+" "+m.Zone))
	add(m.Cron == "" && m.Period > 0 && m.Repeat == 0, "each %s", exactly(m.Period))
	add(m.Delay > 0, "%s later", exactly(m.Delay))
	add(m.Repeat > 0, "%d times %s apart", m.Repeat+1, exactly(m.Period))
	add(!m.From.IsZero(), "from %s", s.Moment(m.From))
	add(!m.Until.IsZero(), "until %s", s.Moment(m.Until))
	add(m.Missed == message.MissedSkip, "missed ones left out")
	return strings.Join(parts, ", ")
}

// exactly is a duration of a rule, with nothing left out.
func exactly(d time.Duration) string {
	text := humantime.Duration(d)
	if short, err := humantime.ParseSpan(text); err != nil || short != d {
		return d.String()
	}
	return text
}

// Comes says when a plan sends next.
func Comes(p plans.Plan, now time.Time) string {
	if p.Next.IsZero() {
		return "ended"
	}
	return Until(p.Next, now)
}
