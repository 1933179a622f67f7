package wait

import (
	"context"
	"time"
)

// Step is how long one step of a [Pace] should last: at once, it takes no more than the rate allows for that
// time.
const Step = 100 * time.Millisecond

// Pace bounds how many of something are done in a second. Its zero value bounds nothing.
type Pace struct {
	Rate float64   // a second; 0: as fast as it goes
	next time.Time // when the next step may begin
}

// Most is how many one step should be about, from 1 to most.
func (p *Pace) Most(most int) int {
	if p.Rate == 0 {
		return most
	}
	return max(1, min(most, int(p.Rate*Step.Seconds())))
}

// Wait returns when a step of n may begin, or with the error of ctx.
func (p *Pace) Wait(ctx context.Context, n int) error {
	if !Sleep(ctx, time.Until(p.next)) {
		return ctx.Err()
	}
	if p.Rate == 0 {
		return nil
	}
	// A step that was late may be made up for, but not many of them at once.
	if early := time.Now().Add(-Step); p.next.Before(early) {
		p.next = early
	}
	p.next = p.next.Add(time.Duration(float64(n) / p.Rate * float64(time.Second)))
	return nil
}
