package declaration

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/servers/cluster"
)

// Stop ends a plan, and reports whether there was one of that name. On a full server, too, the plan ends,
// but Stop returns an error if that could not be noted.
func (p *Plans) Stop(ctx context.Context, name string) (stopped bool, err error) {
	unnoted := (endings{p}).note(ctx, name) // first: else a program that has declared it may take it for lost
	if unnoted != nil && !redis.HasErrorPrefix(unnoted, "OOM") {
		return false, p.explain(unnoted)
	}
	there, err := p.named(ctx, name)
	for _, x := range there {
		if err != nil {
			break
		}
		var gone bool
		gone, err = p.Scripts.StopPlan(ctx, p.keys(x.slot), name, "")
		stopped = stopped || gone
	}
	if err == nil && unnoted != nil && stopped {
		err = fmt.Errorf("it has ended, but programs that have declared it may set it again: end it once more when there is room: %w", unnoted)
	}
	return stopped, p.explain(err)
}

// announce makes the worker of a slot look at its plans. It publishes through the server of the slot, which
// has just answered: any other of a Cluster may hang.
func (p *Plans) announce(ctx context.Context, slot int) {
	server, _, err := cluster.MasterFor(ctx, p.Redis, p.keys(slot).Store)
	if err == nil {
		_ = server.Publish(ctx, protocol.WakeChannel(p.Topic.Name), protocol.AppendPlan(nil, slot)).Err()
	}
}
