package poll

import (
	"context"
	"fmt"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/servers/cluster"
)

// readContents reads those of a batch, in the order of their bytes. It returns none if the batch is not the receipt's any more.
func (p *process) readContents(ctx context.Context, r *receipt) ([]string, error) {
	k := p.keysOf(r)
	all, _, err := untilAnswered(ctx, p, k.Store, func(ctx context.Context) ([]string, error) { return p.flying(ctx, &k, r) })
	return all, err
}

func (p *process) flying(ctx context.Context, k *protocol.SlotKeys, r *receipt) ([]string, error) {
	node, _, err := cluster.MasterFor(ctx, p.cfg.Redis, k.Meta)
	if err != nil {
		return nil, err
	}
	pipe := node.Pipeline()
	flying, holder := pipe.ZRange(ctx, k.Prepare, 0, -1), pipe.HMGet(ctx, k.Meta, "holder", "batch") // in this order: if it is the receipt's now, it was before
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, err
	}
	by, _ := holder.Val()[0].(string)
	number, _ := holder.Val()[1].(string)
	if by != r.id() || number != fmt.Sprint(r.fence) || len(flying.Val()) != len(r.items) {
		return nil, nil
	}
	return flying.Val(), nil
}
