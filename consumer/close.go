package consumer

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/worker/schedule"
	"github.com/slotmq/go-rmq/internal/worker/verdict"
)

// Leave the lists before the slots. Close first leaves the lists of members, so that the other workers gain the slots,
// take turns, and get BUSY. Each slot then moves with the wake-up that follows its last turn. The other way round, slots
// would be free and no worker would know. A refresh under way must end before, or it would put the worker back.

// flushWithin is how long Close waits until all that was said is in the log.
const flushWithin = 500 * time.Millisecond

// Close ends the work. It starts no handler any more, lets those that run
// finish until ctx ends, then cancels their contexts, gives what was not
// handled back with its attempt, time and priority kept, and hands the slots
// to the other workers. A handler that returns an error after its context was
// cancelled for this reason spends no attempt. Close may be called more than
// once and before Start; all calls return when the first is through, or their ctx ends.
//
// It returns at most 3 s after ctx has ended, whatever Redis, ZooKeeper, the handlers or the
// log do: 2 s are for handlers that were cancelled and for the last answers of Redis, and
// half a second is for the log.
//
// The error names the slots whose handlers did not return. They stay with this
// worker until its lease or its session ends.
func (c *Consumer) Close(ctx context.Context) error {
	if ctx == nil {
		return fmt.Errorf("close consumer: %w", errNilContext)
	}
	c.mu.Lock()
	before, try := c.phase, c.trying
	c.phase = closed
	if before != closed {
		c.ended = make(chan struct{})
	}
	c.mu.Unlock()
	if before == closed {
		select {
		case <-c.ended:
			return c.result
		case <-ctx.Done():
			return fmt.Errorf("close consumer: another Close is under way: %w", ctx.Err())
		}
	}
	if before == fresh && try != nil {
		try.cancel()
		select {
		case <-try.done:
		case <-ctx.Done():
			c.result = fmt.Errorf("close consumer: its start is still being undone: %w", ctx.Err())
		}
	}
	if before == started {
		if err := c.close(ctx, c.running); err != nil {
			c.result = fmt.Errorf("close consumer: %w", err)
		}
		written, cancel := context.WithTimeout(context.Background(), flushWithin)
		c.lines.Flush(written)
		c.away.Flush(written)
		cancel()
	}
	close(c.ended)
	return c.result
}

// close is the first Close of a consumer that was started.
func (c *Consumer) close(ctx context.Context, w *running) error {
	c.log.Info("worker closes")
	begun := time.Now()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w.leave()
	}()
	select {
	case <-ended:
	case <-ctx.Done():
		w.schedule.Stop() // Redis may keep leave waiting before it comes to that
		w.life.EndHandlers(verdict.ErrClosing)
		select {
		case <-ended:
		case <-time.After(c.grace):
			err := w.stuck()
			w.schedule.Close()
			w.life.EndRequests()
			w.policies.End()
			w.fleet.Abandon()
			c.log.Error("worker closed with slots still in hand", zap.Error(err))
			return err
		}
	}
	w.life.End(verdict.ErrClosing)
	if dropped := w.schedule.Dropped(); dropped != nil {
		err := fmt.Errorf("the Redis client was closed before the consumer, so nothing was reported of the following; "+
			"what they had in hand comes again when the lease or the session has ended: %s", named(dropped))
		c.log.Error("worker closed too late", zap.Error(err))
		return err
	}
	c.log.Info("worker closed", zap.Duration("took", time.Since(begun)))
	return nil
}

// stuck names the slots that could not be left.
func (w *running) stuck() error {
	var running, unanswered []*schedule.Slot
	for _, t := range w.topics {
		for _, x := range t.scheduled.Status() {
			switch x.State {
			case schedule.Asleep:
			case schedule.Working:
				running = append(running, x.Slot)
			default:
				unanswered = append(unanswered, x.Slot)
			}
		}
	}
	var errs []error
	if running != nil {
		errs = append(errs, fmt.Errorf("handlers did not return: %s", named(running)))
	}
	if unanswered != nil {
		errs = append(errs, fmt.Errorf("Redis did not answer about the following; their messages come again when the lease or the session has ended: %s", named(unanswered)))
	}
	for _, t := range w.topics {
		if t.takeoverDelay.Pending() {
			errs = append(errs, fmt.Errorf("Backoff did not return: topic %s", t.Name))
		}
	}
	if w.deaths != nil {
		for _, name := range w.deaths.Reporting() {
			errs = append(errs, fmt.Errorf("the listener to the dead did not return: topic %s", name))
		}
	}
	if errs == nil {
		return w.fleet.Silent()
	}
	return errors.Join(errs...)
}

// named lists slots for people.
func named(slots []*schedule.Slot) string {
	names := make([]string, len(slots))
	for i, x := range slots {
		names[i] = fmt.Sprintf("%s slot %d", asSlot(x).topic.Name, x.Index)
	}
	return strings.Join(names, ", ")
}
