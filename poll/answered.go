package poll

import (
	"context"
	"errors"
	"time"

	"github.com/slotmq/go-rmq/internal/servers/cluster"
	"github.com/slotmq/go-rmq/internal/servers/wait"
)

// untilAnswered asks Redis again and again until it answers, or ctx ends. Repeated reports whether a question may have been
// executed that has no answer. Key is one of those it is about.
func untilAnswered[T any](ctx context.Context, p *process, key string, ask func(ctx context.Context) (T, error)) (answer T, repeated bool, err error) {
	for pause := 20 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		got := new(T) // of this time: it may be answered when nobody waits any more
		err := wait.For(ctx, func(ctx context.Context) (err error) {
			*got, err = ask(ctx)
			return err
		})
		if err == nil {
			return *got, repeated, nil
		}
		repeated = repeated || !cluster.Refused(err)
		if !cluster.Passes(err) {
			return answer, repeated, err
		}
		cluster.NoteError(ctx, p.cfg.Redis, err)
		p.away.Doubt(key, err)
		if !wait.Sleep(ctx, pause) {
			return answer, repeated, errors.Join(err, ctx.Err())
		}
	}
}
