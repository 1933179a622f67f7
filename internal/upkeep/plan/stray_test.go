package plan

import (
	"testing"
	"time"

	"github.com/slotmq/go-rmq/message"
)

func TestStrays(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	at := func(hours float64) time.Time { return now.Add(time.Duration(hours * float64(time.Hour))) }
	var ended time.Time
	for _, x := range []struct {
		what       string
		rule       message.Recurring
		base, next time.Time
		strays     bool
	}{
		{"each day", message.Recurring{Cron: "0 3 * * *"}, at(-100), at(15), false},
		{"a day too late", message.Recurring{Cron: "0 3 * * *"}, at(-100), at(39), true},
		{"ended", message.Recurring{Cron: "0 3 * * *"}, at(-100), ended, true},
		{"overdue", message.Recurring{Cron: "0 3 * * *"}, at(-100), at(-33), false},
		{"set in the future", message.Recurring{Cron: "0 3 * * *"}, at(1000), at(1023), true},
		{"set by a clock that is a little ahead", message.Recurring{Cron: "* * * * *"}, at(0.9), at(0.9).Add(time.Minute), false},
		{"set by one that is more ahead", message.Recurring{Cron: "* * * * *"}, at(1.1), at(1.1), true},
		{"sent by a clock that is a little ahead", message.Recurring{Period: time.Second}, at(-1), at(1), false},
		{"sent by one that is more ahead", message.Recurring{Period: time.Second}, at(-1), at(1).Add(2 * time.Second), true},
		{"far away by its rule", message.Recurring{Period: time.Hour, From: at(50000)}, at(-1), at(50000), false},
		{"at its end", message.Recurring{Delay: time.Hour, Period: time.Second, Repeat: 5}, at(-2), ended, false},
		{"at its end within the hour", message.Recurring{Delay: time.Hour}, at(-0.5), ended, false},
		{"ended long before", message.Recurring{Delay: time.Hour, Period: time.Hour, Repeat: 5}, at(-0.5), ended, true},
		{"the last one", message.Recurring{Cron: "0 3 * * *", Until: at(20)}, at(-100), at(15), false},
	} {
		x.rule.Name, x.rule.Content = "p", "c"
		r, err := New(message.Topic{Name: "t", Kind: message.KindFixedTime}, x.rule, 100)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Strays(x.base, x.next, now); got != x.strays {
			t.Errorf("%s: %v", x.what, got)
		}
	}
}
