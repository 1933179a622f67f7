package recovery

import (
	"context"
	"time"

	"github.com/slotmq/go-rmq/internal/wait"
)

// pace bounds how many contents a second are looked at, or brought back.
type pace struct {
	rate float64
	next time.Time // when the next page may begin
}

// wait returns when a page of n may begin.
func (p *pace) wait(ctx context.Context, n int) error {
	if !wait.Sleep(ctx, time.Until(p.next)) {
		return ctx.Err()
	}
	// A page that was late may be made up for, but not many of them at once.
	if early := time.Now().Add(-pageTime); p.next.Before(early) {
		p.next = early
	}
	p.next = p.next.Add(time.Duration(float64(n) / p.rate * float64(time.Second)))
	return nil
}
