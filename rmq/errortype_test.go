package rmq

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/consumer"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/internal/worker/verdict"
)

// rude is an error of a handler whose methods panic.
type rude struct{}

func (rude) Error() string   { panic("no text") }
func (rude) Is(error) bool   { panic("no answer") }
func (rude) Unwrap() []error { panic("nothing in it") }

func TestErrorType(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), 0)
	defer cancel()
	for _, c := range []struct {
		err  error
		want string
	}{
		{nil, ""},
		{errors.New("no"), "_OTHER"},
		{rude{}, "_OTHER"},
		{fmt.Errorf("x: %w", ErrClosed), "closing"},
		{errors.Join(context.Canceled, ErrClosing), "closing"},
		{errors.Join(context.Canceled, ErrLeaseLost), "lease_lost"},
		{errors.Join(ctx.Err(), ErrTimeout), "timeout"},
		{ctx.Err(), "timeout"},
		{context.Canceled, "_OTHER"},
		{fmt.Errorf("%w: %w", ErrUncertain, ctx.Err()), "uncertain"},
		{Dead(errors.New("no")), "dead"},
		{fmt.Errorf("x: %w", Dead(nil)), "dead"},
		{Dead(ErrTimeout), "dead"},
		{Pushback(1, ErrTimeout), "pushed_back"},
		{RetryAfter(1, errors.New("no")), "_OTHER"},
		{RetryAfter(1, ErrQueueFull), "queue_full"},
		{fmt.Errorf("%w: boom", verdict.ErrPanic), "panic"},
		{consumer.ErrExpired, "expired"},
		{ErrNotReplicated, "not_replicated"},
		{ErrTopicConflict, "topic_conflict"},
		{&InvalidError{Field: "Content"}, "invalid"},
		{ErrPast, "_OTHER"}, // as the producer returns it, it is an InvalidError, too
		{redis.Nil, "_OTHER"},
		{&BatchError{Indexes: []int{0}, Errs: []error{ErrQueueFull}}, "queue_full"},
	} {
		if got := ErrorType(c.err); got != c.want {
			t.Errorf("%#v is %q, not %q", c.err, got, c.want)
		}
	}
}

// What a full Redis answers has its word.
func TestErrorTypeOfAFullRedis(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	rdb := servertest.Redis(t).Client(t)
	c, err := New(Config{Redis: rdb})
	must.Do(t, err)
	defer c.Close(ctx)
	topic := Topic{Name: "full", Kind: KindPriority, Slots: 1}
	_, err = c.Send(ctx, topic, Priority{Content: "a", Priority: 17})
	must.Do(t, err)
	must.Do(t, rdb.ConfigSet(ctx, "maxmemory", "1").Err())
	_, err = c.Send(ctx, topic, Priority{Content: "b", Priority: 17})
	if got := ErrorType(err); got != "oom" {
		t.Errorf("%v is %q", err, got)
	}
}
