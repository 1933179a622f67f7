package session

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/promises"
)

func TestPromises(t *testing.T) {
	t.Parallel()
	const timeout = 10 * time.Second
	protocol := promises.Of(t, "docs/PROTOCOL.md")
	protocol.Says("writes `owned/{id}` eight times in a session timeout, for its", 8, Beats)
	protocol.Says("less than 2/5 of the session timeout; it elects", 2./5, outageBorne())
	protocol.Says("The margin before the end is a tenth of the timeout", 0.1, float64(marginOf(timeout))/float64(timeout))
	protocol.Says("of the timeout, at least 500 ms,", 500*time.Millisecond, marginOf(3*time.Second))
	protocol.Says("and at most a quarter. Every call", 0.25, float64(marginOf(time.Second))/float64(time.Second))
	protocol.Says("has a time-out of its own, a third of the session's", 1./3, (&signs{granted: 9 * time.Second}).AnswerTimeout().Seconds()/9)

	deployment := promises.Of(t, "docs/DEPLOYMENT.md")
	synctest.Test(t, func(t *testing.T) {
		ctx, end := Config{Timeout: time.Second}.bound(t.Context())
		defer end()
		until, _ := ctx.Deadline()
		deployment.Says("or after 5 s if that is longer", 5*time.Second, time.Until(until))
	})
	deployment.Says("asks one small question, eight times in its session timeout", 8, Beats)
	deployment.Says("without an answer for two thirds of the timeout begins nothing", 2./3, startsFor())
	deployment.Says("less than two fifths of the timeout stops nothing", 2./5, outageBorne())
}

// startsFor is which part of the session timeout handlers are started, behind the last write but one that was answered.
func startsFor() float64 {
	s := &Session{signs: &signs{granted: 9 * time.Second, alive: time.Unix(1e9, 0)}}
	return NewPulse(s, "", "", nil).Until().Sub(s.alive).Seconds() / 9
}

// outageBorne is which part of the session timeout ZooKeeper may be away before nothing is started, in whole tenths: the
// last write but one is two beats old, at the most, when it goes away.
func outageBorne() float64 {
	return math.Floor(10*(startsFor()-2./Beats)) / 10
}
