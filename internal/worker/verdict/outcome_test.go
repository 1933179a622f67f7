package verdict

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/message"
)

var ctx = context.Background()

func TestOutcome(t *testing.T) {
	t.Parallel()
	closing, end := context.WithCancelCause(ctx)
	end(ErrClosing)
	oops := errors.New("oops")
	for _, c := range []struct {
		ctx  context.Context
		last bool
		err  error
		want message.What
	}{
		{ctx, false, nil, message.Done},
		{closing, true, nil, message.Done},
		{ctx, false, oops, message.Failed},
		{ctx, false, RetryError(time.Second, oops), message.Failed},
		{ctx, true, RetryError(time.Second, oops), message.Died},
		{ctx, true, oops, message.Died},
		{ctx, false, fmt.Errorf("wrapped: %w", DeadError(oops)), message.Died},
		{closing, true, DeadError(oops), message.HandedBack},
		{ctx, true, fmt.Errorf("wrapped: %w", LaterError(time.Second)), message.Snoozed},
		{closing, false, LaterError(time.Second), message.Snoozed},
		{ctx, false, DeadError(LaterError(time.Second)), message.Died},
	} {
		if got := Outcome(c.ctx, c.last, c.err); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

func TestLast(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		delivery, most int
		want           bool
	}{{1, 1, true}, {1, 2, false}, {3, 2, true}, {16, 17, false}, {17, 17, true}, {17, 100, true}} {
		if got := Last(c.delivery, c.most); got != c.want {
			t.Errorf("delivery %d of %d: %v", c.delivery, c.most, got)
		}
	}
}

// What the worker reports of a message whose handler returned an error, and what it says of what handlers need.
func TestJudge(t *testing.T) {
	t.Parallel()
	ended := func(why error) context.Context {
		ctx, end := context.WithCancelCause(ctx)
		end(why)
		return ctx
	}
	oops := errors.New("oops")
	usual := Rules{Timeout: time.Minute, Deliveries: 2, Backoff: func(retry int) time.Duration { return time.Duration(retry) * time.Hour }}
	literal, panics := usual, usual
	literal.Literal = true
	panics.Backoff = func(int) time.Duration { panic("x") }
	for name, c := range map[string]struct {
		rules    *Rules
		ctx      context.Context
		delivery int
		err      error
		want     Verdict
		rest     time.Duration
		blames   bool
	}{
		"an error":           {&usual, ctx, 1, oops, Verdict{Fate: Failed, Delay: time.Hour, Reason: "oops"}, 0, true},
		"of a literal topic": {&literal, ctx, 1, oops, Verdict{Fate: Failed, Reason: "oops"}, 0, true},
		"the last":           {&usual, ctx, 2, oops, Verdict{Fate: Dead, Reason: "oops"}, 0, true},
		"a time":             {&usual, ctx, 1, RetryError(0, oops), Verdict{Fate: Failed, Delay: time.Millisecond, Reason: "oops"}, 0, true},
		"Backoff panics":     {&panics, ctx, 1, oops, Verdict{Fate: Failed, Delay: 30 * time.Second, Reason: "oops"}, 0, true},
		"a time-out":         {&usual, ended(ErrTimeout), 1, oops, Verdict{Fate: Failed, Overload: true, Delay: time.Hour, Reason: "timed out after 1m0s: oops"}, 0, true},
		"declared dead":      {&usual, ctx, 1, DeadError(oops), Verdict{Fate: Dead, Reason: "oops"}, 0, false},
		"later":              {&usual, ctx, 2, LaterError(time.Second), Verdict{Fate: Snoozed, Delay: time.Second, Reason: "put back by its handler for 1s"}, 0, false},
		"pushed back":        {&usual, ctx, 2, PushbackError(time.Second, oops), Verdict{Reason: "oops"}, time.Second, false},
		"closing":            {&usual, ended(ErrClosing), 2, oops, Verdict{}, 0, false},
		"cancelled":          {&usual, ended(ErrCancelled), 2, oops, Cancelled, 0, false},
		"the lease is lost":  {&usual, ended(ErrLeaseLost), 1, oops, Verdict{Fate: Failed, Delay: time.Hour, Reason: "oops"}, 0, false},
	} {
		panicked := 0
		got, rest := c.rules.Judge(c.ctx, c.delivery, c.err, func(any) { panicked++ })
		if (panicked > 0) != (c.rules == &panics) {
			t.Errorf("%s: %d panics", name, panicked)
		}
		if got.Err != nil && !errors.Is(got.Err, c.err) && got.Err != ErrCancelled {
			t.Errorf("%s: the error is %v", name, got.Err)
		}
		c.want.Err, got.Err = nil, nil
		if got != c.want || rest != c.rest || Blames(c.ctx, got.Fate, c.err) != c.blames {
			t.Errorf("%s: %+v, a rest of %v", name, got, rest)
		}
	}
}

// A rest has bounds; one that is declared dead is dead; and one that is wanted later waits in Redis.
func TestPushbackAtItsLimits(t *testing.T) {
	t.Parallel()
	for _, x := range []struct{ asked, want time.Duration }{
		{-time.Hour, time.Millisecond}, {0, time.Millisecond}, {time.Second, time.Second}, {1000 * time.Hour, time.Hour},
	} {
		var pushed pushbackError
		if err := PushbackError(x.asked, nil); !as(err, &pushed) || pushed.rest != x.want || !errors.Is(err, ErrPushedBack) {
			t.Errorf("Pushback(%v): %v, %v", x.asked, pushed.rest, err)
		}
	}
	for err, want := range map[error]message.What{
		DeadError(PushbackError(time.Second, nil)):     message.Died,
		PushbackError(time.Second, DeadError(nil)):     message.Died,
		PushbackError(time.Second, LaterError(1)):      message.Snoozed,
		RetryError(1, PushbackError(time.Second, nil)): message.HandedBack,
	} {
		if got := Outcome(ctx, true, err); got != want {
			t.Errorf("%v: %v instead of %v", err, got, want)
		}
	}
}

func TestDelaysHaveBounds(t *testing.T) {
	t.Parallel()
	for in, want := range map[time.Duration]time.Duration{-5: time.Millisecond, 0: time.Millisecond, time.Hour: time.Hour, 1 << 62: 10 * 365 * 24 * time.Hour} {
		if got := within(in); got != want {
			t.Errorf("within(%v) = %v", in, got)
		}
	}
}
