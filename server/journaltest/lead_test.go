package journaltest

import (
	"fmt"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/ledger"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/journal"
)

// A lead ends by the clock of the database, so that another one goes on when its holder was killed. Who held it finds
// that out, and does not get it back.
func TestLeadExpires(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p *place) {
		j := p.open(t, journal.Config{})
		hold := func(l ledger.Lead) bool {
			until, err := l.Hold(ctx)
			must.Do(t, err)
			if held := !until.IsZero(); !held || until.After(time.Now()) && time.Until(until) < time.Minute {
				return held
			}
			t.Errorf("held until %v", until)
			return true
		}
		compared := func(want bool) {
			t.Helper()
			if got, err := j.Compared(ctx); err != nil || got != want {
				t.Errorf("somebody compares: %v, %v", got, err)
			}
		}
		goBy := func(d time.Duration) {
			now := time.Now()
			await.True(t, "5 ms pass", func() bool { return time.Since(now) > 5*time.Millisecond }) // a lead is known by its end, in ms
			exec(t, p.url, fmt.Sprintf("UPDATE rmq_state SET value = value - %d WHERE name = 'reconciling'", d.Milliseconds()))
		}
		compared(false)
		killed, other := j.Lead(), p.open(t, journal.Config{}).Lead()
		if !hold(killed) || hold(other) || !hold(killed) {
			t.Error("it is not held by the first one alone")
		}
		compared(true)
		goBy(time.Minute)
		compared(false)
		if !hold(other) || hold(killed) || !hold(other) {
			t.Error("when it is over, the other one does not have it alone")
		}
		goBy(-time.Hour) // a clock was wrong
		if !hold(killed) || hold(other) {
			t.Error("a time that is far ahead keeps everybody away")
		}
		other.Release() // which it does not hold
		compared(true)
		killed.Release()
		compared(false)
	})
}
