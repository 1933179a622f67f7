package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/redis/go-redis/v9"
)

// reply is an error that a server answered.
type reply string

func (r reply) Error() string { return string(r) }
func (reply) RedisError()     {}

func TestFaults(t *testing.T) {
	t.Parallel()
	dial := &net.OpError{Op: "dial", Err: errors.New("refused")}
	read := &net.OpError{Op: "read", Err: errors.New("reset")}
	for _, c := range []struct {
		err                                          error
		unanswered, notReady, refused, passes, moves bool
	}{
		{err: reply("LOADING x"), unanswered: true, notReady: true, refused: true, passes: true},
		{err: reply("MASTERDOWN x"), unanswered: true, notReady: true, refused: true, passes: true, moves: true},
		{err: reply("CLUSTERDOWN x"), unanswered: true, notReady: true, refused: true, passes: true, moves: true},
		{err: reply("BUSY x"), unanswered: true, notReady: true, refused: true},
		{err: reply("ERR max number of clients reached"), unanswered: true, notReady: true, refused: true, passes: true},
		{err: reply("READONLY x"), refused: true, passes: true, moves: true},
		{err: reply("TRYAGAIN x"), refused: true, passes: true},
		{err: reply("MOVED 7 127.0.0.1:1"), refused: true, passes: true, moves: true},
		{err: reply("ASK 7 127.0.0.1:1"), refused: true, passes: true, moves: true},
		{err: reply("WRONGTYPE x"), refused: true},
		{err: reply("ERR x"), refused: true},
		{err: redis.ErrClosed, refused: true},
		{err: redis.ErrPoolTimeout, unanswered: true, refused: true, passes: true},
		{err: dial, unanswered: true, refused: true, passes: true},
		{err: read, unanswered: true, passes: true},
		{err: io.EOF, unanswered: true, passes: true},
		{err: context.DeadlineExceeded, unanswered: true, passes: true},
	} {
		err := fmt.Errorf("command: %w", c.err)
		f, _ := faultOf(err)
		if Unanswered(err) != c.unanswered || NotReady(err) != c.notReady || Refused(err) != c.refused || Passes(err) != c.passes || f.moved != c.moves {
			t.Errorf("%v: unanswered %v, not ready %v, refused %v, passes %v, moved %v", c.err, Unanswered(err), NotReady(err), Refused(err), Passes(err), f.moved)
		}
	}
}
