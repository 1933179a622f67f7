package rmq

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/servers/rights"
	"github.com/slotmq/go-rmq/internal/servers/silence"
)

// lookUpWithin bounds the look of a caller that names no deadline.
const lookUpWithin = 6 * time.Second

// known are the topics that are there, for a client that makes none by its sends. nil: it does.
type known struct{ names sync.Map }

// mustExist refuses a topic that no program has defined, if the client makes none. A topic does not go away under a client, so
// each is looked up once.
func mustExist(ctx context.Context, c *Client, operation string, t Topic) error {
	if c.known == nil || ctx == nil { // which the send refuses
		return nil
	}
	if _, yes := c.known.names.Load(t.Name); yes {
		return nil
	}
	if err := t.Validate(); err != nil {
		return fmt.Errorf("%s topic %s: %w", operation, t.Name, err)
	}
	if _, bounded := ctx.Deadline(); !bounded {
		within, cancel := context.WithTimeout(ctx, lookUpWithin)
		defer cancel()
		ctx = within
	}
	found, err := ask(ctx, c, "look up the definition", t, rights.Need{}, func(ctx context.Context, i *inspector.Inspector) (bool, error) {
		held, err := protocol.New(c.rdb).Defined(ctx, protocol.Qualify(c.namespace, t.Name))
		if held != nil || err != nil {
			return held != nil, err
		}
		_, err = i.Topic(ctx, t.Name) // says which others there are, for which a sender may have no rights
		if err != nil && !errors.Is(err, ErrUnknownTopic) {
			err = fmt.Errorf("%w: %q", ErrUnknownTopic, t.Name)
		}
		return err == nil, err
	})
	if err != nil {
		return fmt.Errorf("%s topic %s: %w", operation, t.Name, silence.Explain(c.rdb, err))
	}
	if found {
		c.known.names.Store(t.Name, true)
	}
	return nil
}
