package nodes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
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
	c, many := rdb.(cluster)
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

// Unanswered reports whether err says that there is no answer, be it because a
// server is gone or because it is not ready for questions.
func Unanswered(err error) bool {
	var reply redis.Error
	if errors.As(err, &reply) {
		for _, prefix := range []string{"LOADING ", "MASTERDOWN ", "CLUSTERDOWN ", "BUSY ", "ERR max number of clients"} {
			if strings.HasPrefix(reply.Error(), prefix) {
				return true
			}
		}
		return false
	}
	var network net.Error
	return errors.As(err, &network) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) || errors.Is(err, redis.ErrPoolTimeout)
}
