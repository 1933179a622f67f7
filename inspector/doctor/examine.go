package doctor

import (
	"context"
	"slices"

	"github.com/slotmq/go-rmq/inspector/internal/ask"
	"github.com/slotmq/go-rmq/inspector/internal/who"
	"github.com/slotmq/go-rmq/internal/servers/cluster"
)

// doctor looks at servers and topics.
type doctor struct{ *who.Who }

// Examine looks at the servers and at the topics of the namespace, and changes nothing.
// Whatever goes wrong on the way is a Check, too, even the end of ctx. It does not ask for
// what is on servers that do not answer.
func Examine(ctx context.Context, w *who.Who) []Check {
	d := &doctor{w}
	if err := ask.Given(ctx, "examine"); err != nil {
		return []Check{check("connection", []finding{fail(ask.OneLine(err), "call it with a context")})}
	}
	servers, err := d.servers(ctx)
	if err != nil {
		return []Check{check("connection", []finding{fail(ask.OneLine(d.Explain(err)), "mend the address of Redis, or start it")})}
	}
	checks := []Check{d.connection(servers)}
	for _, s := range servers { // to ask them again for each thing that they hold would take long
		if cluster.Unanswered(s.err) {
			d.Masters.Note(s.addr, s.err)
		}
	}
	servers = slices.DeleteFunc(servers, func(s server) bool { return s.err != nil })
	if len(servers) == 0 {
		return checks
	}
	failed := d.Failing()
	topics, err := d.Defined(ctx)
	err = failed.Merge(err)
	topics = slices.DeleteFunc(topics, func(d ask.Stored) bool { return d.Hidden })
	checks = append(checks,
		judge("version", servers, version), judge("role", servers, role), d.rights(ctx, topics, err),
		judge("persistence", servers, persistence), judge("eviction", servers, eviction),
		judge("memory", servers, memory), judge("replicas", servers, replicas), clocks(servers))
	if err != nil {
		return append(checks, check("definitions", []finding{fail(ask.OneLine(err), "mend that first: no topic is known")}))
	}
	checks = append(checks, d.zooKeeper(ctx, topics)...)
	return append(append(checks, d.messages(ctx, topics, missed(failed.Found.Failures))...), d.forgotten(ctx)...)
}
