package poll

import (
	"context"
	"errors"
	"time"

	"github.com/slotmq/go-rmq/internal/servers/cluster"
	"github.com/slotmq/go-rmq/internal/servers/wait"
)

// insist asks Redis again and again until it answers, or ctx ends. Unanswered reports whether a question may have been
// executed that has no answer. Key is one of those it is about.
func insist[T any](ctx context.Context, p *Poller, key string, ask func(ctx context.Context) (T, error)) (answer T, unanswered bool, err error) {
	for pause := 20 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		got := new(T) // of this time: it may be answered when nobody waits any more
		err := wait.For(ctx, func(ctx context.Context) (err error) {
			*got, err = ask(ctx)
			return err
		})
		if err == nil {
			return *got, unanswered, nil
		}
		unanswered = unanswered || !cluster.Refused(err)
		if !cluster.Passes(err) {
			return answer, unanswered, err
		}
		cluster.NoteError(ctx, p.cfg.Redis, err)
		p.away.Doubt(key, err)
		if !wait.Sleep(ctx, pause) {
			return answer, unanswered, errors.Join(err, ctx.Err())
		}
	}
}
