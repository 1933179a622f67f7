package recovery

import (
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/ledger"
	"github.com/slotmq/go-rmq/internal/testing/promises"
)

func TestPromises(t *testing.T) {
	t.Parallel()
	restore, err := Restore{}.full()
	if err != nil {
		t.Fatal(err)
	}
	reconcile, err := Reconcile{}.full()
	if err != nil {
		t.Fatal(err)
	}
	doc := promises.Of(t, "docs/JOURNAL.md")
	doc.Says("has written what it held (12 s at most", 12*time.Second, restore.Patience)
	doc.Says("and then, 500 messages at a time,", 500, pageMost)
	doc.Says("for each content that is owed and a second overdue", time.Second, overdueAfter())
	doc.Says("From Redis to SQL it goes once a day", 24*time.Hour, adoptEvery)
	doc.Says("It looks at 2,000 contents a second", 2000, reconcile.Rate)
	doc.Says("20,000 at most, in pages of", 20_000, mostRate())
	doc.Says("at most, in pages of 500.", 500, pageMost)
	doc.Says("Each second a *tick* is written", time.Second, tickEvery)
	doc.Says("any more, for a minute after the sign at least", time.Minute, reconcile.Every)
	doc.Says("have written what they hold, 12 s at the most", 12*time.Second, restore.Patience)
}

// mostRate is the largest Rate of a Reconcile that is accepted, in thousands.
func mostRate() int {
	n := 1000
	for ; ; n += 1000 {
		if _, err := (Reconcile{Rate: n + 1000}).full(); err != nil {
			return n
		}
	}
}

// overdueAfter is how late a message must be to be looked for.
func overdueAfter() time.Duration {
	sent := ledger.History{Sent: []ledger.Sent{{At: 1e12}}}
	for d := time.Duration(0); ; d += time.Millisecond {
		c := comparison{now: 1e12 + (d + time.Millisecond).Milliseconds()}
		if c.late(ledger.Topic{}, sent) {
			return d
		}
	}
}
