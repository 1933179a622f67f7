package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// Patience is how long one of several servers may take to answer. Tests have more, since their machine may be busy.
var Patience = time.Second

// Ask calls question with the server behind rdb, or with each master of a Cluster at the
// same time. A master that cannot be reached or takes too long is ignored if another one
// answers: one dead server must not keep a program from starting. If no server helps,
// the error is that of one that did answer.
func Ask(ctx context.Context, rdb redis.UniversalClient, question func(ctx context.Context, server redis.UniversalClient) error) error {
	c, many := rdb.(client)
	if !many {
		return question(ctx, rdb)
	}
	var (
		mu       sync.Mutex
		answered bool
		wrong    error
		silent   = errors.New("the Cluster has no master")
	)
	err := c.ForEachMaster(ctx, func(ctx context.Context, master *redis.Client) error {
		// The deadline bounds dialling and repeating; the time-outs, reading.
		ctx, cancel := context.WithTimeout(ctx, Patience)
		defer cancel()
		err := question(ctx, master.WithTimeout(Patience))
		mu.Lock()
		defer mu.Unlock()
		switch at := master.Options().Addr; {
		case err == nil:
			answered = true
		case Unanswered(err):
			silent = fmt.Errorf("server %s: %w", at, err)
		default:
			wrong = fmt.Errorf("server %s: %w", at, err)
		}
		return nil
	})
	switch {
	case err != nil: // the list of masters could not be read
		return err
	case wrong != nil:
		return wrong
	case !answered:
		return silent
	}
	return nil
}
