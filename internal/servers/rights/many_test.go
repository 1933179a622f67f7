package rights

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/testing/servertest"
)

// longest notes how many words the longest command has.
type longest int

func (l *longest) DialHook(next redis.DialHook) redis.DialHook { return next }

func (l *longest) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		*l = max(*l, longest(len(cmd.Args())))
		return next(ctx, cmd)
	}
}

func (l *longest) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		for _, cmd := range cmds {
			*l = max(*l, longest(len(cmd.Args())))
		}
		return next(ctx, cmds)
	}
}

// However many topics there are, no script keeps Redis busy for long, and what is
// missing is found.
func TestManyTopicsAreAskedAboutInSmallScripts(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	admin, rdb := server.Client(t), server.Client(t, as)
	most := new(longest)
	rdb.AddHook(most)
	topics := make([]Topic, 500)
	for i := range topics {
		topics[i] = Topic{Name: fmt.Sprintf("t%d", i), Slots: 16}
	}
	grant(t, admin, "~* &* +@all")
	if err := Check(ctx, rdb, Need{Worker: true}, topics...); err != nil {
		t.Error(err)
	}
	grant(t, admin, "~* &* +@all -hlen")
	if err := Check(ctx, rdb, Need{Worker: true}, topics...); err == nil || !strings.Contains(err.Error(), `lacks rights: +hlen; see`) {
		t.Error(err)
	}
	grant(t, admin, "~* &rmq:wake{t?} &rmq:wake{t??} &rmq:wake{t1*} &rmq:wake{t2*} &rmq:wake{t3*} +@all")
	if err := Check(ctx, rdb, Need{Worker: true}, topics...); err == nil || !strings.Contains(err.Error(), `lacks rights: &rmq:wake{t400}, `) {
		t.Error(err)
	}
	if *most > 6000 {
		t.Errorf("a command of %d words", *most)
	}
}
