package rmqotel

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/trace"

	"github.com/slotmq/go-rmq/internal/protocol"
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

	// mostBytes is how long a content may be to be remembered.
	mostBytes = 4096

	// perScript is how many contents one script remembers.
	perScript = 500

	// mostLinks is about how many links a span has: of a batch, that is. It is what SDKs keep.
	mostLinks = 128

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
// copy of a content it keeps the fence that the slot had by then: a batch whose fence is not
// larger does not have that copy, but the one before. So no handling links to a send that
// began after its batch was taken.
//
// What can be wrong: a send that is remembered and then fails, or is a duplicate, is linked. A send that is
// remembered just before its content is taken, and stored just after that, is linked to the
// earlier handling, and the later one may have no link to it. Of two sends that begin
// together just when a batch is taken, the first may be missing. And where some programs send
// with links and some without, a message of the latter may get a link that is left over.
type links struct {
	rdb      redis.UniversalClient
	expire   time.Duration
	waiting  chan struct{}
	within   time.Duration // patience, but in tests
	reported atomic.Int64  // when an error was reported last
}

func newLinks(cfg Config) *links {
	return &links{rdb: cfg.Redis, expire: cfg.LinksExpire, waiting: make(chan struct{}, mostWaiting), within: patience}
}

// remember keeps the span of ctx for contents, by their slots.
func (l *links) remember(ctx context.Context, dest string, contents map[int][]string) {
	span := traceparent(trace.SpanContextFromContext(ctx))
	if span == "" {
		return
	}
	var calls []call
	for slot, all := range contents {
		all = slices.DeleteFunc(all, func(c string) bool { return c == "" || len(c) > mostBytes })
		for some := range slices.Chunk(all, perScript) {
			k := protocol.KeysOf(dest, slot)
			one := call{keys: []string{protocol.TraceKey(dest, slot), k.Store, k.Meta, k.Prepare, k.Retry}, args: []any{span, l.expire.Milliseconds(), mostContents}}
			for _, content := range some {
				one.args = append(one.args, content)
			}
			calls = append(calls, one)
		}
	}
	if len(calls) > 0 {
		within(ctx, l, func(ctx context.Context) (struct{}, error) { return struct{}{}, l.run(ctx, rememberScript, calls) })
	}
}

// recall returns links to the sends that a handling is for, as far as they are known, and how
// many sends there were.
func (l *links) recall(ctx context.Context, dest string, h handling) (all []trace.Link, merged int64) {
	kept, _ := within(ctx, l, func(ctx context.Context) ([]any, error) {
		return l.rdb.HMGet(ctx, protocol.TraceKey(dest, h.slot), h.contents...).Result()
	})
	for _, one := range kept {
		text, _ := one.(string) // nil: nothing is kept
		sends := sendsOf(text, h.fence)
		merged += sends.count
		if len(all) < mostLinks {
			all = append(all, sends.links()...)
		}
	}
	return all, merged
}

// forget deletes what is kept for messages that do not come again.
func (l *links) forget(ctx context.Context, dest string, slot int, fence int64, contents []string) {
	// The context of a handler that took its time may have ended.
	within(context.WithoutCancel(ctx), l, func(ctx context.Context) (struct{}, error) {
		args := []any{fence}
		for _, content := range contents {
			args = append(args, content)
		}
		return struct{}{}, l.run(ctx, forgetScript, []call{{keys: []string{protocol.TraceKey(dest, slot)}, args: args}})
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
	timer := time.NewTimer(l.within)
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
	if last := l.reported.Load(); now-last > int64(apart) && l.reported.CompareAndSwap(last, now) {
		otel.Handle(fmt.Errorf("rmqotel: links of merged messages: %w", err))
	}
}
