package declaration

import (
	"context"

	"github.com/slotmq/go-rmq/internal/cluster"
	"github.com/slotmq/go-rmq/luascripts"
)

// Stop ends a plan, and reports whether there was one of that name.
func (p *Plans) Stop(ctx context.Context, name string) (stopped bool, err error) {
	if err := (endings{p}).note(ctx, name); err != nil { // first: else a program that has declared it may take it for lost
		return false, p.explain(err)
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
	return stopped, p.explain(err)
}

// tell has the worker of a slot look at its plans. It is published through the server of the slot: not
// just any of a Cluster, which may hang, but one that has just answered.
func (p *Plans) tell(ctx context.Context, slot int) {
	server, _, err := cluster.MasterFor(ctx, p.Redis, p.keys(slot).Store)
	if err == nil {
		_ = server.Publish(ctx, luascripts.WakeChannel(p.Topic.Name), luascripts.AppendPlan(nil, slot)).Err()
	}
}
