package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// patience is how long one of several servers may take to answer.
const patience = time.Second

// Ask puts a question to the server behind rdb, or to each master of a Cluster,
// all at once. A master that cannot be reached or takes too long is passed over
// while another one answers: one dead server must not keep a program from
// starting. What is wrong with one that does answer is the error.
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
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		err := question(ctx, master.WithTimeout(patience))
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
	case err != nil: // nobody told who the masters are
		return err
	case wrong != nil:
		return wrong
	case !answered:
		return silent
	}
	return nil
}
