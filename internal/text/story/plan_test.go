package story

import (
	"testing"
	"time"

	"github.com/slotmq/go-rmq/message"
)

func TestRulesInWords(t *testing.T) {
	t.Parallel()
	style := Style{Moment: func(t time.Time) string { return t.Format("2006-01-02 15:04:05.000") }}
	from := time.Date(2040, 1, 31, 15, 4, 0, 0, time.Local)
	for want, m := range map[string]message.Recurring{
		"1m30s later":                            {Delay: 90 * time.Second},
		"each 10s":                               {Period: 10 * time.Second},
		"each 10s, 1m later":                     {Period: 10 * time.Second, Delay: time.Minute},
		"1m later, 6 times 10s apart":            {Delay: time.Minute, Period: 10 * time.Second, Repeat: 5},
		"@hourly, 2 times 100ms apart":           {Cron: "@hourly", Period: 100 * time.Millisecond, Repeat: 1},
		"0 3 * * * Europe/Berlin":                {Cron: "0 3 * * *", Zone: "Europe/Berlin"},
		"from 2040-01-31 15:04:00.000":           {From: from},
		"each 1h, until 2040-01-31 15:04:00.000": {Period: time.Hour, Until: from},
		"each 36h1m0.5s, missed ones left out":   {Period: 36*time.Hour + time.Minute + 500*time.Millisecond, Missed: message.MissedSkip},
	} {
		if got := style.Rule(m); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}
