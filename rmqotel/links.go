package rmqotel

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/trace"

	"github.com/slotmq/go-rmq/luascripts"
	"github.com/slotmq/go-rmq/rmq"
)

var (
	//go:embed remember.lua
	rememberSource string
	//go:embed forget.lua
	forgetSource string

	rememberScript = redis.NewScript(rememberSource)
	forgetScript   = redis.NewScript(forgetSource)
)

const (
	// mostContents is how many contents of one slot are remembered.
	mostContents = 10_000

	// perScript is how many contents one script remembers.
	perScript = 500

	// patience is how long a send or a delivery waits for Redis because of links.
	patience = 250 * time.Millisecond

	// mostWaiting is how many questions may wait for an answer. While Redis hangs, there are
	// no links for the others.
	mostWaiting = 1000
)

// links remembers in Redis from which spans the contents of a slot were sent. Everything in
// it is best effort: nothing that fails here fails a send or a delivery.
//
// It remembers a send just before the send, for a handler may begin just after it. With each
// copy of a content it keeps the number of the slot: a handler whose batch has no larger
// number does not have that copy, but the one before.
//
// What can be wrong, all of it only while several do something to one content at once: a send
// that is remembered and then fails is linked; of two sends that begin together, the first link
// may be missing and the count be too small; a send that is remembered just before another
// worker's take, and stored just after it, is linked to the earlier delivery.
type links struct {
	rdb     redis.UniversalClient
	expire  time.Duration
	waiting chan struct{}
	said    atomic.Int64 // when an error was reported last
}

func newLinks(cfg Config) *links {
	return &links{rdb: cfg.Redis, expire: cfg.LinksExpire, waiting: make(chan struct{}, mostWaiting)}
}

// remember keeps the span of ctx for contents, by their slots.
func (l *links) remember(ctx context.Context, dest string, contents map[int][]string) {
	span := traceparent(trace.SpanContextFromContext(ctx))
	if span == "" || len(contents) == 0 {
		return
	}
	within(ctx, l, func(ctx context.Context) (struct{}, error) {
		var calls []call
		for slot, all := range contents {
			for ; len(all) > 0; all = all[min(perScript, len(all)):] {
				args := []any{span, l.expire.Milliseconds(), mostContents}
				for _, content := range all[:min(perScript, len(all))] {
					args = append(args, content)
				}
				k := luascripts.KeysOf(dest, slot)
				calls = append(calls, call{keys: []string{luascripts.TraceKey(dest, slot), k.Store, k.Meta}, args: args})
			}
		}
		return struct{}{}, l.run(ctx, rememberScript, calls)
	})
}

// recall returns the sends that a delivery is for; none if they are not known.
func (l *links) recall(ctx context.Context, dest string, d *rmq.Delivery) sends {
	kept, _ := within(ctx, l, func(ctx context.Context) (string, error) {
		kept, err := l.rdb.HGet(ctx, luascripts.TraceKey(dest, d.Slot), d.Content).Result()
		if errors.Is(err, redis.Nil) {
			err = nil
		}
		return kept, err
	})
	return sendsOf(kept, d.Fence)
}

// forget deletes what is kept for a delivery that is not to be repeated.
func (l *links) forget(ctx context.Context, dest string, d *rmq.Delivery) {
	// The context of a handler that took its time may have ended.
	within(context.WithoutCancel(ctx), l, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, l.run(ctx, forgetScript, []call{{keys: []string{luascripts.TraceKey(dest, d.Slot)}, args: []any{d.Fence, d.Content}}})
	})
}

// call of a script.
type call struct {
	keys []string
	args []any
}

// run calls a script several times in one round trip.
func (l *links) run(ctx context.Context, s *redis.Script, calls []call) error {
	if len(calls) == 1 {
		return s.Run(ctx, l.rdb, calls[0].keys, calls[0].args...).Err()
	}
	pipe := l.rdb.Pipeline()
	cmds := make([]*redis.Cmd, len(calls))
	for i, c := range calls {
		cmds[i] = s.EvalSha(ctx, pipe, c.keys, c.args...)
	}
	_, _ = pipe.Exec(ctx)
	var errs []error
	for i, cmd := range cmds {
		err := cmd.Err()
		if redis.HasErrorPrefix(err, "NOSCRIPT") {
			err = s.Eval(ctx, l.rdb, calls[i].keys, calls[i].args...).Err()
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// within asks Redis and returns the answer, or nothing when patience is over: the Redis client
// need not return when a context ends. What was begun ends by the time-outs of the client.
func within[T any](ctx context.Context, l *links, ask func(context.Context) (T, error)) (answer T, ok bool) {
	select {
	case l.waiting <- struct{}{}:
	default:
		return answer, false
	}
	answers := make(chan T, 1)
	go func() {
		defer func() { <-l.waiting }()
		got, err := ask(ctx)
		if err != nil {
			l.report(err)
		}
		answers <- got
	}()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case answer = <-answers:
		return answer, true
	case <-timer.C:
	case <-ctx.Done():
	}
	return answer, false
}

// report passes an error to OpenTelemetry's handler, once in a while.
func (l *links) report(err error) {
	const apart = 10 * time.Second
	now := time.Now().UnixNano()
	if said := l.said.Load(); now-said > int64(apart) && l.said.CompareAndSwap(said, now) {
		otel.Handle(fmt.Errorf("rmqotel: links of merged messages: %w", err))
	}
}
