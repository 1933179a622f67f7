package recovery

import (
	"context"
	"time"

	"github.com/slotmq/go-rmq/internal/wait"
)

// pace bounds how many contents a second are looked at.
type pace struct {
	rate float64
	next time.Time // when the next page may begin
}

// wait returns when a page of n may begin.
func (p *pace) wait(ctx context.Context, n int) error {
	if !wait.Sleep(ctx, time.Until(p.next)) {
		return ctx.Err()
	}
	if now := time.Now(); p.next.Before(now) {
		p.next = now
	}
	p.next = p.next.Add(time.Duration(float64(n) / p.rate * float64(time.Second)))
	return nil
}
