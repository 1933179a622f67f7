package consumer

import (
	"context"
	"fmt"
)

// settle is for rmqtest only, whose users move the clock of an in-memory Redis in their
// tests. It looks at every slot of this worker now and returns when nothing is due and
// no handler runs.
func (c *Consumer) settle(ctx context.Context) error {
	c.mu.Lock()
	running := c.phase == started
	c.mu.Unlock()
	if !running {
		return nil
	}
	if err := c.running.planner.Settle(ctx); err != nil {
		return fmt.Errorf("settle the plans: %w", err)
	}
	for _, t := range c.topics {
		for i := range t.Slots {
			t.scheduled.Wake(i, 0)
		}
	}
	settled := make(chan struct{})
	go func() {
		defer close(settled)
		c.running.schedule.Settle()
	}()
	select {
	case <-settled:
	case <-ctx.Done():
		return fmt.Errorf("settle: %w", ctx.Err())
	}
	if c.running.deaths != nil {
		if err := c.running.deaths.Settle(ctx); err != nil {
			return fmt.Errorf("settle the deaths: %w", err)
		}
	}
	return nil
}
