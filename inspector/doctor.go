package inspector

import (
	"context"
	"slices"

	"github.com/slotmq/go-rmq/internal/servers/cluster"
)

// Doctor looks at the servers and at the topics of the namespace, and changes nothing.
// Whatever goes wrong on the way is a Check, too, even the end of ctx. It does not ask for
// what is on servers that do not answer.
func (i *Inspector) Doctor(ctx context.Context) []Check {
	if err := given(ctx, "examine"); err != nil {
		return []Check{check("connection", []finding{fail(oneLine(err), "call it with a context")})}
	}
	servers, err := i.examine(ctx)
	if err != nil {
		return []Check{check("connection", []finding{fail(oneLine(i.explain(err)), "mend the address of Redis, or start it")})}
	}
	checks := []Check{i.connection(servers)}
	for _, s := range servers { // to ask them again for each thing that they hold would take long
		if cluster.Unanswered(s.err) {
			i.masters.note(s.addr, s.err)
		}
	}
	servers = slices.DeleteFunc(servers, func(s server) bool { return s.err != nil })
	if len(servers) == 0 {
		return checks
	}
	failed := failures{i: i}
	topics, err := i.defined(ctx)
	err = failed.merge(err)
	topics = slices.DeleteFunc(topics, func(d storedTopic) bool { return d.hidden })
	checks = append(checks,
		judge("version", servers, version), judge("role", servers, role), i.rights(ctx, topics, err),
		judge("persistence", servers, persistence), judge("eviction", servers, eviction),
		judge("memory", servers, memory), judge("replicas", servers, replicas), clocks(servers))
	if err != nil {
		return append(checks, check("definitions", []finding{fail(oneLine(err), "mend that first: no topic is known")}))
	}
	checks = append(checks, i.zooKeeper(ctx, topics)...)
	return append(append(checks, i.messages(ctx, topics, failed.findings())...), i.journal(ctx)...)
}
