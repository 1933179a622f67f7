package rmq

import (
	"context"
	"errors"
	"fmt"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/servers/rights"
	"github.com/slotmq/go-rmq/internal/servers/wait"
)

// ask has the inspector do something about a topic, and returns when that is through or ctx ends.
// An answer that comes with an error counts, too.
func ask[A any](
	ctx context.Context, c *Client, operation string, t Topic, need rights.Need,
	do func(ctx context.Context, i *inspector.Inspector) (A, error),
) (got A, err error) {
	fail := func(err error) (A, error) { return got, fmt.Errorf("%s in topic %s: %w", operation, t.Name, err) }
	if ctx == nil {
		return fail(errors.New("ctx is nil"))
	}
	if c.closed.Load() {
		return fail(ErrClosed)
	}
	i, err := c.inspector()
	if err != nil {
		return fail(err)
	}
	answer := make(chan A, 1)
	err = wait.For(ctx, func(ctx context.Context) error {
		a, err := do(ctx, i)
		err = c.lacking(ctx, operation, t, need, err)
		answer <- a
		return err
	})
	select {
	case got = <-answer:
		return got, err
	default: // it goes on without us
		return fail(err)
	}
}

// lacking names all rights that are missing where err says only that one is.
func (c *Client) lacking(ctx context.Context, operation string, t Topic, need rights.Need, err error) error {
	if !rights.Denied(err) {
		return err
	}
	name := protocol.Qualify(c.namespace, t.Name)
	if lacks := rights.Check(ctx, c.rdb, need, rights.Topic{Name: name, Slots: max(1, t.Slots), Notes: t.Notes}); lacks != nil {
		return fmt.Errorf("%s in topic %s: %w", operation, t.Name, lacks)
	}
	return err
}
